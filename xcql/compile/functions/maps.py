"""Functions on maps and arrays whose keys are known."""

from __future__ import annotations

from xcql.algebra.scalars import Constant, disjunction
from xcql.analysis.names import FUNCTIONS
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.function_items import applied
from xcql.compile.library.maps import entry_of, is_equal_key, is_same_key, known_items, known_key
from xcql.compile.result import NotNative
from xcql.compile.terms.items import ArrayItem, Atomic, MapItem
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.values import Single, Value, concat

native = NativeFunctions()
MAP = f"{FUNCTIONS}/map"
ARRAY = f"{FUNCTIONS}/array"


def _map_argument(site: CallSite, number: int = 0) -> MapItem:
    match site.arguments[number]:
        case Single(item=MapItem() as found):
            return found
    raise NotNative("a map that is known only when the query runs", site.span)


def _array_argument(site: CallSite) -> ArrayItem:
    match site.arguments[0]:
        case Single(item=ArrayItem() as found):
            return found
    raise NotNative("an array that is known only when the query runs", site.span)


def _integer(number: int) -> Value:
    return Single(Atomic(Constant(number), "xs:integer"))


@native("get", 2, uri=MAP)
def _get(site: CallSite) -> Value:
    return entry_of(_map_argument(site), site.arguments[1], site.scope, site.span)


@native("size", 1, uri=MAP)
def _size(site: CallSite) -> Value:
    return _integer(len(_map_argument(site).keys))


@native("keys", 1, uri=MAP)
def _keys(site: CallSite) -> Value:
    return concat([Single(key) for key in _map_argument(site).keys])


@native("contains", 2, uri=MAP)
def _contains(site: CallSite) -> Value:
    known = _map_argument(site)
    key = one_atomic(site.arguments[1], site.scope, site.span)
    if key is None or not isinstance(site.arguments[1], Single):
        raise NotNative("a key that may be empty", site.span)
    found = [is_equal_key(key, one, site.scope, site.span) for one in known.keys]
    return Single(Atomic(disjunction(*found), "xs:boolean"))


@native("entry", 2, uri=MAP)
def _entry(site: CallSite) -> Value:
    key = known_key(site.arguments[0], site.scope, site.span)
    return Single(MapItem((key,), (site.arguments[1],)))


@native("put", 3, uri=MAP)
def _put(site: CallSite) -> Value:
    known = _map_argument(site)
    key = known_key(site.arguments[1], site.scope, site.span)
    if any(is_same_key(key, one) for one in known.keys):
        raise NotNative("another value for a key", site.span)
    return Single(MapItem((*known.keys, key), (*known.values, site.arguments[2])))


@native("merge", 1, uri=MAP)
def _merge(site: CallSite) -> Value:
    """Merge maps; the first of several values for a key wins."""
    keys: list[Atomic] = []
    values: list[Value] = []
    for one in known_items(site.arguments[0], site.span):
        assert isinstance(one, Single)
        if not isinstance(one.item, MapItem):
            raise NotNative("a map that is known only when the query runs", site.span)
        for key, value in zip(one.item.keys, one.item.values, strict=True):
            if not any(is_same_key(key, other) for other in keys):
                keys.append(key)
                values.append(value)
    return Single(MapItem(tuple(keys), tuple(values)))


@native("for-each", 2, uri=MAP)
def _for_each_entry(site: CallSite) -> Value:
    known = _map_argument(site)
    return concat(
        [
            applied(site.arguments[1], [Single(key), value], site.scope, site.span)
            for key, value in zip(known.keys, known.values, strict=True)
        ]
    )


@native("get", 2, uri=ARRAY)
def _member(site: CallSite) -> Value:
    return entry_of(_array_argument(site), site.arguments[1], site.scope, site.span)


@native("size", 1, uri=ARRAY)
def _length(site: CallSite) -> Value:
    return _integer(len(_array_argument(site).members))


@native("head", 1, uri=ARRAY)
def _head(site: CallSite) -> Value:
    members = _array_argument(site).members
    if not members:
        raise NotNative("the head of an array without members", site.span)
    return members[0]


@native("tail", 1, uri=ARRAY)
def _tail(site: CallSite) -> Value:
    members = _array_argument(site).members
    if not members:
        raise NotNative("the tail of an array without members", site.span)
    return Single(ArrayItem(members[1:]))


@native("append", 2, uri=ARRAY)
def _append(site: CallSite) -> Value:
    return Single(ArrayItem((*_array_argument(site).members, site.arguments[1])))


@native("join", 1, uri=ARRAY)
def _join(site: CallSite) -> Value:
    members: list[Value] = []
    for one in known_items(site.arguments[0], site.span):
        if not isinstance(one, Single) or not isinstance(one.item, ArrayItem):
            raise NotNative("an array that is known only when the query runs", site.span)
        members += one.item.members
    return Single(ArrayItem(tuple(members)))


@native("reverse", 1, uri=ARRAY)
def _reversed(site: CallSite) -> Value:
    return Single(ArrayItem(tuple(reversed(_array_argument(site).members))))


@native("for-each", 2, uri=ARRAY)
def _for_each_member(site: CallSite) -> Value:
    return Single(
        ArrayItem(
            tuple(
                applied(site.arguments[1], [member], site.scope, site.span)
                for member in _array_argument(site).members
            )
        )
    )
