"""Functions on arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xcql.algebra.scalars import Constant
from xcql.analysis.names import FUNCTIONS
from xcql.compile.functions.sequences import filtered
from xcql.compile.functions.sequences import native as sequences
from xcql.compile.library.function_items import applied
from xcql.compile.library.maps import entry_of, known_items
from xcql.compile.library.several_kinds import as_one_kind
from xcql.compile.result import NotNative
from xcql.compile.terms.items import COLLECTIONS, ArrayItem, Atomic, ItemArray
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.values import EMPTY, Single, Value, atomic, concat, count, each, leaves

native = NativeFunctions()
ARRAY = f"{FUNCTIONS}/array"


def _array(value: Value, site: CallSite) -> ArrayItem | ItemArray:
    match value:
        case Single(item=ArrayItem() | ItemArray() as found):
            return found
    raise NotNative("an array that is known only when the query runs", site.span)


def _known(site: CallSite) -> tuple[Value, ...]:
    """The members, if they are known."""
    found = _array(site.arguments[0], site)
    if not isinstance(found, ArrayItem):
        raise NotNative("an array that is known only when the query runs", site.span)
    return found.members


def _as_items(site: CallSite) -> Value:
    """The members as one sequence, if each of them is one item."""
    found = _array(site.arguments[0], site)
    if isinstance(found, ItemArray):
        return found.items
    if not all(isinstance(member, Single) for member in found.members):
        raise NotNative("an array of sequences", site.span)
    return concat(found.members)


def _as_sequence(site: CallSite, name: str) -> Value:
    """The result of a function on sequences for the members of the array."""
    function = sequences[FUNCTIONS, name, len(site.arguments)]
    return function(replace(site, arguments=(_as_items(site), *site.arguments[1:])))


@native("get", 2, uri=ARRAY)
def _member(site: CallSite) -> Value:
    return entry_of(_array(site.arguments[0], site), site.arguments[1], site.scope, site.span)


@native("size", 1, uri=ARRAY)
def _length(site: CallSite) -> Value:
    found = _array(site.arguments[0], site)
    if isinstance(found, ItemArray):
        return Single(Atomic(count(found.items), "xs:integer"))
    return atomic(len(found.members), "xs:integer")


@native("head", 1, uri=ARRAY)
def _head(site: CallSite) -> Value:
    first = Single(Atomic(Constant(1), "xs:integer"))
    return entry_of(_array(site.arguments[0], site), first, site.scope, site.span)


@native("tail", 1, uri=ARRAY)
def _tail(site: CallSite) -> Value:
    members = _known(site)
    if not members:
        raise NotNative("the tail of an array without members", site.span)
    return Single(ArrayItem(members[1:]))


@native("append", 2, uri=ARRAY)
def _append(site: CallSite) -> Value:
    found = _array(site.arguments[0], site)
    if isinstance(found, ArrayItem):
        return Single(ArrayItem((*found.members, site.arguments[1])))
    if not isinstance(site.arguments[1], Single):
        raise NotNative("an array of sequences", site.span)
    return Single(ItemArray(concat([found.items, site.arguments[1]])))


@native("join", 1, uri=ARRAY)
def _join(site: CallSite) -> Value:
    arrays = [_array(one, site) for one in known_items(site.arguments[0], site.span)]
    if all(isinstance(one, ArrayItem) for one in arrays):
        return Single(ArrayItem(tuple(member for one in arrays for member in one.members)))  # type: ignore[union-attr]
    parts = [_as_items(replace(site, arguments=(Single(one),))) for one in arrays]
    return Single(ItemArray(concat(parts)))


@native("reverse", 1, uri=ARRAY)
def _reversed(site: CallSite) -> Value:
    found = _array(site.arguments[0], site)
    if isinstance(found, ArrayItem):
        return Single(ArrayItem(tuple(reversed(found.members))))
    return Single(ItemArray(_as_sequence(site, "reverse")))


@native("flatten", 1, uri=ARRAY)
def _flatten(site: CallSite) -> Value:
    return _flat(site.arguments[0], site)


def _flat(value: Value, site: CallSite) -> Value:
    """The items of a value, with the members of arrays instead of the arrays."""
    if not any(isinstance(leaf.item, COLLECTIONS) for leaf in leaves(value)):
        return value
    parts: list[Value] = []
    for one in known_items(value, site.span):
        match one:
            case Single(item=ArrayItem(members=members)):
                parts += [_flat(member, site) for member in members]
            case Single(item=ItemArray(items=items)):
                parts.append(_flat(items, site))
            case _:
                parts.append(one)
    return concat(parts)


@native("for-each", 2, uri=ARRAY)
def _for_each_member(site: CallSite) -> Value:
    found = _array(site.arguments[0], site)
    code = site.arguments[1]
    if isinstance(found, ArrayItem):
        members = (applied(code, [one], site.scope, site.span) for one in found.members)
        return Single(ArrayItem(tuple(members)))
    plan, member = as_one_kind(found.items, site.scope, site.span)
    result = applied(code, [member], site.scope.within(plan), site.span)
    if not isinstance(result, Single):
        raise NotNative("an array of sequences", site.span)
    return Single(ItemArray(each(plan, result)))


@native("filter", 2, uri=ARRAY)
def _filter(site: CallSite) -> Value:
    items = _as_items(site)
    return Single(ItemArray(EMPTY if items == EMPTY else filtered(items, site.arguments[1], site)))


@native("sort", 1, 2, 3, uri=ARRAY)
def _sort(site: CallSite) -> Value:
    return Single(ItemArray(_as_sequence(site, "sort")))


def _fold(name: str, order: Callable[[Value, Value], list[Value]]) -> None:
    @native(name, 3, uri=ARRAY)
    def fold(site: CallSite) -> Value:
        _, result, code = site.arguments
        members = _known(site)
        for member in members if name == "fold-left" else reversed(members):
            result = applied(code, order(result, member), site.scope, site.span)
        return result


_fold("fold-left", lambda result, member: [result, member])
_fold("fold-right", lambda result, member: [member, result])
