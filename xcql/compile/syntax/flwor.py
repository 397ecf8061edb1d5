"""FLWOR expressions: a stream of tuples through the clauses, and a value for each at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

from xcql.algebra.operators import (
    KeyKind,
    Number,
    Order,
    Plan,
    Project,
    Select,
    SortKey,
    Unit,
    columns,
    graft,
    order,
    renamed_plan,
)
from xcql.algebra.scalars import NULL, Column, Constant, Scalar, call, case, negation
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import INSTANTS, NUMBERS, STRINGS, is_plain_zone, on_time_line
from xcql.compile.library.comparisons import truth
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic, StreamElement
from xcql.compile.terms.scope import Scope, compiles, value_of
from xcql.compile.terms.values import (
    EMPTY,
    Leaf,
    Merged,
    Single,
    Value,
    apart,
    each,
    exists,
    leaves,
    renamed_item,
    row_names,
    row_of,
)
from xcql.syntax.flwor import Clause, Count, Flwor, For, GroupBy, Let, OrderBy, Where, Window


@dataclass(frozen=True, slots=True)
class Tuples:
    """The tuples of a FLWOR expression: a plan, and the variables over its columns."""

    plan: Plan
    scope: Scope
    # the variables bound so far, which `group by` gathers
    bound: tuple[str, ...] = ()


@compiles(Flwor)
def _flwor(expr: Flwor, scope: Scope) -> Value:
    streams = tuples(expr.clauses, scope)
    values = [each(one.plan, value_of(expr.result, one.scope)) for one in streams]
    if not values:
        return EMPTY
    return values[0] if len(values) == 1 else Merged(tuple(values))


def tuples(clauses: Sequence[Clause], scope: Scope) -> list[Tuples]:
    """The tuples after some clauses; several plans where a variable is of several kinds."""
    streams = [Tuples(Unit(), scope)]
    shared: frozenset[str] = frozenset()
    for clause in clauses:
        after: list[Tuples] = []
        if len(streams) > 1 and isinstance(clause, Count | GroupBy):
            streams = [merged_tuples(streams, shared)]
        if len(streams) == 1:
            shared = columns(streams[0].plan)
        for stream in streams:
            after += apply(clause, stream)
        streams = after
        if len(streams) > 64:
            raise NotNative("variables of too many kinds", clause.span)
    return streams


def merged_tuples(streams: Sequence[Tuples], shared: frozenset[str]) -> Tuples:
    """The tuples of several plans as those of one; `shared` columns are the same in all plans."""
    from xcql.compile.library.several_kinds import merged

    first = streams[0]
    held = [[one.scope.variables[name] for name in first.bound] for one in streams]
    plan, values = merged([one.plan for one in streams], held, shared, first.scope.compilation)
    scope = first.scope.within(columns(plan))
    for name, value in zip(first.bound, values, strict=True):
        scope = scope.bind(name, value)
    return Tuples(plan, scope, first.bound)


@singledispatch
def apply(clause: Clause, stream: Tuples) -> list[Tuples]:
    raise NotNative(f"the clause {type(clause).__name__}", clause.span)


@apply.register
def _let(clause: Let, stream: Tuples) -> list[Tuples]:
    value = value_of(clause.source, stream.scope)
    if clause.type is not None:
        from xcql.compile.syntax.calls import converted

        value = converted(value, clause.type, stream.scope, clause.span, is_call=False)
    name = str(clause.variable)
    return [replace(stream, scope=stream.scope.bind(name, value), bound=bound_also(stream, name))]


def bound_also(stream: Tuples, *names: str) -> tuple[str, ...]:
    """The variables bound so far, and some more."""
    return (*(one for one in stream.bound if one not in names), *names)


@apply.register
def _for(clause: For, stream: Tuples) -> list[Tuples]:
    source = value_of(clause.source, stream.scope)
    if clause.type is not None:
        from xcql.compile.syntax.expressions import is_instance

        fits = is_instance(source, replace(clause.type, occurrence="*"), stream.scope, clause.span)
        if fits != Constant(True):
            raise NotNative("a type that may not fit", clause.span)
    found = bind_each(source, stream, str(clause.variable), clause.position, clause)
    if not clause.allowing_empty:
        return found
    return [*found, _without_any(clause, source, stream)]


def _without_any(clause: For, source: Value, stream: Tuples) -> Tuples:
    """The tuples for which the source is empty: one each, with an empty variable."""
    plan = Select(stream.plan, negation(exists(source)))
    scope = stream.scope.bind(clause.variable, EMPTY)
    names = [str(clause.variable)]
    if clause.position is not None:
        scope = scope.bind(clause.position, Single(Atomic(Constant(0), "xs:integer")))
        names.append(str(clause.position))
    return Tuples(plan, scope, bound_also(stream, *names))


def bind_each(
    source: Value, stream: Tuples, name: str, position: object, clause: Clause
) -> list[Tuples]:
    """A tuple for each item of the source."""
    if source == EMPTY:
        return []
    source = apart(source, columns(stream.plan) | stream.scope.taken)
    found = leaves(source)
    kinds: list[tuple[Plan, Value]]
    if len(found) > 1 and (position is not None or _all_atomic(found)):
        from xcql.compile.library.several_kinds import as_one_kind

        kinds = [as_one_kind(source, stream.scope, clause.span)]
    else:
        named = [named_after(leaf, name, stream.scope) for leaf in found]
        kinds = [(leaf.plan, Single(leaf.item)) for leaf in named]
    after: list[Tuples] = []
    for plan, value in kinds:
        scope = stream.scope
        bound = bound_also(stream, name)
        if position is not None:
            numbered = Number(plan, scope.compilation.fresh(str(position)))
            plan = numbered
            at = Single(Atomic(Column(numbered.name), "xs:integer"))
            scope = scope.bind(position, at)
            bound = (*bound, str(position))
        plan = graft(plan, stream.plan)
        after.append(Tuples(plan, scope.within(columns(plan)).bind(name, value), bound))
    return after


def _all_atomic(found: Sequence[Leaf]) -> bool:
    return all(isinstance(leaf.item, Atomic) for leaf in found)


def named_after(leaf: Leaf, name: str, scope: Scope) -> Leaf:
    """The leaf with what its items come from called as the variable is."""
    item = leaf.item
    made = columns(leaf.plan)
    names: dict[str, str] = {}
    match item:
        case StreamElement(is_filler=True, row=row) if f"{row}.key" in made:
            names = row_names(row, scope.compilation.fresh(name))
        case StreamElement(struct=Column(name=column)) | Atomic(scalar=Column(name=column)):
            if column in made and row_of(column, made) is None:
                names = {column: scope.compilation.fresh(name)}
    if not names:
        return leaf
    return Leaf(renamed_plan(leaf.plan, names), renamed_item(item, names))


@apply.register
def _where(clause: Where, stream: Tuples) -> list[Tuples]:
    condition = truth(value_of(clause.condition, stream.scope), stream.scope, clause.condition.span)
    return [replace(stream, plan=Select(stream.plan, condition, span=clause.span))]


@apply.register
def _count(clause: Count, stream: Tuples) -> list[Tuples]:
    numbered = Number(stream.plan, stream.scope.compilation.fresh(str(clause.variable)))
    scope = stream.scope.within(columns(numbered))
    value = Single(Atomic(Column(numbered.name), "xs:integer"))
    name = str(clause.variable)
    return [Tuples(numbered, scope.bind(name, value), bound_also(stream, name))]


@apply.register
def _order_by(clause: OrderBy, stream: Tuples) -> list[Tuples]:
    keys: list[SortKey] = []
    plan = stream.plan
    scope = stream.scope
    for key in clause.keys:
        if key.collation is not None:
            raise NotNative("a collation", key.span)
        item = one_atomic(value_of(key.key, scope), scope, key.key.span)
        greatest = (key.empty or scope.compilation.empty_order) == "greatest"
        if item is None:
            # tuples of other kinds may have something to be ordered by, before or after these
            keys.append(SortKey(NULL, "other", key.descending, greatest))
            continue
        if item.type == "xs:untypedAtomic":
            item = replace(item, type="xs:string")
        column = scope.compilation.fresh("sort")
        scalar, kind = sortable(item, key.span, greatest)
        plan = Project(plan, column, scalar)
        keys.append(SortKey(Column(column), kind, key.descending, greatest))
    plan = Order(plan, (*keys, *order(stream.plan)))
    return [Tuples(plan, scope.within(columns(plan)), stream.bound)]


def sortable(item: Atomic, span: object, empty_greatest: bool = False) -> tuple[Scalar, KeyKind]:
    """A scalar that sorts as the values do."""
    if item.type == "xs:double":
        # NaN stands between the numbers and the empty sequence, on whichever side that is
        nan = call("is_nan", item.scalar)
        flag = case(
            (call("is_null", item.scalar), Constant(None)),
            (nan, Constant(2 if empty_greatest else 0)),
            otherwise=Constant(1),
        )
        number = case((nan, Constant(0.0)), otherwise=item.scalar)
        return case(
            (call("is_null", item.scalar), Constant(None)), otherwise=call("struct", flag, number)
        ), "other"
    if item.type in NUMBERS:
        return item.scalar, "other"
    if item.type in STRINGS:
        return item.scalar, "text"
    if item.type in INSTANTS:
        # a date is kept as it reads, but dates with zones are ordered by their midnights
        return item.scalar if is_plain_zone(item.zone) else on_time_line(item), "time"
    if item.type == "xs:boolean":
        return item.scalar, "truth"
    if item.type in ("xs:dayTimeDuration", "xs:yearMonthDuration"):
        return item.scalar, "other"
    raise NotNative(f"sorting by {item.type}", span)  # type: ignore[arg-type]


@apply.register
def _group_by(clause: GroupBy, stream: Tuples) -> list[Tuples]:
    from xcql.compile.syntax.grouping import grouped

    return grouped(clause, stream)


@apply.register
def _window(clause: Window, stream: Tuples) -> list[Tuples]:
    from xcql.compile.syntax.windows import windows

    return windows(clause, stream)
