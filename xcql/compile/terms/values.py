"""Sequences as the compiler sees them.

    Value ::= Single(item) | Concat(values) | Merged(values) | Each(plan, value)

`Each` is the value for every tuple of a plan, concatenated; `Merged` interleaves values by the
order keys of their plans, as a step to several tags does. What a consumer needs from a value (how
many items, their text, whether there are any) is found by descending this tree: no sequence is
built where a number is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from xcql.algebra import operators as ops
from xcql.algebra.scalars import (
    FALSE,
    NULL,
    TRUE,
    Call,
    Column,
    Constant,
    Lambda,
    Nested,
    Scalar,
    call,
    case,
    conjunction,
    disjunction,
    field,
)
from xcql.algebra.substitution import substituted
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    Atomic,
    Element,
    Failure,
    Item,
    ProjectionWindow,
    Root,
    Tree,
    Turns,
)
from xcql.source import Span


@dataclass(frozen=True, slots=True)
class Value:
    pass


@dataclass(frozen=True, slots=True)
class Single(Value):
    item: Item


@dataclass(frozen=True, slots=True)
class Concat(Value):
    """Concatenated values; if `exclusive`, at most one of them is not empty."""

    values: tuple[Value, ...]
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class Merged(Value):
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Each(Value):
    """The value for each tuple; `is_path`: the items are distinct nodes of one tree, in order."""

    plan: ops.Plan
    value: Value
    is_path: bool = False


EMPTY = Concat(())


def atomic(value: object, type_: str) -> Value:
    return Single(Atomic(Constant(value), type_))


def boolean(scalar: Scalar) -> Value:
    return Single(Atomic(scalar, "xs:boolean"))


def each(plan: ops.Plan, value: Value, is_path: bool = False) -> Value:
    """The value for every tuple of the plan."""
    if isinstance(plan, ops.Unit):
        return value
    if value == EMPTY:
        return EMPTY
    return Each(plan, value, is_path)


def concat(values: Sequence[Value]) -> Value:
    """The concatenation of values."""
    flat: list[Value] = []
    for value in values:
        flat += value.values if isinstance(value, Concat) and not value.exclusive else (value,)
    return flat[0] if len(flat) == 1 else Concat(tuple(flat))


def merged(values: Sequence[Value]) -> Value:
    flat: list[Value] = []
    for value in values:
        if isinstance(value, Merged):
            flat += value.values
        elif value != EMPTY:
            flat.append(value)
    if not flat:
        return EMPTY
    return flat[0] if len(flat) == 1 else Merged(tuple(flat))


def guarded(condition: Scalar, value: Value) -> Value:
    """The value if the condition holds, else the empty sequence."""
    if condition == TRUE:
        return value
    if condition == FALSE:
        return EMPTY
    return each(ops.Select(ops.Unit(), condition), value)


def nullable(item: Atomic, *operands: Value) -> Value:
    """An atomic value that is empty if an operand is."""
    if all(isinstance(one, Single) for one in operands):
        return Single(item)
    return guarded(call("is_not_null", item.scalar), Single(item))


def conditional(condition: Scalar, then: Value, otherwise: Value) -> Value:
    """One of two values, chosen by a condition."""
    if condition in (TRUE, FALSE):
        return then if condition == TRUE else otherwise
    if otherwise == EMPTY:
        return guarded(condition, then)
    negated = call("not", condition)
    for value, other, holds in ((then, otherwise, negated), (otherwise, then, condition)):
        if isinstance(value, Single) and isinstance(value.item, Failure) and other != EMPTY:
            # `is_true`, because a failing scalar has no type
            sound = call("is_true", case((holds, TRUE), otherwise=value.item.scalar))
            return guarded(sound, other)
    if then == EMPTY:
        return guarded(negated, otherwise)
    one = _one_of(condition, then, otherwise)
    if one is not None:
        return one
    return Concat((guarded(condition, then), guarded(negated, otherwise)), exclusive=True)


def _one_of(condition: Scalar, then: Value, otherwise: Value) -> Value | None:
    """One of two atomic values of one type as one item; None if there are several, or others."""
    found = [_optional_atomic(then), _optional_atomic(otherwise)]
    (first, second) = found
    if first is None or second is None or first.type != second.type:
        return None
    item = Atomic(case((condition, first.scalar), otherwise=second.scalar), first.type)
    return nullable(item, then, otherwise)


def _optional_atomic(value: Value) -> Atomic | None:
    """The only item of a value, NULL if there is none; None if it is not just an atomic value."""
    inner = value
    while isinstance(inner, Each) and is_optional(inner.plan):
        inner = inner.value
    match inner:
        case Single(item=Atomic(type=type_, zone=None)):
            return Atomic(single_scalar(value, lambda item: item.scalar), type_)  # type: ignore[attr-defined]
    return None


def without_failures(value: Value, span: Span) -> Value:
    """The value; an error that is an item of it would be lost where only its kind is looked at."""
    if any(isinstance(leaf.item, Failure) for leaf in leaves(value)):
        raise NotNative("an error as a value", span)
    return value


@dataclass(frozen=True, slots=True)
class Leaf:
    """An item for each tuple of a plan."""

    plan: ops.Plan
    item: Item


def leaves(value: Value) -> list[Leaf]:
    """The kinds of items in the value, each with its plan.

    The order keys of the plans order the items: keys are compared position by position as long as
    they are of the same kinds.
    """
    match value:
        case Single(item=item):
            return [Leaf(ops.Unit(), item)]
        case Each(plan=plan, value=inner):
            inner = apart(inner, ops.columns(plan))
            return [Leaf(ops.graft(leaf.plan, plan), leaf.item) for leaf in leaves(inner)]
        case Concat(values=several, exclusive=exclusive):
            found = [leaves(one) for one in several]
            if exclusive or sum(map(len, found)) < 2:
                return [leaf for some in found for leaf in some]
            return [
                replace(leaf, plan=_after(index, leaf.plan))
                for index, some in enumerate(found)
                for leaf in some
            ]
        case Merged(values=several):
            return [leaf for one in several for leaf in leaves(one)]
    raise AssertionError(value)


def constructed_items(element: Element) -> Iterator[Item]:
    """A constructed element and all that is in it."""
    yield element
    for value in element.content:
        for leaf in leaves(value):
            if isinstance(leaf.item, Element):
                yield from constructed_items(leaf.item)
            else:
                yield leaf.item


def apart(value: Value, taken: frozenset[str]) -> Value:
    """The value with its plans' columns renamed where they clash with `taken`."""
    made: set[str] = set()
    for plan in _plans(value):
        # those that are hidden, too: the plan may be evaluated for tuples that have them
        made |= ops.columns_below(plan)
    clash = made & taken
    if not clash:
        return value
    # a new name must not be one of a plan that is nested in a scalar, where the old one is used
    nested = _nested_columns(value)
    names: dict[str, str] = {}
    for name in sorted(clash):
        number = 2
        row = row_of(name, made)
        if row is None:
            while f"{name}.{number}" in taken | made | nested | set(names.values()):
                number += 1
            names[name] = f"{name}.{number}"
        elif f"{row}." not in names:
            others = taken | made | nested | {f"{new}.key" for new in names.values()}
            while f"{row}.{number}.key" in others:
                number += 1
            names |= row_names(row, f"{row}.{number}")
    return rename(value, names)


