"""Maps and arrays: those whose keys are known when the query is compiled, and all others.

A map that is built from data is a sequence of entries, one per tuple of a plan; a look-up selects
the entries with a key, so that it becomes a join. An array that is built from data is a sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xcql.algebra.operators import Number, Project, Select
from xcql.algebra.scalars import FALSE, TRUE, Column, Constant, Scalar, call, case, conjunction
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import NUMBERS, STRINGS
from xcql.compile.library.comparisons import compared
from xcql.compile.library.several_kinds import as_one_kind
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    ArrayItem,
    Atomic,
    EntryMap,
    Item,
    ItemArray,
    KeyedValue,
    MapItem,
)
from xcql.compile.terms.mapping import mapped_within
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import (
    EMPTY,
    Concat,
    Single,
    Value,
    apart,
    concat,
    count,
    each,
    guarded,
    leaves,
)
from xcql.source import Span

_KEYS = STRINGS | {"xs:integer", "xs:boolean"}


def known_items(value: Value, span: Span) -> list[Value]:
    """The items of a sequence whose length is known at compile time."""
    match value:
        case Single():
            return [value]
        case Concat(values=several, exclusive=False):
            return [item for one in several for item in known_items(one, span)]
    raise NotNative("a sequence whose length is known only when the query runs", span)


def known_key(value: Value, scope: Scope, span: Span) -> Atomic | None:
    """The key if it is known at compile time."""
    item = one_atomic(value, scope, span) if isinstance(value, Single) else None
    if item is None or not isinstance(item.scalar, Constant) or item.type not in _KEYS:
        return None
    return item


def one_entry(key: Value, value: Value, scope: Scope, span: Span) -> Item:
    """A map of one entry."""
    known = known_key(key, scope, span)
    if known is not None:
        return MapItem((known,), (value,))
    found = one_atomic(key, scope, span)
    if found is None:
        raise NotNative("a key that is empty", span)
    if found.type not in _KEYS:
        raise NotNative(f"a key of type {found.type}", span)
    entries: Value = Single(KeyedValue(found, value))
    if not isinstance(key, Single):
        # a key that is missing is an error, whether it is looked at or not
        missing = scope.compilation.error("XPTY0004", "the key is an empty sequence", span)
        is_there = case((call("is_not_null", found.scalar), TRUE), otherwise=missing)
        entries = guarded(call("is_true", is_there), entries)
    return EntryMap(entries, entries)


def is_same_key(a: Atomic, b: Atomic) -> bool:
    family = (a.type in STRINGS, a.type)[: 1 if a.type in STRINGS else 2]
    other = (b.type in STRINGS, b.type)[: 1 if b.type in STRINGS else 2]
    return family == other and a.scalar == b.scalar


def entry_of(item: Item, wanted: Value, scope: Scope, span: Span) -> Value:
    """The value for a key of a map, or at a position of an array."""
    key = one_atomic(wanted, scope, span)
    if key is None:
        raise NotNative("a key that is empty", span)
    is_there: Scalar = TRUE
    if not isinstance(wanted, Single):
        missing = scope.compilation.error("XPTY0004", "a key that is empty", span)
        if isinstance(item, EntryMap):
            # apart from the key, which a join compares
            found = case((call("is_not_null", key.scalar), TRUE), otherwise=missing)
            is_there = call("is_true", found)
        else:
            key = Atomic(call("coalesce", key.scalar, missing), key.type)
    match item:
        case ArrayItem() | ItemArray():
            return _member(item, key, scope, span)
        case MapItem(keys=keys, values=values):
            return _chosen(key, keys, values, scope, span)
        case EntryMap():
            entries = entries_with(item, key, scope, span)
            return guarded(is_there, mapped_within(entries, scope, lambda entry, _: entry.value))  # type: ignore[attr-defined]
    raise NotNative("a lookup in an unknown map or array", span)


def _member(array: ArrayItem | ItemArray, key: Atomic, scope: Scope, span: Span) -> Value:
    if key.type != "xs:integer":
        raise NotNative("a position that is not an integer", span)
    position = key.scalar
    outside = scope.compilation.error("FOAY0001", "the array has no such position", span)
    if isinstance(array, ArrayItem):
        known = position.value if isinstance(position, Constant) else None
        if isinstance(known, int) and 1 <= known <= len(array.members):
            return array.members[known - 1]
        position = _within(position, Constant(len(array.members)), position, outside)
        found = [
            guarded(call("=", position, Constant(number)), member)
            for number, member in enumerate(array.members, 1)
        ]
        if not found or EMPTY in found:
            # nothing would look at the position
            raise NotNative("a position in an array with empty members", span)
        return Concat(tuple(found), exclusive=True)
    if array.items == EMPTY:
        raise NotNative("a position in an array without members", span)
    plan, member = as_one_kind(array.items, scope, span)
    numbered = Number(plan, scope.compilation.fresh("position"))
    there = Select(numbered, call("=", Column(numbered.name), position))
    is_inside = _within(position, count(array.items), TRUE, outside)
    return guarded(call("is_true", is_inside), each(there, member))


def _within(position: Scalar, size: Scalar, result: Scalar, otherwise: Scalar) -> Scalar:
    """The result if an array of some size has a position."""
    inside = conjunction(call("<=", Constant(1), position), call("<=", position, size))
    return case((inside, result), otherwise=otherwise)


def entries_with(found: EntryMap, key: Atomic, scope: Scope, span: Span) -> Value:
    """The entries of a map with a key."""
    return selected(
        found.entries, scope, lambda entry, inside: is_equal_key(key, entry.key, inside, span)
    )


def selected(
    entries: Value, scope: Scope, condition: Callable[[KeyedValue, Scope], Scalar]
) -> Value:
    """The entries that satisfy a condition: selected from their plan, so that it can be joined."""
    if entries == EMPTY:
        return EMPTY
    (leaf,) = leaves(apart(entries, scope.taken))
    assert isinstance(leaf.item, KeyedValue)
    is_selected = condition(leaf.item, scope.within(leaf.plan))
    if is_selected == FALSE:
        return EMPTY
    return each(Select(leaf.plan, is_selected), Single(leaf.item))


def merged_entries(entries: Value, duplicates: str, scope: Scope, span: Span) -> EntryMap:
    """A map of entries whose keys need not be distinct; `duplicates` is as for `map:merge`."""
    if len(leaves(entries)) != 1:
        raise NotNative("a map with entries of several kinds", span)
    (leaf,) = leaves(entries)
    assert isinstance(leaf.item, KeyedValue)
    fresh = scope.compilation.fresh
    name = fresh("key")
    plan = Project(leaf.plan, name, leaf.item.key.scalar)
    entry = replace(leaf.item, key=replace(leaf.item.key, scalar=Column(name)))

    def once(backwards: bool) -> Value:
        numbered = Number(plan, fresh("duplicate"), (Column(name),), backwards)
        is_first = call("=", Column(numbered.name), Constant(1))
        return each(Select(numbered, is_first), Single(entry))

    keys = once(backwards=False)
    match duplicates:
        case "use-first" | "use-any":
            return EntryMap(keys, keys)
        case "use-last":
            return EntryMap(keys, once(backwards=True))
        case "combine":
            return EntryMap(keys, each(plan, Single(entry)))
    raise NotNative("maps that must not have a key twice", span)


def entries_in_order(found: EntryMap, scope: Scope, span: Span) -> Value:
    """One entry for each key of a map, with its value."""
    if found.keys == found.entries:
        return found.keys

    def with_value(item: Item, inside: Scope) -> Value:
        assert isinstance(item, KeyedValue)
        return Single(replace(item, value=entry_of(found, Single(item.key), inside, span)))

    return mapped_within(found.keys, scope, with_value)


def members_of(item: Item, scope: Scope, span: Span) -> Value:
    """All values of a map or an array, as `?*` has them."""
    match item:
        case MapItem(values=values) | ArrayItem(members=values):
            return concat(values)
        case ItemArray(items=items):
            return items
        case EntryMap():
            return mapped_within(
                entries_in_order(item, scope, span),
                scope,
                lambda entry, _: entry.value,  # type: ignore[attr-defined]
            )
    raise NotNative("a lookup in an unknown map or array", span)


def _chosen(
    key: Atomic, keys: tuple[Atomic, ...], values: tuple[Value, ...], scope: Scope, span: Span
) -> Value:
    if not (key.type in STRINGS or key.type in NUMBERS or key.type == "xs:boolean"):
        raise NotNative(f"a key of type {key.type}", span)
    found: list[Value] = []
    for known, value in zip(keys, values, strict=True):
        condition = is_equal_key(key, known, scope, span)
        if condition == FALSE or value == EMPTY:
            continue
        found.append(guarded(condition, value))
    if len(found) < 2:
        return found[0] if found else EMPTY
    return Concat(tuple(found), exclusive=True)


def is_equal_key(key: Atomic, known: Atomic, scope: Scope, span: Span) -> Scalar:
    if key.type in STRINGS and known.type in STRINGS:
        pair = (Atomic(one.scalar, "xs:string") for one in (key, known))
    elif (key.type in NUMBERS and known.type in NUMBERS) or key.type == known.type:
        pair = (one for one in (key, known))
    else:
        return FALSE
    a, b = pair
    if a.type == b.type and isinstance(a.scalar, Constant) and isinstance(b.scalar, Constant):
        return Constant(a.scalar == b.scalar)
    return compared("=", a, b, scope, span)
