"""Values with each item replaced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xcql.compile.terms.items import Item
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Concat, Each, Merged, Single, Value, apart, each


def mapped_items(value: Value, change: Callable[[Item], Item]) -> Value:
    """The value with the same plans but other items."""
    match value:
        case Single(item=item):
            return Single(change(item))
        case Each(value=inner):
            return replace(value, value=mapped_items(inner, change), is_path=False)
        case Concat(values=several) | Merged(values=several):
            return replace(value, values=tuple(mapped_items(one, change) for one in several))
    raise AssertionError(value)


def mapped(value: Value, change: Callable[[Item], Value], is_path: bool = False) -> Value:
    """The value with a sequence in place of each item.

    With `is_path`, each item becomes at most one node, and the nodes are in the order of the items.
    """
    match value:
        case Single(item=item):
            return change(item)
        case Each(value=inner):
            kept = is_path and value.is_path
            return replace(value, value=mapped(inner, change, is_path), is_path=kept)
        case Concat(values=several) | Merged(values=several):
            return replace(value, values=tuple(mapped(one, change, is_path) for one in several))
    raise AssertionError(value)


def mapped_within(value: Value, scope: Scope, change: Callable[[Item, Scope], Value]) -> Value:
    """The value with a sequence in place of each item, made in the scope of the item's tuple."""
    match value:
        case Single(item=item):
            return change(item, scope)
        case Each():
            value = apart(value, scope.taken)
            assert isinstance(value, Each)
            inside = scope.within(value.plan)
            return each(value.plan, mapped_within(value.value, inside, change))
        case Concat(values=several) | Merged(values=several):
            parts = (mapped_within(one, scope, change) for one in several)
            return replace(value, values=tuple(parts))
    raise AssertionError(value)
