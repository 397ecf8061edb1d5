"""Maps and arrays whose keys are known: they are taken apart when the query is compiled.

`map { "EUR" : 1.1 }($t/currency)` becomes a choice among the values, by the key.
"""

from __future__ import annotations

from xcql.algebra.scalars import FALSE, Constant, Scalar, call, disjunction
from xcql.analysis.names import FUNCTIONS
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import NUMBERS, STRINGS
from xcql.compile.library.comparisons import compared
from xcql.compile.result import NotNative
from xcql.compile.syntax.calls import CallSite, applied, function
from xcql.compile.terms.items import ArrayItem, Atomic, Item, MapItem
from xcql.compile.terms.scope import Scope, compiles, value_of
from xcql.compile.terms.values import EMPTY, Concat, Single, Value, concat, guarded
from xcql.source import Span
from xcql.syntax.construct import CurlyArray, MapConstructor, SquareArray
from xcql.syntax.node import Expr
from xcql.syntax.path import AnyKey, Lookup, UnaryLookup

MAP, ARRAY = f"{FUNCTIONS}/map", f"{FUNCTIONS}/array"


@compiles(MapConstructor)
def _map(expr: MapConstructor, scope: Scope) -> Value:
    keys: list[Atomic] = []
    for entry in expr.entries:
        key = _known_key(value_of(entry.key, scope), scope, entry.key.span)
        if any(_is_same(key, other) for other in keys):
            raise NotNative("a key that comes twice", entry.key.span)
        keys.append(key)
    values = tuple(value_of(entry.value, scope) for entry in expr.entries)
    return Single(MapItem(tuple(keys), values))


@compiles(SquareArray)
def _array(expr: SquareArray, scope: Scope) -> Value:
    return Single(ArrayItem(tuple(value_of(member, scope) for member in expr.members)))


@compiles(CurlyArray)
def _array_of_items(expr: CurlyArray, scope: Scope) -> Value:
    items = known_items(value_of(expr.content, scope), expr.span)
    return Single(ArrayItem(tuple(items)))


def known_items(value: Value, span: Span) -> list[Value]:
    """The items of a sequence whose length is known now."""
    match value:
        case Single():
            return [value]
        case Concat(values=several, exclusive=False):
            return [item for one in several for item in known_items(one, span)]
    raise NotNative("a sequence whose length is known only when the query runs", span)


def _known_key(value: Value, scope: Scope, span: Span) -> Atomic:
    item = one_atomic(value, scope, span) if isinstance(value, Single) else None
    if item is None or not isinstance(item.scalar, Constant) or not _is_plain(item):
        raise NotNative("a key that is known only when the query runs", span)
    return item


def _is_plain(item: Atomic) -> bool:
    return item.type in STRINGS or item.type in ("xs:integer", "xs:boolean")


def _is_same(a: Atomic, b: Atomic) -> bool:
    family = (a.type in STRINGS, a.type)[: 1 if a.type in STRINGS else 2]
    other = (b.type in STRINGS, b.type)[: 1 if b.type in STRINGS else 2]
    return family == other and a.scalar == b.scalar


# looking up


@compiles(Lookup)
def _lookup(expr: Lookup, scope: Scope) -> Value:
    return _looked_up(value_of(expr.base, scope), expr.key, scope, expr.span)


@compiles(UnaryLookup)
def _unary_lookup(expr: UnaryLookup, scope: Scope) -> Value:
    if scope.context is None:
        raise NotNative("there is no context item", expr.span)
    return _looked_up(scope.context, expr.key, scope, expr.span)


def _looked_up(base: Value, key: Expr, scope: Scope, span: Span) -> Value:
    found: list[Value] = []
    for one in known_items(base, span):
        assert isinstance(one, Single)
        if isinstance(key, AnyKey):
            found += _collection(one.item, span)[1]
            continue
        for wanted in known_items(value_of(key, scope), key.span):
            found.append(entry_of(one.item, wanted, scope, span))
    return concat(found)


def _collection(item: Item, span: Span) -> tuple[Item, tuple[Value, ...]]:
    match item:
        case MapItem(values=values):
            return item, values
        case ArrayItem(members=members):
            return item, members
    raise NotNative("a look-up in what is no map or array that is known", span)


def entry_of(item: Item, wanted: Value, scope: Scope, span: Span) -> Value:
    """The value for a key of a map, or at a position of an array."""
    key = one_atomic(wanted, scope, span)
    if key is None:
        raise NotNative("a key that is empty", span)
    match item:
        case ArrayItem(members=members):
            if key.type != "xs:integer" or not isinstance(key.scalar, Constant):
                raise NotNative("a position that is known only when the query runs", span)
            position = key.scalar.value
            assert isinstance(position, int)
            if not 1 <= position <= len(members):
                raise NotNative("a position that the array does not have", span)
            return members[position - 1]
        case MapItem(keys=keys, values=values):
            if not isinstance(wanted, Single):
                missing = scope.compilation.error("XPTY0004", "a key that is empty", span)
                key = Atomic(call("coalesce", key.scalar, missing), key.type)
            return _chosen(key, keys, values, scope, span)
    raise NotNative("a look-up in what is no map or array that is known", span)


