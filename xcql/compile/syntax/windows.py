"""Window clauses: items are grouped by the position of the first item of their window.

    for tumbling window $w in E start $s when A end $e when B
                    =>
    number the items of E
    over previous and next: the columns of the items before and after each item
    project whether a window may start here (A), and the first end from here on (B)
    over: the position of the first item of the window around each item
    nest by that position: the members of a window, which $w and the other variables are unpacked of

Conditions are computed for all items at once, as those of `where` are: the items are never compared
with each other unless the end of a window depends on its start. Windows that slide are frames: the
items from a start on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xcql.algebra.operators import (
    Aggregate,
    Frame,
    Nest,
    Number,
    Order,
    Over,
    Plan,
    Project,
    Select,
    SortKey,
    Unit,
    Unnest,
    columns,
    graft,
    renamed_plan,
    used,
)
from xcql.algebra.scalars import TRUE, Call, Column, Constant, Nested, Scalar, call, case, field
from xcql.compile.library.comparisons import truth
from xcql.compile.library.document_order import is_sorted
from xcql.compile.library.packing import above_cut, columns_in, new_names, packed, unpacked
from xcql.compile.library.several_kinds import as_one_kind
from xcql.compile.result import NotNative
from xcql.compile.syntax.tuples import bound_also
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.scope import CompileClause, Scope, Tuples, value_of
from xcql.compile.terms.values import EMPTY, Single, Value, apart, each, guarded, rename
from xcql.syntax.flwor import Window, WindowCondition

ZERO, ONE = Constant(0), Constant(1)


def windows(clause: Window, stream: Tuples) -> list[Tuples]:
    """One tuple per window."""
    if clause.type is not None:
        raise NotNative("a type for a window", clause.span)
    source = value_of(clause.source, stream.scope)
    if source == EMPTY:
        return []
    source = apart(source, columns(stream.plan) | stream.scope.taken)
    in_order = is_sorted(source)
    found = _windows(clause, *_items(clause, source, stream.scope), stream.scope)
    plan = found.plan
    compilation = stream.scope.compilation
    bound: dict[str, Value] = {}
    size = call("size", Column(found.members))
    for condition, at, index in (
        (clause.start, found.first, ZERO),
        (clause.end, found.last, call("-", size, ONE)),
    ):
        if condition is not None:
            struct = Column(compilation.fresh("member"))
            plan = Project(plan, struct.name, call("get", Column(found.members), index))
            plan, names = unpacked(plan, struct, found.packed, compilation)
            there = found.item.renamed(names, position=at, total=found.total)
            bound |= there.variables(condition)
    inside, item = compilation.fresh("member"), compilation.fresh("member_at")
    one, names = unpacked(
        Unnest(Unit(), Column(found.members), inside, item),
        Column(inside),
        found.packed,
        compilation,
    )
    bound[str(clause.variable)] = each(one, rename(found.item.value, names), in_order)
    plan = graft(plan, stream.plan)
    scope = stream.scope.within(plan)
    for name, what in bound.items():
        scope = scope.bind(name, what)
    return [Tuples(plan, scope, bound_also(stream, *bound))]


@dataclass(frozen=True, slots=True)
class _Item:
    """An item and its neighbours, in terms of columns; `total` is the number of items."""

    value: Value
    previous: Value
    next: Value
    position: Scalar
    total: Scalar

    def renamed(self, names: dict[str, str], position: Scalar, total: Scalar) -> _Item:
        previous, value, after = (
            rename(one, names) for one in (self.previous, self.value, self.next)
        )
        return _Item(value, previous, after, position, total)

    def variables(self, condition: WindowCondition) -> dict[str, Value]:
        """The variables of a condition at this item."""
        before = guarded(call(">", self.position, ONE), self.previous)
        after = guarded(call("<", self.position, self.total), self.next)
        values = (
            (condition.item, self.value),
            (condition.position, Single(Atomic(self.position, "xs:integer"))),
            (condition.previous, before),
            (condition.next, after),
        )
        return {str(name): value for name, value in values if name is not None}


@dataclass(frozen=True, slots=True)
class _Found:
    """A tuple per window: where its first and its last item are, and its packed members.

    The `item` is a member in terms of the packed columns.
    """

    plan: Plan
    first: Scalar
    last: Scalar
    total: Scalar
    members: str
    packed: list[str]
    item: _Item


def _items(clause: Window, source: Value, scope: Scope) -> tuple[Plan, _Item]:
    """One tuple per item, in order of their positions, with the columns of its neighbours."""
    fresh = scope.compilation.fresh
    plan, value = as_one_kind(source, scope, clause.span)
    value = above_cut(value)
    made = sorted(columns(plan) & columns_in(value))
    position, total = fresh("item_at"), fresh("items")
    plan = Number(plan, position, total=total, span=clause.span)
    plan = Order(plan, (SortKey(Column(position), "number"),))
    conditions = [one for one in (clause.start, clause.end) if one is not None]
    neighbours: dict[Frame, Value] = {}
    frames: tuple[tuple[Frame, bool], ...] = (
        ("previous", any(one.previous is not None for one in conditions)),
        ("next", any(one.next is not None for one in conditions)),
    )
    for frame, is_used in frames:
        neighbours[frame] = EMPTY
        if is_used:
            names = new_names(made, scope.compilation)
            for name in made:
                plan = Over(plan, names[name], Aggregate("any", Column(name)), frame)
            neighbours[frame] = rename(value, names)
    item = _Item(value, neighbours["previous"], neighbours["next"], Column(position), Column(total))
    return plan, item


def _windows(clause: Window, plan: Plan, item: _Item, scope: Scope) -> _Found:
    fresh = scope.compilation.fresh
    at = item.position
    starts, ends = fresh("starts"), fresh("ends")
    variables = item.variables(clause.start)
    may_start = _holds(clause.start, variables, scope.within(plan))
    items = plan
    if not isinstance(may_start, Constant):
        plan = Project(plan, starts, may_start)
        may_start = Column(starts)
    length: int | None = None
    is_own_end = False
    end: Scalar = at
    if clause.end is not None:
        names = new_names(sorted(columns(items)), scope.compilation)
        assert isinstance(at, Column)
        later = Column(names[at.name])
        total = renamed_column(item.total, names)
        other = item.renamed(names, later, total)
        both = scope.within(plan).within(renamed_plan(items, names))
        holds = _holds(clause.end, {**variables, **other.variables(clause.end)}, both)
        length = _fixed_length(holds, at.name, later.name)
        if length is not None:
            reach = call("+", at, Constant(length - 1))
            plan = Project(plan, ends, case((call("<=", reach, item.total), reach)))
        elif is_own_end := not used(holds) & columns(plan):
            inside = scope.within(plan)
            here = _holds(clause.end, {**variables, **item.variables(clause.end)}, inside)
            plan = Over(plan, ends, Aggregate("min", case((here, at))), "from here")
        else:
            pairs = Select(renamed_plan(items, names), call(">=", later, at))
            plan = Project(plan, ends, Nested(Select(pairs, holds), "min", later))
        end = Column(ends)
    if clause.kind == "sliding":
        return _sliding(clause, plan, item, may_start, end, scope)
    first = fresh("first")
    if clause.end is None:
        plan = Over(plan, first, Aggregate("max", case((may_start, at))), "so far")
        plan = Select(plan, call("is_not_null", Column(first)))
    elif length is not None and may_start == TRUE:
        number = call("%", call("-", at, ONE), Constant(length))
        plan = Project(plan, first, call("-", at, number))
    elif is_own_end:
        # of the starts before one end, only the first is not inside of a window
        least = Aggregate("min", case((may_start, at)))
        plan = Over(plan, first, least, "all", (end,))
        plan = Select(plan, call("<=", Column(first), at))
    else:
        plan, first, item, end = _apart(plan, item, may_start, end, scope)
    return _tumbling(clause, plan, first, item, end, scope)


def _holds(condition: WindowCondition, variables: Mapping[str, Value], scope: Scope) -> Scalar:
    """Whether a condition holds, given some variables.

    The evaluator does not test all items: it answers the query if the test of one fails.
    """
    compilation = scope.compilation
    for name, value in variables.items():
        scope = scope.bind(name, value)
    before = compilation.is_lifting
    compilation.is_lifting = True
    try:
        return truth(value_of(condition.condition, scope), scope, condition.condition.span)
    finally:
        compilation.is_lifting = before


def _sliding(
    clause: Window, plan: Plan, item: _Item, starts: Scalar, end: Scalar, scope: Scope
) -> _Found:
    """The items from each start to its end."""
    fresh = scope.compilation.fresh
    made = _columns_of(plan, item)
    members, last = fresh("members"), fresh("last")
    plan = Project(plan, last, call("coalesce", end, item.total))
    further = case((starts, call("-", Column(last), item.position)), otherwise=ZERO)
    collected = Aggregate("collect", packed(made))
    plan = Over(plan, members, collected, "from here", (), further, span=clause.span)
    plan = Select(plan, starts)
    if clause.only_end:
        plan = Select(plan, call("is_not_null", end))
    return _Found(plan, item.position, Column(last), item.total, members, made, item)


def _tumbling(
    clause: Window, plan: Plan, first: str, item: _Item, end: Scalar, scope: Scope
) -> _Found:
    """The items with the same first item."""
    fresh = scope.compilation.fresh
    made = _columns_of(plan, item)
    start, last, total = fresh("start"), fresh("last"), fresh("items")
    members, closed = fresh("members"), fresh("closed")
    is_closed = call("is_not_null", end)
    fields = {
        members: Aggregate("collect", packed(made)),
        total: Aggregate("max", item.total),
        last: Aggregate("max", item.position),
        closed: Aggregate("max", case((call("=", item.position, Column(first)), is_closed))),
    }
    plan = Nest(plan, ((start, Column(first)),), tuple(fields.items()), span=clause.span)
    plan = Order(plan, (SortKey(Column(start), "number"),))
    if clause.only_end:
        plan = Select(plan, Column(closed))
    return _Found(plan, Column(start), Column(last), Column(total), members, made, item)


def _apart(
    plan: Plan, item: _Item, starts: Scalar, end: Scalar, scope: Scope
) -> tuple[Plan, str, _Item, Scalar]:
    """Windows that end where their start says, without those that start inside of another one.

    That is found in one row, with all items: a window is known only after those before it.
    """
    fresh = scope.compilation.fresh
    own = {one.name for one in (item.position, item.total, end) if isinstance(one, Column)}
    made = sorted(own.union(_columns_of(plan, item)))
    reach = case((starts, call("coalesce", end, item.total)), otherwise=ZERO)
    members, reaches = fresh("items"), fresh("reaches")
    fields = {members: Aggregate("collect", packed(made)), reaches: Aggregate("collect", reach)}
    plan = Nest(plan, (), tuple(fields.items()))
    pairs, pair, pair_at = fresh("pairs"), fresh("pair"), fresh("pair_at")
    firsts = call("window_starts", Column(reaches))
    plan = Project(plan, pairs, call("zipped", Column(members), firsts))
    plan = Unnest(plan, Column(pairs), pair, pair_at)
    plan, names = unpacked(plan, field(Column(pair), "first"), made, scope.compilation)
    first = fresh("first")
    plan = Project(plan, first, field(Column(pair), "second"))
    plan = Select(plan, call(">", Column(first), ZERO))
    position, total, end = (renamed_column(one, names) for one in (item.position, item.total, end))
    return plan, first, item.renamed(names, position, total), end


def _columns_of(plan: Plan, item: _Item) -> list[str]:
    """The plan's columns that an item or a neighbour of it uses."""
    values = (item.value, item.previous, item.next)
    return sorted(columns(plan) & frozenset().union(*map(columns_in, values)))


def renamed_column(scalar: Scalar, names: Mapping[str, str]) -> Scalar:
    assert isinstance(scalar, Column)
    return Column(names.get(scalar.name, scalar.name))


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
