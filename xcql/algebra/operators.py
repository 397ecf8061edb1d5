"""The operators of the algebra: immutable plans that make tuples from tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import is_
from typing import Literal

from xcql.algebra.scalars import (
    TRUE,
    Call,
    Column,
    Comparison,
    Lambda,
    Nested,
    Scalar,
    call,
    conjunction,
    has_nested,
    once,
    rebuilt,
    remembered,
    walk_scalar,
)
from xcql.source import Span

# the kind of value in an order key, so that keys of several plans can be merged
KeyKind = Literal["key", "number", "text", "time", "truth", "other"]

# the columns of a filler's row, each as `<row>.<column>`
ROW_COLUMNS = (
    "key",  # orders and identifies this copy of the filler in the view
    "parent",  # the key of the row whose hole this filler fills
    "offset",  # the byte offset of the hole in that row
    "filler",
    "seq",  # identifies this version of the filler in the store
    "tag",
    "number",
    "vtFrom",
    "vtTo",
    "pathFrom",  # from here on: the interval in which all ancestor fillers are valid
    "pathTo",
    "holes",
    "around",  # the ids of the ancestor fillers, and its own id (QaC)
    "namespaces",
    "raw",
    "element",
)


def row_column(row: str, column: str) -> Column:
    """A column of a filler's row.

    >>> row_column("i", "key").name
    'i.key'
    """
    assert column in ROW_COLUMNS, column
    return Column(f"{row}.{column}")


@dataclass(frozen=True, slots=True)
class SortKey:
    """A value that tuples are ordered by; NULL comes first unless `empty_greatest`."""

    scalar: Scalar
    kind: KeyKind
    descending: bool = False
    empty_greatest: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Tuples with named columns; equal plans make equal tuples wherever they occur in the query."""

    span: Span | None = field(default=None, kw_only=True, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unit(Plan):
    """The tuple that the plan is evaluated for."""


@dataclass(frozen=True, slots=True)
class Extract(Plan):
    """All fillers of some tags of a stream that are in the view, one tuple per copy."""

    stream: str
    tags: tuple[str, ...]
    row: str
    input: Plan = Unit()


@dataclass(frozen=True, slots=True)
class Versions(Plan):
    """All versions of fillers of some tags of a stream, one tuple each, in the view or not.

    Their rows have no columns about the place in the view: no key, parent, offset or path.
    """

    stream: str
    tags: tuple[str, ...]
    row: str
    input: Plan = Unit()


# the columns of the table of nodes
NODE_COLUMNS = ("seq", "kind", "name", "path", "start", "length", "parent", "value")


@dataclass(frozen=True, slots=True)
class NodeScan(Plan):
    """All nodes in the fillers of some tags of a stream, one tuple each.

    `columns` names a column of the plan for each of NODE_COLUMNS.
    """

    stream: str
    tags: tuple[str, ...]
    columns: tuple[str, ...]

    def column(self, name: str) -> Column:
        return Column(self.columns[NODE_COLUMNS.index(name)])


@dataclass(frozen=True, slots=True)
class Follow(Plan):
    """For each tuple, the fillers of some tags in the holes of the filler `parent`.

    `within` is a range of the parent's bytes, start and length; the holes must be inside it.
    `parents_nest` if one parent can be inside another: the order of the fillers in the view is then
    not the order of their parents.
    """

    input: Plan
    stream: str
    parent: str
    tags: tuple[str, ...]
    row: str
    within: tuple[Scalar, Scalar] | None = None
    parents_nest: bool = False


@dataclass(frozen=True, slots=True)
class Rise(Plan):
    """For each tuple, the filler that contains the hole of the filler `child`."""

    input: Plan
    stream: str
    child: str
    tags: tuple[str, ...]
    row: str


@dataclass(frozen=True, slots=True)
class Unnest(Plan):
    """For each tuple, one tuple per element of an array, with its position, counted from 0.

    With `outer`, a tuple with an empty array is kept, with NULL as the element.
    """

    input: Plan
    array: Scalar
    item: str
    position: str
    outer: bool = False


@dataclass(frozen=True, slots=True)
class Select(Plan):
    input: Plan
    condition: Scalar


@dataclass(frozen=True, slots=True)
class Project(Plan):
    """The tuples with one more column."""

    input: Plan
    name: str
    scalar: Scalar


@dataclass(frozen=True, slots=True)
class Number(Plan):
    """The tuples with their position, counted from 1 within each partition of equal values.

    With `backwards`, positions are counted from the end. `total` names a column for the size of the
    partition, if that is needed.
    """

    input: Plan
    name: str
    partition: tuple[Scalar, ...] = ()
    backwards: bool = False
    total: str | None = None


@dataclass(frozen=True, slots=True)
class Order(Plan):
    """The same tuples in another order."""

    input: Plan
    by: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Distinct(Plan):
    """One tuple per value of the key, in key order, separately for each value of `within`."""

    input: Plan
    key: Scalar
    kind: KeyKind
    within: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True)