def _chosen(
    key: Atomic, keys: tuple[Atomic, ...], values: tuple[Value, ...], scope: Scope, span: Span
) -> Value:
    if not (key.type in STRINGS or key.type in NUMBERS or key.type == "xs:boolean"):
        raise NotNative(f"a key of type {key.type}", span)
    found: list[Value] = []
    for known, value in zip(keys, values, strict=True):
        condition = _matches(key, known, scope, span)
        if condition == FALSE or value == EMPTY:
            continue
        found.append(guarded(condition, value))
    if len(found) < 2:
        return found[0] if found else EMPTY
    return Concat(tuple(found), exclusive=True)


def _matches(key: Atomic, known: Atomic, scope: Scope, span: Span) -> Scalar:
    if key.type in STRINGS and known.type in STRINGS:
        pair = (Atomic(one.scalar, "xs:string") for one in (key, known))
    elif (key.type in NUMBERS and known.type in NUMBERS) or key.type == known.type:
        pair = (one for one in (key, known))
    else:
        return FALSE
    a, b = pair
    if isinstance(a.scalar, Constant) and a.type == b.type:
        return Constant(a.scalar == b.scalar)
    return compared("=", a, b, scope, span)


# functions


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


@function("get", 2, uri=MAP)
def _get(site: CallSite) -> Value:
    return entry_of(_map_argument(site), site.arguments[1], site.scope, site.span)


@function("size", 1, uri=MAP)
def _size(site: CallSite) -> Value:
    return _integer(len(_map_argument(site).keys))


@function("keys", 1, uri=MAP)
def _keys(site: CallSite) -> Value:
    return concat([Single(key) for key in _map_argument(site).keys])


@function("contains", 2, uri=MAP)
def _contains(site: CallSite) -> Value:
    known = _map_argument(site)
    key = one_atomic(site.arguments[1], site.scope, site.span)
    if key is None or not isinstance(site.arguments[1], Single):
        raise NotNative("a key that may be empty", site.span)
    found = [_matches(key, one, site.scope, site.span) for one in known.keys]
    return Single(Atomic(disjunction(*found), "xs:boolean"))


@function("entry", 2, uri=MAP)
def _entry(site: CallSite) -> Value:
    key = _known_key(site.arguments[0], site.scope, site.span)
    return Single(MapItem((key,), (site.arguments[1],)))


@function("put", 3, uri=MAP)
def _put(site: CallSite) -> Value:
    known = _map_argument(site)
    key = _known_key(site.arguments[1], site.scope, site.span)
    if any(_is_same(key, one) for one in known.keys):
        raise NotNative("another value for a key", site.span)
    return Single(MapItem((*known.keys, key), (*known.values, site.arguments[2])))


@function("merge", 1, uri=MAP)
def _merge(site: CallSite) -> Value:
    """The first of several values for a key counts."""
    keys: list[Atomic] = []
    values: list[Value] = []
    for one in known_items(site.arguments[0], site.span):
        assert isinstance(one, Single)
        if not isinstance(one.item, MapItem):
            raise NotNative("a map that is known only when the query runs", site.span)
        for key, value in zip(one.item.keys, one.item.values, strict=True):
            if not any(_is_same(key, other) for other in keys):
                keys.append(key)
                values.append(value)
    return Single(MapItem(tuple(keys), tuple(values)))


@function("for-each", 2, uri=MAP)
def _for_each_entry(site: CallSite) -> Value:
    known = _map_argument(site)
    return concat(
        [
            applied(site.arguments[1], [Single(key), value], site.scope, site.span)
            for key, value in zip(known.keys, known.values, strict=True)
        ]
    )


@function("get", 2, uri=ARRAY)
def _member(site: CallSite) -> Value:
    return entry_of(_array_argument(site), site.arguments[1], site.scope, site.span)


@function("size", 1, uri=ARRAY)
def _length(site: CallSite) -> Value:
    return _integer(len(_array_argument(site).members))


@function("head", 1, uri=ARRAY)
def _head(site: CallSite) -> Value:
    members = _array_argument(site).members
    if not members:
        raise NotNative("the head of an array without members", site.span)
    return members[0]


@function("tail", 1, uri=ARRAY)
def _tail(site: CallSite) -> Value:
    members = _array_argument(site).members
    if not members:
        raise NotNative("the tail of an array without members", site.span)
    return Single(ArrayItem(members[1:]))


@function("append", 2, uri=ARRAY)
def _append(site: CallSite) -> Value:
    return Single(ArrayItem((*_array_argument(site).members, site.arguments[1])))


@function("join", 1, uri=ARRAY)
def _join(site: CallSite) -> Value:
    members: list[Value] = []
    for one in known_items(site.arguments[0], site.span):
        if not isinstance(one, Single) or not isinstance(one.item, ArrayItem):
            raise NotNative("an array that is known only when the query runs", site.span)
        members += one.item.members
    return Single(ArrayItem(tuple(members)))


@function("reverse", 1, uri=ARRAY)
def _reversed(site: CallSite) -> Value:
    return Single(ArrayItem(tuple(reversed(_array_argument(site).members))))


@function("for-each", 2, uri=ARRAY)
def _for_each_member(site: CallSite) -> Value:
    return Single(
        ArrayItem(
            tuple(
                applied(site.arguments[1], [member], site.scope, site.span)
                for member in _array_argument(site).members
            )
        )
    )