def _nested_columns(value: Value) -> frozenset[str]:
    """The columns that plans make anywhere in a value, also those in scalars of the plans."""
    every = (one for plan in _plans(value) for one in ops.walk_plan(plan))
    return frozenset().union(*map(ops.own_columns, every))


def row_of(name: str, made: Collection[str]) -> str | None:
    """The row that a column belongs to; None for a column that is not part of a row."""
    for column in ops.ROW_COLUMNS:
        row = name.removesuffix(f".{column}")
        if row != name and f"{row}.key" in made and f"{row}.element" in made:
            return row
    return None


def row_names(row: str, new: str) -> dict[str, str]:
    """The new names of a row's columns if the row is renamed, and of the row itself, with a dot."""
    return {f"{row}.": new, **{f"{row}.{one}": f"{new}.{one}" for one in ops.ROW_COLUMNS}}


def rename(value: Value, names: dict[str, str]) -> Value:
    match value:
        case Single(item=item):
            return Single(renamed_item(item, names))
        case Each(plan=plan, value=inner):
            return replace(value, plan=ops.renamed_plan(plan, names), value=rename(inner, names))
        case Concat(values=several) | Merged(values=several):
            return replace(value, values=tuple(rename(one, names) for one in several))
    raise AssertionError(value)


def renamed_item(item: Item, names: dict[str, str]) -> Item:
    """The item over the renamed columns."""
    changes: dict[str, Any] = {}
    for one in fields(item):
        if one.name == "inner_path":
            # the plan that led to the item is a different one now
            changes["inner_path"] = None
            continue
        old = getattr(item, one.name)
        new = _renamed(old, names)
        if one.name == "row":
            new = names.get(f"{old}.", old)
        if new is not old:
            changes[one.name] = new
    return replace(item, **changes) if changes else item


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, Scalar):
        return ops.renamed_scalar(value, names)
    if isinstance(value, Item):
        return renamed_item(value, names)
    if isinstance(value, Value):
        return rename(value, names)
    if isinstance(value, ProjectionWindow):
        return ProjectionWindow(
            ops.renamed_scalar(value.begin, names), ops.renamed_scalar(value.end, names)
        )
    if isinstance(value, Tree):
        loop, each_ = _renamed(value.loop, names), _renamed(value.each, names)
        return replace(value, loop=loop, each=each_)
    if isinstance(value, Root):
        return Root(_renamed(value.key, names), _renamed(value.lifespan, names))
    if isinstance(value, Turns):
        return Turns(_renamed(value.identity, names), _renamed(value.order, names))
    if isinstance(value, ops.SortKey):
        return replace(value, scalar=ops.renamed_scalar(value.scalar, names))
    if isinstance(value, tuple) and any(
        isinstance(one, Item | Value | Scalar | ops.SortKey) for one in value
    ):
        return tuple(_renamed(one, names) for one in value)
    return value


