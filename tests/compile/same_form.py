"""Answers in a comparable form."""

from __future__ import annotations

from collections.abc import Iterable

from xcql.diagnostics import XcqlError
from xcql.xdm.parse import parse_xml
from xcql.xdm.serialize import canonical


def same_form(items: Iterable[str]) -> list[str]:
    """Items in canonical form, one by one."""
    return [_canonical(item) for item in items]


def _canonical(item: str) -> str:
    try:
        return canonical(parse_xml(f"<item>{item}</item>"))
    except XcqlError:  # a standalone attribute
        return item
