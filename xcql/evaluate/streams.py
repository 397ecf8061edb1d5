"""The streams and documents that a query is given."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from xcql.diagnostics import error
from xcql.evaluate.python_values import read_document
from xcql.xdm.nodes import DocumentNode
from xcql.xdm.parse import parse_xml

# what may stand before the first tag of an XML text
_BLANKS = "\ufeff \t\r\n"


def open_streams(
    streams: Mapping[str, Any], now: datetime.datetime
) -> dict[str, Callable[[], DocumentNode]]:
    """For each stream, how to get its view; it is built at the first use, once."""
    return {name: cache(partial(_view, given, now, name)) for name, given in streams.items()}


def _view(given: Any, now: datetime.datetime, name: str) -> DocumentNode:
    """The temporal view of fragments with their tags, or a plain document, which has no history."""
    if isinstance(given, tuple):
        raise NotImplementedError
    return as_document(given, f"stream {name}")


def as_document(given: Any, what: str = "document") -> DocumentNode:
    """A document from XML text, a path, or a node."""
    if isinstance(given, DocumentNode):
        return given
    if isinstance(given, Path):
        return read_document(given)
    if isinstance(given, bytes) or (isinstance(given, str) and given.lstrip(_BLANKS)[:1] == "<"):
        return parse_xml(given, f"<{what}>")
    if isinstance(given, str):
        return read_document(Path(given))
    raise error("XCQL0006", f"the {what} must be XML text or a path")
