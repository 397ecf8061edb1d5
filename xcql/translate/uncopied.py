"""A loop over fillers that does not look at their elements as such needs no copies of them.

    for $i in get_fillers_by_tsid($x, "603")/A[p]  ->  for $i in get_elements_by_tsid($x, "603")[p]

Copies have lifespans, and a place of their own for each time that a filler is in the view. If the
loop only takes steps down from `$i`, nobody can tell: each round begins at one element, and what
the loop gives is counted, shown or copied, never put in document order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from xcql.syntax.construct import Enclosed
from xcql.syntax.flwor import Clause, Flwor, For, GroupBy, Window
from xcql.syntax.functions import FunctionCall, NamedFunctionRef
from xcql.syntax.literals import ContextItem, VariableRef
from xcql.syntax.node import Expr, Node, Transformer, walk
from xcql.syntax.path import REVERSE_AXES, AxisStep, Filter, NameTest, Path
from xcql.syntax.prolog import MainModule
from xcql.syntax.types import AnyKindTest
from xcql.translate import emission as to

# they take a sequence for what is in it, not for where that stands
_TAKING = frozenset(
    [
        "avg",
        "count",
        "data",
        "distinct-values",
        "empty",
        "exists",
        "max",
        "min",
        "string-join",
        "sum",
    ]
)
_COUNTING = frozenset(["boolean", "count", "empty", "exists", "not"])
_AWAY = frozenset([*REVERSE_AXES, "following", "following-sibling", "self"])
_LIFESPAN = frozenset(["vtFrom", "vtTo"])


class WithoutCopies(Transformer):
    """Rewrites the loops of a query whose value is shown, copied or counted."""

    def transform_MainModule(self, target: MainModule) -> Node:
        return replace(target, body=_without_copies(target.body))

    def transform_Enclosed(self, target: Enclosed) -> Node:
        return replace(target, body=_without_copies(target.body))

    def transform_FunctionCall(self, target: FunctionCall) -> Node:
        if target.name.prefix is None and target.name.local in _TAKING and target.arguments:
            first, *rest = target.arguments
            return replace(target, arguments=(_without_copies(first), *rest))
        return target


def _without_copies(expr: Expr) -> Expr:
    if not isinstance(expr, Flwor):
        return expr
    if any(isinstance(clause, GroupBy | Window) for clause in expr.clauses):
        return expr
    clauses = list[Clause](expr.clauses)
    for number, clause in enumerate(clauses):
        if isinstance(clause, For):
            inside = [*expr.clauses[number + 1 :], expr.result]
            source = _elements(clause.source)
            if source is not None and _only_steps_down(str(clause.variable), inside):
                clauses[number] = replace(clause, source=source)
    return replace(expr, clauses=tuple(clauses))


def _elements(source: Expr) -> Expr | None:
    """The same elements as they stand in the fragments, if the source is of the right form."""
    if not isinstance(source, Path) or source.absolute or len(source.steps) != 2:
        return None
    call, step = source.steps
    if not (isinstance(call, FunctionCall) and call.name.prefix == to.PREFIX):
        return None
    if call.name.local != "get_fillers_by_tsid" or not isinstance(step, AxisStep):
        return None
    if not all(_stays_inside(predicate) for predicate in step.predicates):
        return None
    elements: Expr = to.call("get_elements_by_tsid", *call.arguments, span=call.span)
    for predicate in step.predicates:
        elements = Filter(elements, predicate, span=step.span)
    return elements


def _stays_inside(predicate: Expr) -> bool:
    """Whether a predicate asks only for what stands inside its element."""
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


def _is_down(step: AxisStep) -> bool:
    if step.axis == "attribute":
        return isinstance(step.test, NameTest) and step.test.name.local not in _LIFESPAN
    return step.axis not in _AWAY


def _only_steps_down(variable: str, inside: Iterable[Node]) -> bool:
    """Whether a variable is only counted, or begins paths that lead down from it."""
    fine: set[int] = set()
    used: list[VariableRef] = []
    for part in (part for node in inside for part in walk(node)):
        match part:
            case VariableRef() if str(part.name) == variable:
                used.append(part)
            case AxisStep() if part.axis in _AWAY:
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
