"""The streams and documents that a query is given."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from xcql.diagnostics import Diagnostic, error, warning
from xcql.history.stream import plain_view, stream_view
from xcql.model.time import to_utc
from xcql.xdm.nodes import DocumentNode


def open_streams(
    streams: Mapping[str, Any], now: datetime.datetime, warnings: list[Diagnostic]
) -> dict[str, Callable[[], DocumentNode]]:
    """For each stream, a function that returns its view, which is built once, at the first use.

    Problems in the fragments are added to the warnings.
    """
    return {
        name: cache(partial(_view, given, now, name, warnings)) for name, given in streams.items()
    }


def _view(
    given: Any, now: datetime.datetime, name: str, warnings: list[Diagnostic]
) -> DocumentNode:
    """The temporal view of fragments with their tags, or a plain document, which has no history.

    If it is a function, the function returns the document.
    """
    if callable(given):
        given = given()
    if isinstance(given, tuple):
        if len(given) != 2:
            raise error(
                "XCQL0006", f"the stream '{name}' must be a pair of fragments and tags, or XML"
            )
        view = stream_view(given[0], given[1], to_utc(now))
        warnings += view.warnings
        warnings += (
            warning(
                "XCQL0007",
                f"stream '{name}': a fragment was left out ({rejected.file}, byte"
                f" {rejected.offset}): {rejected.reason}",
            )
            for rejected in view.rejected
        )
        return view.document
    return as_document(given, f"stream '{name}'")


def as_document(given: Any, what: str = "document") -> DocumentNode:
    """A document from XML text, a path, or a node."""
    if isinstance(given, DocumentNode):
        return given
    if isinstance(given, (str, bytes, Path)):
        return plain_view(given).document
    raise error("XCQL0006", f"the {what} must be XML text or a path")
