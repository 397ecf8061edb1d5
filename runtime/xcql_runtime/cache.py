"""A cache between the queries of a session, so that repeated queries are faster.

A repeated query is not parsed and compiled again; on Spark its plan, and the tables that it reads,
are reused. The next commit of the store clears all caches except that of checked queries.

Tests: tests/runtime/answers/test_settled.py
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    """A bounded cache by key; it is cleared when the value that its entries are `of` changes.

    >>> squares = Cache[int](most=2)
    >>> squares.get("numbers", 4, lambda: 16), squares.get("numbers", 4, lambda: -1)
    (16, 16)
    >>> squares.get("others", 4, lambda: -1)
    -1
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # one tuple, so that no thread sees one part updated without the other
        self._values: tuple[Any, dict[Hashable, V]] = None, {}

    def get(self, of: Any, key: Hashable, make: Callable[[], V]) -> V:
        """The value for a key, made if missing; the oldest entry makes room for a new one."""
        values = self._values
        if values[0] != of:
            values = self._values = of, {}
        known = values[1]
        if key in known:
            return known[key]
        made = make()
        if len(known) >= self._most:
            known.pop(next(iter(known)), None)
        known[key] = made
        return made

    def clear(self) -> None:
        """Drop all values."""
        self._values = None, {}
