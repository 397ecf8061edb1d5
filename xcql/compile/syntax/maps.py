"""Maps and arrays whose keys are known: they are resolved when the query is compiled.

`map { "EUR" : 1.1 }($t/currency)` becomes a choice among the values, by the key.
"""

from __future__ import annotations

from collections.abc import Mapping

from xcql.compile.library.maps import entry_of, is_same_key, known_items, known_key
from xcql.compile.result import NotNative
from xcql.compile.terms.items import ArrayItem, Atomic, Item, MapItem
from xcql.compile.terms.scope import CompileExpression, Scope, value_of
from xcql.compile.terms.values import Single, Value, concat
from xcql.source import Span
from xcql.syntax.construct import CurlyArray, MapConstructor, SquareArray
from xcql.syntax.node import Expr
from xcql.syntax.path import AnyKey, Lookup, UnaryLookup


def _map(expr: MapConstructor, scope: Scope) -> Value:
    keys: list[Atomic] = []
    for entry in expr.entries:
        key = known_key(value_of(entry.key, scope), scope, entry.key.span)
        if any(is_same_key(key, other) for other in keys):
            raise NotNative("a duplicate key", entry.key.span)
        keys.append(key)
    values = tuple(value_of(entry.value, scope) for entry in expr.entries)
    return Single(MapItem(tuple(keys), values))


def _array(expr: SquareArray, scope: Scope) -> Value:
    return Single(ArrayItem(tuple(value_of(member, scope) for member in expr.members)))


def _array_of_items(expr: CurlyArray, scope: Scope) -> Value:
    items = known_items(value_of(expr.content, scope), expr.span)
    return Single(ArrayItem(tuple(items)))


def _lookup(expr: Lookup, scope: Scope) -> Value:
    return _looked_up(value_of(expr.base, scope), expr.key, scope, expr.span)


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
    raise NotNative("a lookup in an unknown map or array", span)


EXPRESSIONS: Mapping[type, CompileExpression] = {
    MapConstructor: _map,
    SquareArray: _array,
    CurlyArray: _array_of_items,
    Lookup: _lookup,
    UnaryLookup: _unary_lookup,
}