class Join(Plan):
    """Pairs of tuples; `left` keeps tuples without a partner, `semi` and `anti` only the left.

    `is_lookup` says that a left tuple has at most one partner.
    """

    left: Plan
    right: Plan
    keys: tuple[tuple[Scalar, Scalar], ...]
    condition: Scalar
    kind: Literal["inner", "left", "semi", "anti"] = "inner"
    is_lookup: bool = False


@dataclass(frozen=True, slots=True)
class Spread(Plan):
    """The tuples, each repeated for every time bucket that its interval overlaps.

    Buckets have many sizes. If a left and a right interval overlap, exactly one pair of copies has
    the same bucket number in `name` and `{name}.first` true in at least one of the two.
    """

    input: Plan
    begin: Scalar
    end: Scalar
    name: str
    is_left: bool


@dataclass(frozen=True, slots=True)
class Tally(Plan):
    """The left tuples, each with the number of right tuples that compare with it.

    A right tuple counts if the `keys` are equal and the first of `values` is less than the second,
    or whatever `comparison` says. NULL never compares, so its count is 0. No pair of tuples is ever
    built.
    """

    left: Plan
    right: Plan
    keys: tuple[tuple[Scalar, Scalar], ...]
    comparison: Comparison
    values: tuple[Scalar, Scalar]
    name: str


