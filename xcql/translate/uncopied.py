"""Avoids copies of fillers where the query cannot notice the difference.

    for $i in get_fillers($x, ids)/A[p]  ->  for $i in raw_fillers($x, ids) ! A[p]
    get_fillers($x, ids)/A[p]/hole/@id   ->  raw_fillers($x, ids) ! A[p]/hole/@id

Copies have lifespans, and a separate place for each time that a filler is in the view. If a
loop only takes steps down from `$i`, this makes no difference: each iteration has one element,
and the results are counted, shown or copied, never sorted in document order. Nor does it make a
difference to paths that only read the ids of holes, in the order of the fillers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from xcql.analysis.types import PLAIN
from xcql.analysis.walk_values import is_boolean
from xcql.syntax.construct import Enclosed
from xcql.syntax.flwor import Clause, Flwor, For, GroupBy, Window
from xcql.syntax.functions import FunctionCall, NamedFunctionRef
from xcql.syntax.literals import ContextItem, VariableRef
from xcql.syntax.names import name_set
from xcql.syntax.node import Expr, SyntaxNode, Transformer, walk
from xcql.syntax.operators import SimpleMap
from xcql.syntax.path import REVERSE_AXES, AxisStep, NameTest, Path
from xcql.syntax.prolog import FunctionDecl, MainModule
from xcql.syntax.types import AnyKindTest
from xcql.translate import emission as to

# these use the items of a sequence, not their place in a tree
_TAKING = name_set("avg count data distinct-values empty exists max min string-join sum")
_COUNTING = frozenset(["boolean", "count", "empty", "exists", "not"])
_AWAY = frozenset([*REVERSE_AXES, "following", "following-sibling", "self"])
_LIFESPAN = frozenset(["vtFrom", "vtTo"])
_RAW = {"get_fillers": "raw_fillers", "get_fillers_by_tsid": "raw_fillers_by_tsid"}


def without_copies(module: MainModule) -> MainModule:
    """A module without copies of fillers where they make no difference."""
    functions = [d for d in module.declarations if isinstance(d, FunctionDecl)]
    if any(_goes_away(part) for function in functions for part in walk(function)):
        return module  # a function could depend on the place of its arguments
    return _WithoutCopies().transform(module)


class _WithoutCopies(Transformer):
    """Rewrites the loops of a query whose value is shown, copied or counted, and the ids of holes
    that are used to get fillers."""

    def transform_MainModule(self, target: MainModule) -> SyntaxNode:
        return replace(target, body=_loops(target.body))

    def transform_Enclosed(self, target: Enclosed) -> SyntaxNode:
        return replace(target, body=_loops(target.body))

    def transform_FunctionCall(self, target: FunctionCall) -> SyntaxNode:
        if target.name.prefix is None and target.name.local in _TAKING and target.arguments:
            first, *rest = target.arguments
            return replace(target, arguments=(_loops(first), *rest))
        if target.name.prefix == to.PREFIX and target.name.local == "get_fillers":
            stream, ids = target.arguments
            return replace(target, arguments=(stream, _from_raw_fillers(ids) or ids))
        return target


def _loops(expr: Expr) -> Expr:
    if not isinstance(expr, Flwor):
        return expr
    if any(isinstance(clause, GroupBy | Window) for clause in expr.clauses):
        return expr
    clauses = list[Clause](expr.clauses)
    for number, clause in enumerate(clauses):
        if isinstance(clause, For):
            inside = [*expr.clauses[number + 1 :], expr.result]
            source = _from_raw_fillers(clause.source)
            if source is not None and _only_steps_down(str(clause.variable), inside):
                clauses[number] = replace(clause, source=source)
    return replace(expr, clauses=tuple(clauses))


def _from_raw_fillers(path: Expr) -> Expr | None:
    """`get_fillers(...)/A/...` from the original fillers, if the path does not use A itself."""
    if not isinstance(path, Path) or path.absolute:
        return None
    call, first, *rest = path.steps if len(path.steps) > 1 else (None, None)
    if not (isinstance(call, FunctionCall) and call.name.prefix == to.PREFIX):
        return None
    if call.name.local not in _RAW or not (isinstance(first, AxisStep) and first.axis == "child"):
        return None
    if not all(_is_question(predicate) for predicate in first.predicates):
        return None  # a position is counted over all fillers
    for step in (first, *rest):
        if not (isinstance(step, AxisStep) and _is_down(step)):
            return None
        if not all(_stays_inside(predicate) for predicate in step.predicates):
            return None
    fillers = to.call(_RAW[call.name.local], *call.arguments, span=call.span)
    inside = Path(False, (first, *rest), span=path.span) if rest else first
    return SimpleMap(fillers, inside, span=path.span)


def _is_question(predicate: Expr) -> bool:
    """Whether a predicate is a condition or a test for existence."""
    last = predicate.steps[-1] if isinstance(predicate, Path) and predicate.steps else predicate
    return isinstance(last, AxisStep) or is_boolean(predicate, PLAIN)


def _stays_inside(predicate: Expr) -> bool:
    """Whether a predicate only reads the inside of its element."""
    for part in walk(predicate):
        match part:
            case ContextItem() | NamedFunctionRef():
                return False
            case FunctionCall(arguments=()):
                return False
            case AxisStep() if not _is_down(part):
                return False
            case Path(absolute=True):
                return False
    return True


def _goes_away(part: SyntaxNode) -> bool:
    return isinstance(part, AxisStep) and part.axis in _AWAY


def _is_down(step: AxisStep) -> bool:
    if step.axis == "attribute":
        return isinstance(step.test, NameTest) and step.test.name.local not in _LIFESPAN
    return step.axis not in _AWAY


def _only_steps_down(variable: str, inside: Iterable[SyntaxNode]) -> bool:
    """Whether a variable is only counted, or used as the start of downward paths."""
    fine: set[int] = set()
    used: list[VariableRef] = []
    for part in (part for node in inside for part in walk(node)):
        match part:
            case VariableRef() if str(part.name) == variable:
                used.append(part)
            case AxisStep() if _goes_away(part):
                return False
            case Path(absolute=False, steps=(VariableRef() as first, AxisStep() as second, *rest)):
                to_itself = second.axis == "descendant-or-self" and not (
                    isinstance(second.test, AnyKindTest)
                    and rest
                    and isinstance(rest[0], AxisStep)
                    and _is_down(rest[0])
                    and rest[0].axis in ("child", "attribute")
                )
                if _is_down(second) and not to_itself:
                    fine.add(id(first))
            case FunctionCall(arguments=(VariableRef() as only,)):
                if part.name.prefix is None and part.name.local in _COUNTING:
                    fine.add(id(only))
    return all(id(reference) in fine for reference in used)
