"""Maps and arrays whose keys are known when the query is compiled."""

from __future__ import annotations

from xcql.algebra.scalars import FALSE, Constant, Scalar, call
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import NUMBERS, STRINGS
from xcql.compile.library.comparisons import compared
from xcql.compile.result import NotNative
from xcql.compile.terms.items import ArrayItem, Atomic, Item, MapItem
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import EMPTY, Concat, Single, Value, guarded
from xcql.source import Span


def known_items(value: Value, span: Span) -> list[Value]:
    """The items of a sequence whose length is known at compile time."""
    match value:
        case Single():
            return [value]
        case Concat(values=several, exclusive=False):
            return [item for one in several for item in known_items(one, span)]
    raise NotNative("a sequence whose length is known only when the query runs", span)


def known_key(value: Value, scope: Scope, span: Span) -> Atomic:
    item = one_atomic(value, scope, span) if isinstance(value, Single) else None
    if item is None or not isinstance(item.scalar, Constant) or not _is_plain(item):
        raise NotNative("a key that is known only when the query runs", span)
    return item


def _is_plain(item: Atomic) -> bool:
    return item.type in STRINGS or item.type in ("xs:integer", "xs:boolean")


def is_same_key(a: Atomic, b: Atomic) -> bool:
    family = (a.type in STRINGS, a.type)[: 1 if a.type in STRINGS else 2]
    other = (b.type in STRINGS, b.type)[: 1 if b.type in STRINGS else 2]
    return family == other and a.scalar == b.scalar


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
    if isinstance(a.scalar, Constant) and a.type == b.type:
        return Constant(a.scalar == b.scalar)
    return compared("=", a, b, scope, span)
