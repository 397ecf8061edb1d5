"""The functions of the map namespace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xcql.diagnostics import error
from xcql.evaluate.registry import CallContext, function
from xcql.xdm.atomic import atomic_key, string_of
from xcql.xdm.functions import Item, XdmArray, XdmFunction, XdmMap

_DUPLICATES = frozenset(["reject", "use-first", "use-last", "use-any", "combine"])


@function("map:merge(map(*)*, [map(*)]) as map(*)")
def merge(call: CallContext, maps: Iterable[XdmMap], options: XdmMap | None = None) -> XdmMap:
    rule = _duplicates(options)
    merged: list[tuple[Any, Iterable[Item]]] = []
    places: dict[Any, int] = {}
    for one in maps:
        for key, value in one.items():
            place = places.setdefault(atomic_key(key), len(merged))
            if place == len(merged):
                merged.append((key, value))
            elif rule == "reject":
                raise error("FOJS0003", f"two maps have the key {string_of(key)}")
            elif rule == "use-last":
                merged[place] = (key, value)
            elif rule == "combine":
                merged[place] = (merged[place][0], [*merged[place][1], *value])
    return XdmMap(merged)


def _duplicates(options: XdmMap | None) -> str:
    chosen = None if options is None else options.get("duplicates")
    if chosen is None:
        return "use-first"
    if len(chosen) != 1 or not isinstance(chosen[0], str) or chosen[0] not in _DUPLICATES:
        raise error(
            "FOJS0005",
            "the option duplicates has an unknown value",
            hints=[f"the known values are {', '.join(sorted(_DUPLICATES))}"],
        )
    return chosen[0]


@function("map:size(map(*)) as xs:integer")
def size(call: CallContext, subject: XdmMap) -> int:
    return len(subject)


@function("map:keys(map(*)) as xs:anyAtomicType*")
def keys(call: CallContext, subject: XdmMap) -> Iterator[Any]:
    return subject.keys()


@function("map:contains(map(*), xs:anyAtomicType) as xs:boolean")
def contains(call: CallContext, subject: XdmMap, key: Any) -> bool:
    return key in subject


@function("map:get(map(*), xs:anyAtomicType) as item()*")
def get(call: CallContext, subject: XdmMap, key: Any) -> Iterable[Item]:
    return subject.get(key) or ()


@function("map:find(item()*, xs:anyAtomicType) as array(*)")
def find(call: CallContext, items: Iterable[Item], key: Any) -> XdmArray:
    return XdmArray(_found(items, key))


def _found(items: Iterable[Item], key: Any) -> Iterator[Iterable[Item]]:
    for item in items:
        if isinstance(item, XdmArray):
            for member in item.members:
                yield from _found(member, key)
        elif isinstance(item, XdmMap):
            value = item.get(key)
            if value is not None:
                yield value
            for _, inner in item.items():
                yield from _found(inner, key)


@function("map:put(map(*), xs:anyAtomicType, item()*) as map(*)")
def put(call: CallContext, subject: XdmMap, key: Any, value: Iterable[Item]) -> XdmMap:
    return subject.put(key, value)


@function("map:entry(xs:anyAtomicType, item()*) as map(*)")
def entry(call: CallContext, key: Any, value: Iterable[Item]) -> XdmMap:
    return XdmMap([(key, value)])


@function("map:remove(map(*), xs:anyAtomicType*) as map(*)")
def remove(call: CallContext, subject: XdmMap, removed: Iterable[Any]) -> XdmMap:
    return subject.remove(removed)


@function("map:for-each(map(*), function(xs:anyAtomicType, item()*) as item()*) as item()*")
def for_each(call: CallContext, subject: XdmMap, action: XdmFunction) -> Iterator[Item]:
    for key, value in subject.items():
        yield from call.apply(action, [key], value)
