"""Window clauses: the items of the source are packed into an array; windows are slices of it.

    for tumbling window $w in E start $s when A end $e when B
                    =>
    nest members := all items of E
    project windows := (first, last, closed) for each start that no window before it covers
    unnest windows; $w is a slice of members, and the other variables are elements of it

To test whether a window starts or ends at an item, the columns of the item and its neighbours are
unpacked again, so conditions can be anything that compiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from xcql.algebra.operators import (
    Aggregate,
    Nest,
    Plan,
    Project,
    Select,
    Unit,
    Unnest,
    columns,
    graft,
    used,
)
from xcql.algebra.scalars import TRUE, Call, Column, Constant, Nested, Scalar, call, field
from xcql.compile.library.comparisons import truth
from xcql.compile.library.packing import above_cut, columns_in, packed, unpacked
from xcql.compile.library.several_kinds import as_one_kind
from xcql.compile.result import NotNative
from xcql.compile.syntax.tuples import bound_also
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.scope import CompileClause, Scope, Tuples, value_of
from xcql.compile.terms.values import EMPTY, Single, Value, apart, each, guarded, rename
from xcql.syntax.flwor import Window, WindowCondition

ONE = Constant(1)


def windows(clause: Window, stream: Tuples) -> list[Tuples]:
    """One tuple per window."""
    if clause.type is not None:
        raise NotNative("a type for a window", clause.span)
    source = value_of(clause.source, stream.scope)
    if source == EMPTY:
        return []
    source = apart(source, columns(stream.plan) | stream.scope.taken)
    plan, value = as_one_kind(source, stream.scope, clause.span)
    value = above_cut(value)
    compilation = stream.scope.compilation
    made = sorted(columns(plan) & columns_in(value))
    members = compilation.fresh("members")
    items = _Items(members, made, value, stream.scope)
    plan = Nest(plan, (), ((members, Aggregate("collect", packed(made))),), span=clause.span)
    found = compilation.fresh("windows")
    plan = Project(plan, found, _windows(clause, items))
    window, number = compilation.fresh("window"), compilation.fresh("window_at")
    plan = Unnest(plan, Column(found), window, number, span=clause.span)
    if clause.only_end:
        plan = Select(plan, field(Column(window), "closed"))
    first, last = (field(Column(window), part) for part in ("first", "last"))
    inside = compilation.fresh(str(clause.variable))
    length = call("+", call("-", last, first), ONE)
    plan = Project(plan, inside, call("slice", Column(members), first, length))
    item, at = compilation.fresh("member"), compilation.fresh("member_at")
    one, names = unpacked(Unnest(Unit(), Column(inside), item, at), Column(item), made, compilation)
    bound: dict[str, Value] = {}
    for condition, index in ((clause.start, first), (clause.end, last)):
        if condition is not None:
            plan, variables = items.bound(plan, condition, index)
            bound |= variables
    bound[str(clause.variable)] = each(one, rename(value, names))
    plan = graft(plan, stream.plan)
    scope = stream.scope.within(plan)
    for name, what in bound.items():
        scope = scope.bind(name, what)
    return [Tuples(plan, scope, bound_also(stream, *bound))]


@dataclass(frozen=True, slots=True)
class _Items:
    """The packed items of a source; `value` is an item in terms of the packed columns."""

    members: str
    made: list[str]
    value: Value
    scope: Scope

    @property
    def size(self) -> Scalar:
        return call("size", Column(self.members))

    def each_one(self) -> tuple[Plan, str]:
        """One tuple per item, with its position, counted from 1."""
        compilation = self.scope.compilation
        item, at = compilation.fresh("item"), compilation.fresh("item_at")
        position = compilation.fresh("position")
        plan: Plan = Unnest(Unit(), Column(self.members), item, at)
        number = call("+", call("to_integer", Column(at)), ONE)
        return Project(plan, position, number), position

    def bound(
        self, plan: Plan, condition: WindowCondition, index: Scalar
    ) -> tuple[Plan, dict[str, Value]]:
        """A condition's variables at the item with an index, and the plan with their columns."""
        found: dict[str, Value] = {}
        for name, offset in ((condition.item, 0), (condition.previous, -1), (condition.next, 1)):
            if name is None:
                continue
            # `get` counts from 0, and returns NULL beyond the ends
            place = call("+", index, Constant(offset - 1))
            struct = call("get", Column(self.members), place)
            plan, names = unpacked(plan, struct, self.made, self.scope.compilation)
            value = rename(self.value, names)
            if offset == -1:
                value = guarded(call(">", index, ONE), value)
            elif offset == 1:
                value = guarded(call("<", index, self.size), value)
            found[str(name)] = value
        if condition.position is not None:
            found[str(condition.position)] = Single(Atomic(index, "xs:integer"))
        return plan, found

    def condition(
        self, plan: Plan, condition: WindowCondition, index: Scalar, known: Mapping[str, Value]
    ) -> tuple[Plan, Scalar, dict[str, Value]]:
        """Whether a condition holds at an item, given some variables."""
        plan, variables = self.bound(plan, condition, index)
        scope = self.scope.within(plan)
        scope = replace(scope, taken=scope.taken | {self.members})
        for name, value in {**known, **variables}.items():
            scope = scope.bind(name, value)
        span = condition.condition.span
        evaluations = scope.compilation.evaluations
        before = len(evaluations)
        holds = truth(value_of(condition.condition, scope), scope, span)
        if len(evaluations) > before:
            # the windows are computed in one row, and an evaluation needs rows of its own
            raise NotNative(evaluations[-1].reason, span)
        return plan, holds, variables


