"""Shortcuts to check how a query is parsed."""

from __future__ import annotations

import pytest

from xcql import XcqlError, emit, parse
from xcql.syntax.node import Expr


def canonical(query: str) -> str:
    """The canonical text of a query, which shows how it was parsed."""
    return emit(parse(query))


def body(query: str) -> Expr:
    """The syntax tree of a main module's answer."""
    return parse(query).body  # type: ignore[union-attr]


def rejected(query: str, code: str = "XPST0003") -> XcqlError:
    """The error of a query that must not parse; checks its code and position."""
    with pytest.raises(XcqlError) as caught:
        parse(query)
    assert caught.value.code == code, str(caught.value)
    assert caught.value.line is not None
    assert caught.value.column is not None
    return caught.value
