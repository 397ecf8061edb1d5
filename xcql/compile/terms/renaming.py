"""Items with their columns renamed: needed where one sequence is gone through twice."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from xcql.algebra.operators import renamed_scalar
from xcql.algebra.scalars import Scalar
from xcql.compile.terms.items import Item, Window
from xcql.compile.terms.values import Value, rename


def renamed_item(item: Item, names: dict[str, str]) -> Item:
    """The item over the renamed columns."""
    changes: dict[str, Any] = {}
    for one in fields(item):
        if one.name == "way":
            # the plan that it was come to by is another one now
            changes["way"] = None
            continue
        old = getattr(item, one.name)
        new = _renamed(old, names)
        if one.name == "row":
            new = names.get(f"{old}.", old)
        if new is not old:
            changes[one.name] = new
    return replace(item, **changes) if changes else item


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, Scalar):
        return renamed_scalar(value, names)
    if isinstance(value, Item):
        return renamed_item(value, names)
    if isinstance(value, Value):
        return rename(value, names)
    if isinstance(value, Window):
        return Window(renamed_scalar(value.begin, names), renamed_scalar(value.end, names))
    if isinstance(value, tuple) and any(isinstance(one, Item | Value | Scalar) for one in value):
        return tuple(_renamed(one, names) for one in value)
    return value
