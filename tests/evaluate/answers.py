"""Shortcuts to evaluate queries in tests."""

from __future__ import annotations

from typing import Any

import xcql


def answer(query: str, context: Any = None, **options: Any) -> str:
    """The items of the answer as XML text, separated by spaces."""
    return xcql.evaluate(query, context, **options).serialize(" ")


def failure(query: str, context: Any = None, **options: Any) -> xcql.XcqlError:
    """The error that a query raises."""
    try:
        found = answer(query, context, **options)
    except xcql.XcqlError as problem:
        return problem
    raise AssertionError(f"no error, but the answer {found}")
