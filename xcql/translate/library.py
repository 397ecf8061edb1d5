"""The XQuery library that translated queries call, wherever XCQL is installed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_NAME = "xcql.xqm"
_PLACES = (
    # its place in the wheel, and in the source tree
    Path(__file__).parent / _NAME,
    Path(__file__).parent.parent.parent / "runtime" / "xquery" / _NAME,
)


def library_path() -> Path:
    """The file of the library, for `import module namespace xcql = "urn:xcql" at "..."`."""
    return next(place for place in _PLACES if place.is_file())


@cache
def library_text() -> str:
    return library_path().read_text(encoding="utf-8")
