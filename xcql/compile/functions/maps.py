"""Functions on maps."""

from __future__ import annotations

from xcql.algebra.scalars import Constant, Scalar, disjunction, negation
from xcql.analysis.names import FUNCTIONS
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.function_items import applied
from xcql.compile.library.maps import (
    entries_in_order,
    entries_with,
    entry_of,
    is_equal_key,
    is_same_key,
    known_items,
    known_key,
    merged_entries,
    one_entry,
    selected,
)
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic, EntryMap, Item, KeyedValue, MapItem
from xcql.compile.terms.mapping import mapped_within
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import (
    Single,
    Value,
    atomic,
    boolean,
    concat,
    count,
    exists,
    leaves,
)

native = NativeFunctions()
MAP = f"{FUNCTIONS}/map"


def _map_argument(site: CallSite) -> MapItem | EntryMap:
    match site.arguments[0]:
        case Single(item=MapItem() | EntryMap() as found):
            return found
    raise NotNative("a map that is known only when the query runs", site.span)


def _known_map(site: CallSite) -> MapItem:
    found = _map_argument(site)
    if not isinstance(found, MapItem):
        raise NotNative("a map whose keys are known only when the query runs", site.span)
    return found


@native("get", 2, uri=MAP)
def _get(site: CallSite) -> Value:
    return entry_of(_map_argument(site), site.arguments[1], site.scope, site.span)


@native("size", 1, uri=MAP)
def _size(site: CallSite) -> Value:
    found = _map_argument(site)
    if isinstance(found, EntryMap):
        return Single(Atomic(count(found.keys), "xs:integer"))
    return atomic(len(found.keys), "xs:integer")


@native("keys", 1, uri=MAP)
def _keys(site: CallSite) -> Value:
    found = _map_argument(site)
    if isinstance(found, MapItem):
        return concat([Single(key) for key in found.keys])
    return mapped_within(found.keys, site.scope, lambda entry, _: Single(entry.key))  # type: ignore[attr-defined]


@native("contains", 2, uri=MAP)
def _contains(site: CallSite) -> Value:
    known = _map_argument(site)
    key = one_atomic(site.arguments[1], site.scope, site.span)
    if key is None or not isinstance(site.arguments[1], Single):
        raise NotNative("a key that may be empty", site.span)
    if isinstance(known, EntryMap):
        return boolean(exists(entries_with(known, key, site.scope, site.span)))
    return boolean(
        disjunction(*(is_equal_key(key, one, site.scope, site.span) for one in known.keys))
    )


@native("entry", 2, uri=MAP)
def _entry(site: CallSite) -> Value:
    key, value = site.arguments
    return Single(one_entry(key, value, site.scope, site.span))


@native("put", 3, uri=MAP)
def _put(site: CallSite) -> Value:
    known = _known_map(site)
    key = known_key(site.arguments[1], site.scope, site.span)
    if key is None:
        raise NotNative("a key that is known only when the query runs", site.span)
    keys, values = list(known.keys), list(known.values)
    place = next((at for at, one in enumerate(keys) if is_same_key(key, one)), len(keys))
    keys[place : place + 1] = [key]
    values[place : place + 1] = [site.arguments[2]]
    return Single(MapItem(tuple(keys), tuple(values)))


@native("remove", 2, uri=MAP)
def _remove(site: CallSite) -> Value:
    found = _map_argument(site)
    wanted = known_items(site.arguments[1], site.span)
    removed = [one_atomic(one, site.scope, site.span) for one in wanted]

    def is_kept(key: Atomic, scope: Scope) -> Scalar:
        same = (is_equal_key(one, key, scope, site.span) for one in removed if one is not None)
        return negation(disjunction(*same))

    if isinstance(found, MapItem):
        conditions = [is_kept(key, site.scope) for key in found.keys]
        if not all(isinstance(one, Constant) for one in conditions):
            raise NotNative("a key that is known only when the query runs", site.span)
        kept = [number for number, one in enumerate(conditions) if one == Constant(True)]
        return Single(
            MapItem(
                tuple(found.keys[number] for number in kept),
                tuple(found.values[number] for number in kept),
            )
        )

    def without(entries: Value) -> Value:
        return selected(entries, site.scope, lambda entry, inside: is_kept(entry.key, inside))

    keys = without(found.keys)
    return Single(EntryMap(keys, keys if found.entries == found.keys else without(found.entries)))


@native("merge", 1, 2, uri=MAP)
def _merge(site: CallSite) -> Value:
    duplicates = _duplicates(site)
    maps = leaves(site.arguments[0])
    if all(isinstance(leaf.item, MapItem) for leaf in maps) and duplicates == "use-first":
        try:
            return _merge_known(site)
        except NotNative:
            if not maps:
                raise
    entries = mapped_within(site.arguments[0], site.scope, lambda item, _: _entries(item, site))
    return Single(merged_entries(entries, duplicates, site.scope, site.span))


def _duplicates(site: CallSite) -> str:
    """What becomes of a key that several maps have."""
    if len(site.arguments) == 1:
        return "use-first"
    match site.arguments[1]:
        case Single(item=MapItem(keys=keys, values=values)):
            options = {key.scalar: value for key, value in zip(keys, values, strict=True)}
            match options.get(Constant("duplicates")):
                case None:
                    return "use-first"
                case Single(item=Atomic(scalar=Constant(value=str() as chosen))):
                    return chosen
    raise NotNative("options that are known only when the query runs", site.span)


def _entries(item: Item, site: CallSite) -> Value:
    match item:
        case MapItem(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return concat([Single(KeyedValue(key, value)) for key, value in pairs])
        case EntryMap():
            return entries_in_order(item, site.scope, site.span)
    raise NotNative("a map that is known only when the query runs", site.span)


def _merge_known(site: CallSite) -> Value:
    """Merge maps with known keys; the first of several values for a key wins."""
    keys: list[Atomic] = []
    values: list[Value] = []
    for one in known_items(site.arguments[0], site.span):
        assert isinstance(one, Single)
        assert isinstance(one.item, MapItem)
        for key, value in zip(one.item.keys, one.item.values, strict=True):
            if not any(is_same_key(key, other) for other in keys):
                keys.append(key)
                values.append(value)
    return Single(MapItem(tuple(keys), tuple(values)))


@native("for-each", 2, uri=MAP)
def _for_each_entry(site: CallSite) -> Value:
    found = _map_argument(site)

    def result(key: Value, value: Value, scope: Scope) -> Value:
        return applied(site.arguments[1], [key, value], scope, site.span)

    if isinstance(found, MapItem):
        pairs = zip(found.keys, found.values, strict=True)
        return concat([result(Single(key), value, site.scope) for key, value in pairs])
    return mapped_within(
        entries_in_order(found, site.scope, site.span),
        site.scope,
        lambda entry, inside: result(Single(entry.key), entry.value, inside),  # type: ignore[attr-defined]
    )
