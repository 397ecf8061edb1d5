"""What a session keeps in mind from one query to the next, so that the second time is sooner.

A query that was asked before is not parsed and compiled again; what Spark has analysed of it, and
the tables that it reads, are there. All of it is forgotten with the next commit of the store.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Generic, TypeVar

from pyspark.sql import DataFrame

from xcql.compile import Compiled
from xcql.syntax.prolog import MainModule
from xcql_runtime.tables import OpenTables

V = TypeVar("V")


class Remembered(Generic[V]):
    """Values that are made once for each key, as long as what they are `of` stays the same.

    >>> squares = Remembered[int](most=2)
    >>> squares.get("numbers", 4, lambda: 16), squares.get("numbers", 4, lambda: -1)
    (16, 16)
    >>> squares.get("others", 4, lambda: -1)
    -1
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._of: Any = None
        self._known: dict[Hashable, V] = {}

    def get(self, of: Hashable, key: Hashable, make: Callable[[], V]) -> V:
        """The value for a key; of many, the first that came goes first."""
        if self._of != of:
            self._known, self._of = {}, of
        known = self._known
        if key not in known:
            made = make()
            if len(known) >= self._most:
                known.pop(next(iter(known)), None)
            known[key] = made
        return known[key]


class Memory:
    """What one session remembers."""

    def __init__(self, store: Path) -> None:
        self.modules = Remembered[MainModule](200)
        self.compiled = Remembered[tuple[Compiled | None, tuple[str, ...]]](200)
        # plans of Spark are large, and hold its driver's memory
        self.frames = Remembered[DataFrame](50)
        self.tables = OpenTables(store)
