"""A higher recursion limit for deep trees."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Python's frames live on the heap; this many take a few tens of megabytes
_LIMIT = 25_000


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Raise Python's recursion limit while a tree is walked, and restore it afterwards."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