def _plans(value: Value) -> Iterator[ops.Plan]:
    match value:
        case Each(plan=plan, value=inner):
            yield plan
            yield from _plans(inner)
        case Concat(values=several) | Merged(values=several):
            for one in several:
                yield from _plans(one)


def _after(index: int, plan: ops.Plan) -> ops.Plan:
    """The plan with its position among others as the first order key."""
    return ops.Order(plan, (ops.SortKey(Constant(index), "number"), *ops.order(plan)))


def at_most_one(value: Value) -> bool:
    """Whether there can be at most one item."""
    match value:
        case Single():
            return True
        case Each(plan=plan, value=inner):
            return is_single(plan) and at_most_one(inner)
        case Concat(values=several, exclusive=exclusive):
            return not several or (exclusive and all(map(at_most_one, several)))
    return False


def is_optional(plan: ops.Plan) -> bool:
    """Whether the plan has at most one tuple for each tuple that it is evaluated for."""
    match plan:
        case ops.Unit():
            return True
        case ops.Select(input=below) | ops.Project(input=below) | ops.Order(input=below):
            return is_optional(below)
    return False


def is_single(plan: ops.Plan) -> bool:
    """Whether the plan has at most one tuple, which may have to be looked up."""
    match plan:
        case ops.Join(left=left, is_lookup=True) | ops.Nearest(left=left):
            return is_single(left)
        case ops.Select(input=below) | ops.Project(input=below) | ops.Order(input=below):
            return is_single(below)
    return isinstance(plan, ops.Unit)


def condition_of(plan: ops.Plan) -> tuple[Scalar, dict[str, Scalar]]:
    """The condition under which an optional plan has a tuple, and its columns in that case."""
    match plan:
        case ops.Unit():
            return TRUE, {}
        case ops.Order(input=below):
            return condition_of(below)
        case ops.Select(input=below, condition=condition):
            before, known = condition_of(below)
            return conjunction(before, replaced(condition, known)), known
        case ops.Project(input=below, name=name, scalar=scalar):
            before, known = condition_of(below)
            return before, {**known, name: replaced(scalar, known)}
    raise AssertionError(plan)


def replaced(scalar: Scalar, known: dict[str, Scalar]) -> Scalar:
    """The scalar with columns replaced by their definitions."""
    return substituted(scalar, known) if known else scalar


def single_scalar(value: Value, read: Callable[[Item], Scalar]) -> Scalar:
    """A scalar of the only item of a value with at most one; NULL if there is none."""
    match value:
        case Single(item=item):
            return read(item)
        case Each(plan=plan, value=inner) if not is_optional(plan):
            return Nested(plan, "first", single_scalar(inner, read))
        case Each(plan=plan, value=inner):
            condition, known = condition_of(plan)
            found = replaced(single_scalar(inner, read), known)
            # where the condition fails, the scalar is NULL anyway
            if condition == call("is_not_null", found):
                return found
            return case((condition, found))
        case Concat(values=()):
            return NULL
        case Concat(values=several):
            return case(*((exists(one), single_scalar(one, read)) for one in several))
    raise AssertionError(value)


def exists(value: Value) -> Scalar:
    """Whether there are any items."""
    match value:
        case Single():
            return TRUE
        case Concat(values=several) | Merged(values=several):
            return disjunction(*map(exists, several))
        case Each(plan=plan, value=inner):
            found = exists(inner)
            if found == FALSE:
                return FALSE
            if is_optional(plan):
                condition, known = condition_of(plan)
                return conjunction(condition, replaced(found, known))
            if found != TRUE:
                plan = ops.Select(plan, found)
            return Nested(plan, "exists", TRUE)
    raise AssertionError(value)


