"""Whether expressions depend on positions: the position of the context item, and their number.

Tests: tests/compile/library/test_axes.py, tests/compile/test_corpus.py
"""

from __future__ import annotations

from xcql.syntax.control import Quantified
from xcql.syntax.functions import FunctionCall
from xcql.syntax.literals import StringLiteral
from xcql.syntax.names import name_set
from xcql.syntax.node import Expr, SyntaxNode, children, walk
from xcql.syntax.operators import Binary, CastableAs, Comparison, InstanceOf
from xcql.syntax.path import AxisStep, Filter, Path
from xcql.syntax.temporal import AllenComparison

_BOOLEAN_FUNCTIONS = name_set(
    "not exists empty contains starts-with ends-with matches boolean true false some every"
    " deep-equal lang has-children nilled"
)


def is_never_positional(predicate: Expr) -> bool:
    """Whether the predicate is a condition for any data, and does not use the position."""
    if mentions_position(predicate):
        return False
    match predicate:
        case Comparison() | AxisStep() | Path() | Quantified() | AllenComparison():
            if isinstance(predicate, Path):
                return isinstance(predicate.steps[-1], AxisStep)
            return True
        case CastableAs() | InstanceOf():
            return True
        case Binary(op=op):
            return op in ("and", "or")
        case FunctionCall(name=name):
            return name.prefix in (None, "fn") and name.local in _BOOLEAN_FUNCTIONS
        case StringLiteral():
            return True
    return False


def mentions_position(expr: Expr) -> bool:
    """Whether `position()` or `last()` is called for the context of the expression itself."""
    pending: list[object] = [expr]
    while pending:
        here = pending.pop()
        match here:
            case FunctionCall(name=name, arguments=()) if name.local in ("position", "last"):
                return True
            case AxisStep():
                continue
            case Filter(base=base):
                pending.append(base)
                continue
            case Path(steps=steps):
                pending.extend(steps[:1])
                continue
        if isinstance(here, SyntaxNode):
            pending.extend(children(here))
    return False


def asks_last(predicate: Expr) -> bool:
    return any(
        isinstance(node, FunctionCall) and node.name.local == "last" for node in walk(predicate)
    )
