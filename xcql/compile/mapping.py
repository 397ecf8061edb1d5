"""A value with each of its items changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xcql.compile.items import Item
from xcql.compile.values import Concat, Each, Merged, Single, Value


def mapped_items(value: Value, change: Callable[[Item], Item]) -> Value:
    """The value with the same plans and other items."""
    match value:
        case Single(item=item):
            return Single(change(item))
        case Each(value=inner):
            return replace(value, value=mapped_items(inner, change), is_path=False)
        case Concat(values=several) | Merged(values=several):
            return replace(value, values=tuple(mapped_items(one, change) for one in several))
    raise AssertionError(value)


def mapped(value: Value, change: Callable[[Item], Value]) -> Value:
    """The value with a sequence in place of each item."""
    match value:
        case Single(item=item):
            return change(item)
        case Each(value=inner):
            return replace(value, value=mapped(inner, change), is_path=False)
        case Concat(values=several) | Merged(values=several):
            return replace(value, values=tuple(mapped(one, change) for one in several))
    raise AssertionError(value)