def count(value: Value) -> Scalar:
    """The number of items."""
    match value:
        case Single():
            return Constant(1)
        case Concat(values=()):
            return Constant(0)
        case Concat(values=several) | Merged(values=several):
            return Call("+", tuple(map(count, several)))
        case Each(plan=plan, value=inner):
            number = count(inner)
            if is_optional(plan):
                condition, known = condition_of(plan)
                return case((condition, replaced(number, known)), otherwise=Constant(0))
            if number == Constant(1):
                return Nested(plan, "count", TRUE)
            return call("coalesce", Nested(plan, "sum", number), Constant(0))
    raise AssertionError(value)


def gather(value: Value, read: Callable[[Item], Scalar]) -> Scalar:
    """An array with a scalar of each item, in order; NULLs are kept."""
    match value:
        case Single(item=item):
            return call("array", read(item))
        case Concat(values=()):
            return call("array")
        case Concat(values=several, exclusive=True):
            branches = [(exists(one), gather(one, read)) for one in several]
            return case(*branches, otherwise=call("array"))
        case Concat(values=several):
            return Call("concat_arrays", tuple(gather(one, read) for one in several))
        case Each(plan=plan, value=inner):
            if is_optional(plan):
                condition, known = condition_of(plan)
                found = replaced(gather(inner, read), known)
                return case((condition, found), otherwise=call("array"))
            if isinstance(inner, Single):
                return Nested(plan, "collect", read(inner.item))
            return call("flatten", Nested(plan, "collect", gather(inner, read)))
        case Merged():
            kinds = leaves(value)
            orders = [ops.order(leaf.plan) for leaf in kinds]
            if any(key.descending or key.empty_greatest for keys in orders for key in keys):
                raise NotNative("several kinds of items in descending order")
            keys = aligned_keys(orders)
            arrays = [
                Nested(leaf.plan, "collect", call("tuple", *key, read(leaf.item)))
                for leaf, key in zip(kinds, keys, strict=True)
            ]
            last = f"col{len(keys[0]) + 1}"
            return call(
                "transform",
                call("sort_array", Call("concat_arrays", tuple(arrays))),
                Lambda((".tuple",), field(Column(".tuple"), last)),
            )
    raise AssertionError(value)


def aligned_keys(orders: Sequence[Sequence[ops.SortKey]]) -> list[list[Scalar]]:
    """The order keys of several plans as lists of equal length, one column per way to sort."""
    found: list[list[Scalar]] = [[] for _ in orders]
    for index, way in _ways(orders):
        for keys, row in zip(orders, found, strict=True):
            here = index < len(keys) and _way(keys[index]) == way
            row.append(keys[index].scalar if here else NULL)
    return found


def merged_order(
    orders: Sequence[Sequence[ops.SortKey]], fresh: Callable[[str], str]
) -> tuple[list[tuple[str, tuple[Scalar, ...]]], tuple[ops.SortKey, ...]]:
    """The columns that a merge of plans needs to sort all tuples, and the sort keys on them."""
    shared: list[tuple[str, tuple[Scalar, ...]]] = []
    by: list[ops.SortKey] = []
    for (index, way), scalars in zip(
        _ways(orders), zip(*aligned_keys(orders), strict=True), strict=True
    ):
        if all(one == NULL for one in scalars):
            # it decides nothing, and Spark takes NULLs without a type for different
            continue
        name = fresh("order")
        shared.append((name, scalars))
        keys = (one[index] for one in orders if index < len(one))
        by.append(replace(next(key for key in keys if _way(key) == way), scalar=Column(name)))
    return shared, tuple(by)


def _ways(orders: Sequence[Sequence[ops.SortKey]]) -> list[tuple[int, tuple[object, ...]]]:
    """The ways to sort that occur at each position of the plans' orders."""
    longest = max(map(len, orders), default=0)
    return [
        (index, way)
        for index in range(longest)
        for way in dict.fromkeys(_way(keys[index]) for keys in orders if index < len(keys))
    ]


def _way(key: ops.SortKey) -> tuple[object, ...]:
    return key.kind, key.descending, key.empty_greatest


def uniform(
    value: Value, read: Callable[[Item], Scalar], fresh: Callable[[str], str]
) -> Leaf | tuple[ops.Plan, Column]:
    """The items as tuples of one plan, with a scalar of each item in a column."""
    found = leaves(value)
    if len(found) == 1:
        column = fresh("item")
        return ops.Project(found[0].plan, column, read(found[0].item)), Column(column)
    if all(is_optional(leaf.plan) for leaf in found):
        item, position = fresh("item"), fresh("position")
        return ops.Unnest(ops.Unit(), gather(value, read), item, position), Column(item)
    orders = [ops.order(leaf.plan) for leaf in found]
    name = fresh("item")
    shared, by = merged_order(orders, fresh)
    shared.append((name, tuple(read(leaf.item) for leaf in found)))
    return ops.Merge(tuple(leaf.plan for leaf in found), tuple(shared), by), Column(name)