@dataclass(frozen=True, slots=True)
class Nearest(Plan):
    """The left tuples, each with one of the right tuples that compare with it: the nearest.

    Right tuples compare if the `keys` are equal and the first of `values` is less than the second,
    or whatever `comparison` says. They are counted from the value of the left tuple on; the one at
    `position` is its partner. No two right tuples with equal keys have the same value, and the
    right plan does not depend on the left one. All pairs are never built. `left` keeps tuples
    without a partner.
    """

    left: Plan
    right: Plan
    keys: tuple[tuple[Scalar, Scalar], ...]
    comparison: Comparison
    values: tuple[Scalar, Scalar]
    position: int = 1
    kind: Literal["inner", "left"] = "inner"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A reduction of a value over the tuples of a group."""

    reduction: str
    value: Scalar


# the tuples that a value is computed from, relative to a tuple: the one before it, the one after
# it, all up to it, it and those after it, or all of them
Frame = Literal["previous", "next", "so far", "from here", "all"]


@dataclass(frozen=True, slots=True)
class Over(Plan):
    """The tuples, each with a reduction of a value over tuples around it, in the plan's order.

    Tuples of other partitions do not count. For one other tuple, the reduction is `any`, and NULL
    if there is no such tuple. With `further`, the frame "from here" ends so many tuples later.
    """

    input: Plan
    name: str
    aggregate: Aggregate
    frame: Frame
    partition: tuple[Scalar, ...] = ()
    further: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Nest(Plan):
    """One tuple per group: its keys, and the reductions of its tuples."""

    input: Plan
    keys: tuple[tuple[str, Scalar], ...]
    fields: tuple[tuple[str, Aggregate], ...]


@dataclass(frozen=True, slots=True)
class Merge(Plan):
    """The tuples of several plans; `columns` says how each plan computes the shared columns.

    `by` orders the tuples by some of these columns; the order starts again for each `within`.
    """

    inputs: tuple[Plan, ...]
    columns: tuple[tuple[str, tuple[Scalar, ...]], ...]
    by: tuple[SortKey, ...]
    within: tuple[Scalar, ...] = ()


class PlanTooLarge(Exception):
    """Parts of a plan depend on each other so much that it would be too large written out."""


def inputs(plan: Plan) -> tuple[Plan, ...]:
    below = getattr(plan, "input", None)
    if below is not None:
        return (below,)
    match plan:
        case Merge(inputs=several):
            return several
        case (
            Join(left=left, right=right)
            | Tally(left=left, right=right)
            | Nearest(left=left, right=right)
        ):
            return (left, right)
    return ()


def with_inputs(plan: Plan, *new: Plan) -> Plan:
    if all(map(is_, new, inputs(plan))):
        return plan
    match plan:
        case Merge():
            return replace(plan, inputs=new)
        case Join() | Tally() | Nearest():
            return replace(plan, left=new[0], right=new[1])
    return replace(plan, input=new[0])  # type: ignore[call-arg]


def scalars(plan: Plan) -> tuple[Scalar, ...]:
    """The scalars of the operator itself."""
    match plan:
        case Follow(within=within):
            return within or ()
        case Unnest(array=array):
            return (array,)
        case Select(condition=condition):
            return (condition,)
        case Project(scalar=scalar):
            return (scalar,)
        case Number(partition=partition):
            return partition
        case Over(aggregate=one, partition=partition, further=None):
            return (one.value, *partition)
        case Over(aggregate=one, partition=partition, further=Scalar() as further):
            return (one.value, further, *partition)
        case Order(by=by):
            return tuple(key.scalar for key in by)
        case Distinct(key=key, within=within):
            return (key, *within)
        case Spread(begin=begin, end=end):
            return (begin, end)
        case Join(keys=keys, condition=condition):
            return (*(one for pair in keys for one in pair), condition)
        case Tally(keys=keys, values=values) | Nearest(keys=keys, values=values):
            return (*(one for pair in keys for one in pair), *values)
        case Nest(keys=keys, fields=fields):
            return (*(scalar for _, scalar in keys), *(one.value for _, one in fields))
        case Merge(columns=columns, by=by, within=within):
            own = (scalar for _, each in columns for scalar in each)
            return (*own, *(key.scalar for key in by), *within)
    return ()


def with_scalars(plan: Plan, change: Callable[[Scalar], Scalar]) -> Plan:
    """The operator with its own scalars changed; the same one if none of them is."""
    old = scalars(plan)
    new = tuple(map(change, old))
    if all(map(is_, new, old)):
        return plan
    rest = iter(new)
    return _with_scalars(plan, lambda _: next(rest))


def _with_scalars(plan: Plan, change: Callable[[Scalar], Scalar]) -> Plan:
    """Change the scalars in the order of `scalars`."""
    match plan:
        case Follow(within=(start, length)):
            return replace(plan, within=(change(start), change(length)))
        case Unnest(array=array):
            return replace(plan, array=change(array))
        case Select(condition=condition):
            return replace(plan, condition=change(condition))
        case Project(scalar=scalar):
            return replace(plan, scalar=change(scalar))
        case Number(partition=partition):
            return replace(plan, partition=tuple(map(change, partition)))
        case Over(aggregate=one, partition=partition, further=further):
            return replace(
                plan,
                aggregate=replace(one, value=change(one.value)),
                further=None if further is None else change(further),
                partition=tuple(map(change, partition)),
            )
        case Order(by=by):
            return replace(plan, by=tuple(replace(k, scalar=change(k.scalar)) for k in by))
        case Distinct(key=key, within=within):
            return replace(plan, key=change(key), within=tuple(map(change, within)))
        case Spread(begin=begin, end=end):
            return replace(plan, begin=change(begin), end=change(end))
        case Join(keys=keys, condition=condition):
            new = tuple((change(a), change(b)) for a, b in keys)
            return replace(plan, keys=new, condition=change(condition))
        case Tally(keys=keys, values=(value, other)) | Nearest(keys=keys, values=(value, other)):
            new = tuple((change(a), change(b)) for a, b in keys)
            return replace(plan, keys=new, values=(change(value), change(other)))
        case Nest(keys=keys, fields=fields):
            return replace(
                plan,
                keys=tuple((name, change(scalar)) for name, scalar in keys),
                fields=tuple((name, replace(one, value=change(one.value))) for name, one in fields),
            )
        case Merge(columns=columns):
            return replace(
                plan,
                columns=tuple((name, tuple(map(change, each))) for name, each in columns),
                by=tuple(replace(key, scalar=change(key.scalar)) for key in plan.by),
                within=tuple(map(change, plan.within)),
            )
    return plan


def walk_plan(plan: Plan) -> Iterator[Plan]:
    """The plan, the plans below it, and the plans nested in scalars."""
    pending = [plan]
    while pending:
        here = pending.pop()
        yield here
        pending.extend(inputs(here))
        for scalar in scalars(here):
            if has_nested(scalar):
                pending += [one.plan for one in walk_scalar(scalar) if isinstance(one, Nested)]


@remembered
def own_columns(plan: Plan) -> frozenset[str]:
    """The columns that the operator itself adds."""
    match plan:
        case Extract(row=row) | Versions(row=row) | Follow(row=row) | Rise(row=row):
            return frozenset(f"{row}.{column}" for column in ROW_COLUMNS)
        case NodeScan(columns=columns):
            return frozenset(columns)
        case Unnest(item=item, position=position):
            return frozenset({item, position})
        case Project(name=name) | Tally(name=name) | Over(name=name):
            return frozenset({name})
        case Spread(name=name):
            return frozenset({name, f"{name}.first"})
        case Number(name=name, total=total):
            return frozenset({name} if total is None else {name, total})
        case Nest(keys=keys, fields=fields):
            return frozenset(name for name, _ in keys) | {name for name, _ in fields}
        case Merge(columns=columns):
            return frozenset(name for name, _ in columns)
    return frozenset()


@remembered
def columns(plan: Plan) -> frozenset[str]:
    """All columns of the plan's tuples, except those of the tuple that it is evaluated for."""
    match plan:
        case Nest() | Merge():
            return own_columns(plan)
        case Join(left=left, right=right, kind=kind):
            return columns(left) | (columns(right) if kind in ("inner", "left") else frozenset())
        case Tally(left=left, name=name):
            return columns(left) | {name}
    return own_columns(plan).union(*(columns(one) for one in inputs(plan)))


