"""Maps and arrays. Those whose keys are known are resolved when the query is compiled.

`map { "EUR" : 1.1 }($t/currency)` becomes a choice among the values, by the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from xcql.compile.library.maps import (
    entry_of,
    is_same_key,
    known_items,
    known_key,
    members_of,
    one_entry,
)
from xcql.compile.result import NotNative
from xcql.compile.terms.items import ArrayItem, Atomic, Item, ItemArray, MapItem
from xcql.compile.terms.mapping import mapped_within
from xcql.compile.terms.scope import CompileExpression, Scope, value_of
from xcql.compile.terms.values import Single, Value
from xcql.source import Span
from xcql.syntax.construct import CurlyArray, MapConstructor, SquareArray
from xcql.syntax.node import Expr
from xcql.syntax.path import AnyKey, Lookup, UnaryLookup


def _map(expr: MapConstructor, scope: Scope) -> Value:
    if len(expr.entries) == 1:
        (entry,) = expr.entries
        key, value = value_of(entry.key, scope), value_of(entry.value, scope)
        return Single(one_entry(key, value, scope, entry.key.span))
    keys: list[Atomic] = []
    for entry in expr.entries:
        known = known_key(value_of(entry.key, scope), scope, entry.key.span)
        if known is None:
            raise NotNative("a key that is known only when the query runs", entry.key.span)
        if any(is_same_key(known, other) for other in keys):
            raise NotNative("a duplicate key", entry.key.span)
        keys.append(known)
    values = tuple(value_of(entry.value, scope) for entry in expr.entries)
    return Single(MapItem(tuple(keys), values))


def _array(expr: SquareArray, scope: Scope) -> Value:
    return Single(ArrayItem(tuple(value_of(member, scope) for member in expr.members)))


def _array_of_items(expr: CurlyArray, scope: Scope) -> Value:
    items = value_of(expr.content, scope)
    with suppress(NotNative):
        return Single(ArrayItem(tuple(known_items(items, expr.span))))
    return Single(ItemArray(items))


def _lookup(expr: Lookup, scope: Scope) -> Value:
    return _looked_up(value_of(expr.base, scope), expr.key, scope, expr.span)


def _unary_lookup(expr: UnaryLookup, scope: Scope) -> Value:
    if scope.context is None:
        raise NotNative("there is no context item", expr.span)
    return _looked_up(scope.context, expr.key, scope, expr.span)


def _looked_up(base: Value, key: Expr, scope: Scope, span: Span) -> Value:
    if isinstance(key, AnyKey):
        return mapped_within(base, scope, lambda item, inside: members_of(item, inside, span))
    keys = value_of(key, scope)

    def found(item: Item, inside: Scope) -> Value:
        return mapped_within(
            keys, inside, lambda wanted, within: entry_of(item, Single(wanted), within, key.span)
        )

    return mapped_within(base, scope, found)


EXPRESSIONS: Mapping[type, CompileExpression] = {
    MapConstructor: _map,
    SquareArray: _array,
    CurlyArray: _array_of_items,
    Lookup: _lookup,
    UnaryLookup: _unary_lookup,
}
