"""Answers in a form in which they can be compared."""

from __future__ import annotations

from collections.abc import Iterable

from xcql.diagnostics import XcqlError
from xcql.xdm.parse import parse_xml
from xcql.xdm.serialize import canonical


def same_form(items: Iterable[str]) -> list[str]:
    """Items in canonical form, each by itself."""
    return [_canonical(item) for item in items]


def _canonical(item: str) -> str:
    try:
        return canonical(parse_xml(f"<item>{item}</item>"))
    except XcqlError:  # an attribute by itself
        return item