@remembered
def columns_below(plan: Plan) -> frozenset[str]:
    """All columns that the plan makes at any place, even if its tuples do not have them."""
    return own_columns(plan).union(*(columns_below(one) for one in inputs(plan)))


@remembered
def used(scalar: Scalar) -> frozenset[str]:
    """The columns that a scalar uses, including those that nested plans use of outer tuples."""
    match scalar:
        case Column(name=name):
            return frozenset({name})
        case Lambda(parameters=parameters, body=body):
            return used(body) - set(parameters)
        case Nested(plan=plan, value=value):
            return free(plan) | (used(value) - columns(plan))
        case Call(arguments=arguments):
            return frozenset().union(*map(used, arguments))
    return frozenset()


@remembered
def free(plan: Plan) -> frozenset[str]:
    """The columns that a plan uses of the tuple that it is evaluated for."""
    below = inputs(plan)
    found: set[str] = set()
    for one in below:
        found |= free(one)
    known = own_columns(plan).union(*(columns(one) for one in below))
    for scalar in scalars(plan):
        found |= used(scalar) - known
    match plan:
        case Follow(parent=row):
            found |= {f"{row}.{column}" for column in ("key", "holes", "around")} - known
        case Rise(child=row):
            found |= {f"{row}.{column}" for column in ("parent", "offset")} - known
    return frozenset(found)


def order(plan: Plan) -> tuple[SortKey, ...]:
    """What the tuples are ordered by; if the plan does not sort, it also identifies them."""
    return _order(plan, implied=False)


def order_with_parents(plan: Plan) -> tuple[SortKey, ...]:
    """The same order, with the keys of parents that the keys of their children imply."""
    return _order(plan, implied=True)