def _windows(clause: Window, items: _Items) -> Scalar:
    """An array of windows: the positions of the first and last items, and whether it closed."""
    starts, first = items.each_one()
    starts, may_start, variables = items.condition(starts, clause.start, Column(first), {})
    if clause.end is None:
        found = Nested(Select(starts, may_start), "collect", Column(first))
        return call("windows_between_starts", found, items.size)
    ends, last = items.each_one()
    ends, ends_here, _ = items.condition(ends, clause.end, Column(last), variables)
    length = _fixed_length(ends_here, first, last)
    if clause.kind == "tumbling":
        if length is not None and may_start == TRUE:
            return call("windows_of_length", items.size, Constant(length))
        own = columns(starts)
        if not used(ends_here) & own:
            return call("windows_to_ends", _flags(clause, items))
    end: Scalar
    if length is not None:
        reach = call("+", Column(first), Constant(length - 1))
        end = Call("case", (call("<=", reach, items.size), reach, Constant(None)))
    else:
        later = call(">=", Column(last), Column(first))
        end = Nested(Select(Select(ends, later), ends_here), "min", Column(last))
    reached = items.scope.compilation.fresh("end")
    starts = Project(Select(starts, may_start), reached, end)
    parts = {
        "first": Column(first),
        "last": call("coalesce", Column(reached), items.size),
        "closed": call("is_not_null", Column(reached)),
    }
    struct = Call("named_struct", tuple(_pairs(parts)))
    candidates = Nested(starts, "collect", struct)
    return candidates if clause.kind == "sliding" else call("windows_apart", candidates)


def _flags(clause: Window, items: _Items) -> Scalar:
    """For each item, whether a window may start there and whether one ends there."""
    assert clause.end is not None
    plan, position = items.each_one()
    plan, may_start, variables = items.condition(plan, clause.start, Column(position), {})
    plan, ends_here, _ = items.condition(plan, clause.end, Column(position), variables)
    struct = Call("named_struct", tuple(_pairs({"starts": may_start, "ends": ends_here})))
    return Nested(plan, "collect", struct)


def _pairs(parts: Mapping[str, Scalar]) -> Iterator[Scalar]:
    for name, scalar in parts.items():
        yield Constant(name)
        yield scalar


def _fixed_length(condition: Scalar, first: str, last: str) -> int | None:
    """The number of items in a window, if the condition fixes the distance of last and first."""
    while isinstance(condition, Call) and condition.function == "is_true":
        (condition,) = condition.arguments
    if not isinstance(condition, Call) or condition.function not in ("=", ">="):
        return None
    left, right = (_linear(one, first, last) for one in condition.arguments)
    if left is None or right is None:
        return None
    # a * first + b * last + c, the left side minus the right side
    a, b, c = (x - y for x, y in zip(left, right, strict=True))
    if (a, b) == (-1, 1) or ((a, b) == (1, -1) and condition.function == "="):
        length = 1 - c if b == 1 else 1 + c
        if condition.function == ">=":
            length = max(length, 1)
        return length if length >= 1 else None
    return None


def _linear(scalar: Scalar, first: str, last: str) -> tuple[int, int, int] | None:
    """A sum of the two positions and numbers, as its coefficients."""
    match scalar:
        case Column(name=name) if name in (first, last):
            return (1, 0, 0) if name == first else (0, 1, 0)
        case Constant(value=bool()):
            return None
        case Constant(value=int() as number):
            return (0, 0, number)
        case Call(function="+" | "-" as sign, arguments=(one, other)):
            x, y = _linear(one, first, last), _linear(other, first, last)
            if x is None or y is None:
                return None
            a, b, c = ((p + q if sign == "+" else p - q) for p, q in zip(x, y, strict=True))
            return a, b, c
    return None


CLAUSES: Mapping[type, CompileClause] = {Window: windows}