def _order(plan: Plan, *, implied: bool) -> tuple[SortKey, ...]:
    match plan:
        case Unit():
            return ()
        case NodeScan():
            return (SortKey(plan.column("start"), "number"),)
        case Extract(row=row, input=below):
            return (*_order(below, implied=implied), _key_of(row))
        case Follow(input=below, row=row, parent=parent, parents_nest=parents_nest):
            before = _order(below, implied=implied)
            # a filler's key starts with the key of its parent filler; what is sorted explicitly is
            # merged with others, which may be inside the parent
            is_implied = not parents_nest and _is_in_natural_order(below)
            if is_implied and not implied and before and before[-1] == _key_of(parent):
                before = before[:-1]
            return (*before, _key_of(row))
        case Rise(input=below):
            return _order(below, implied=implied)
        case Unnest(input=below, position=position):
            return (*_order(below, implied=implied), SortKey(Column(position), "number"))
        case Order(by=by) | Merge(by=by):
            return by
        case Distinct(input=below, key=key, kind=kind, within=within):
            kinds = {one.scalar: one.kind for one in _order(below, implied=True)}
            return (*(SortKey(one, kinds.get(one, "other")) for one in within), SortKey(key, kind))
        case Nest(keys=keys):
            return tuple(SortKey(Column(name), "other") for name, _ in keys)
        case Join(left=left, right=right, kind="inner"):
            return (*_order(left, implied=implied), *_order(right, implied=implied))
        case Join(left=left) | Tally(left=left) | Nearest(left=left):
            return _order(left, implied=implied)
    return _order(plan.input, implied=implied)  # type: ignore[attr-defined]


def _is_in_natural_order(plan: Plan) -> bool:
    """Whether the tuples are in the order in which their fillers are in the view."""
    match plan:
        case Extract() | Follow():
            return True
        case Select(input=below) | Project(input=below):
            return _is_in_natural_order(below)
    return False


@remembered
def identity(plan: Plan) -> tuple[Scalar, ...]:
    """The scalars that identify the plan's tuples."""
    match plan:
        case Order(input=below):
            return identity(below)
        case Unit():
            return ()
        case NodeScan():
            # among the nodes of one filler; nodes are always joined with their fillers
            return (plan.column("start"),)
        case Extract(row=row, input=below):
            return (*identity(below), row_column(row, "key"))
        case Follow(input=below, row=row, parent=parent):
            before = identity(below)
            if before and before[-1] == row_column(parent, "key"):
                before = before[:-1]
            return (*before, row_column(row, "key"))
        case Unnest(input=below, position=position):
            return (*identity(below), Column(position))
        case Distinct(key=key, within=within):
            return (*within, key)
        case Nest(keys=keys):
            return tuple(Column(name) for name, _ in keys)
        case Merge(by=by, within=within):
            own = (key.scalar for key in by)
            return (*within, *(scalar for scalar in own if scalar not in within))
        case Join(left=left, right=right, kind="inner"):
            return (*identity(left), *identity(right))
        case Join(left=left) | Tally(left=left) | Nearest(left=left):
            return identity(left)
    return identity(plan.input)  # type: ignore[attr-defined]


def _key_of(row: str) -> SortKey:
    return SortKey(row_column(row, "key"), "key")


def graft(plan: Plan, base: Plan) -> Plan:
    """The plan, evaluated for every tuple of `base` instead of for one: a dependent product."""
    if isinstance(base, Unit):
        return plan
    if _scans(plan) and not free(plan) & columns(base):
        return Join(base, plan, (), TRUE)
    match plan:
        case Unit():
            return base
        case Merge(inputs=several, columns=shared, by=by, within=within):
            kept = tuple((name, (Column(name),) * len(several)) for name in sorted(columns(base)))
            return replace(
                plan,
                inputs=tuple(graft(one, base) for one in several),
                columns=(*kept, *shared),
                by=(*order(base), *by),
                within=(*identity(base), *within),
            )
        case Number(partition=partition) | Over(partition=partition):
            return replace(
                plan, input=graft(plan.input, base), partition=(*identity(base), *partition)
            )
        case Distinct(within=within):
            before = order(base)
            grafted = replace(
                plan, input=graft(plan.input, base), within=(*identity(base), *within)
            )
            if before == tuple(
                SortKey(one, key.kind) for one, key in zip(identity(base), before, strict=False)
            ):
                return grafted
            return Order(grafted, (*before, *order(plan)))
        case Order(by=by):
            return replace(plan, input=graft(plan.input, base), by=(*order(base), *by))
        case Nest(keys=keys, fields=fields):
            # keep the columns of the base: they are the same for all tuples of a group
            apart = tuple(
                (one.name if isinstance(one, Column) else f".identity{index}", one)
                for index, one in enumerate(identity(base))
            )
            others = sorted(columns(base) - {name for name, _ in apart})
            same = tuple((name, Aggregate("any", Column(name))) for name in others)
            return replace(
                plan, input=graft(plan.input, base), keys=(*apart, *keys), fields=(*fields, *same)
            )
        case Tally(left=left):
            return replace(plan, left=graft(left, base))
        case Join(left=left, right=right, keys=pairs, condition=condition, kind=kind):
            if not free(right) & columns(base):
                return replace(plan, left=graft(left, base))
            assert kind == "inner", "a dependent outer join"
            equal = (call("=", a, b) for a, b in pairs)
            both = graft(right, graft(left, base))
            return Select(both, conjunction(*equal, condition))
        case Nearest(left=left):
            return replace(plan, left=graft(left, base))
    return replace(plan, input=graft(plan.input, base))  # type: ignore[attr-defined,call-arg]


@remembered
def _scans(plan: Plan) -> bool:
    """Whether the plan reads a table itself."""
    return isinstance(plan, Extract | NodeScan) or any(map(_scans, inputs(plan)))


def renamed_plan(plan: Plan, names: Mapping[str, str]) -> Plan:
    """The plan with columns renamed where they are made or used; a row's name ends with a dot."""
    return _renamed_plan(plan, names, _renaming(names))


def _renamed_plan(
    plan: Plan, names: Mapping[str, str], renamed: Callable[[Scalar], Scalar]
) -> Plan:
    below = tuple(_renamed_plan(one, names, renamed) for one in inputs(plan))
    plan = with_scalars(with_inputs(plan, *below), renamed)

    def new(name: str) -> str:
        return names.get(name, name)

    def new_row(row: str) -> str:
        return names.get(f"{row}.", row)

    match plan:
        case Extract(row=row):
            return replace(plan, row=new_row(row))
        case NodeScan(columns=columns):
            return replace(plan, columns=tuple(map(new, columns)))
        case Follow(row=row, parent=parent):
            return replace(plan, row=new_row(row), parent=new_row(parent))
        case Rise(row=row, child=child):
            return replace(plan, row=new_row(row), child=new_row(child))
        case Unnest(item=item, position=position):
            return replace(plan, item=new(item), position=new(position))
        case Project(name=name) | Tally(name=name) | Over(name=name):
            return replace(plan, name=new(name))
        case Number(name=name, total=total):
            return replace(plan, name=new(name), total=None if total is None else new(total))
        case Nest(keys=keys, fields=fields):
            keys = tuple((new(name), one) for name, one in keys)
            return replace(plan, keys=keys, fields=tuple((new(name), one) for name, one in fields))
        case Merge(columns=shared):
            return replace(plan, columns=tuple((new(name), one) for name, one in shared))
    return plan


def renamed_scalar(scalar: Scalar, names: Mapping[str, str]) -> Scalar:
    return _renaming(names)(scalar)


def _renaming(names: Mapping[str, str]) -> Callable[[Scalar], Scalar]:
    @once
    def inside(one: Scalar) -> Scalar:
        match one:
            case Column(name=name):
                return Column(names[name]) if name in names else one
            case Nested(plan=plan, reduction=reduction, value=value):
                return Nested(_renamed_plan(plan, names, inside), reduction, inside(value))
        return rebuilt(one, inside)

    return inside


def present(value: Scalar) -> Call:
    """The condition that an element is present."""
    return call("present", value)
