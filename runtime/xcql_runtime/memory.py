"""What a session keeps in mind from one query to the next, so that the second time is sooner.

A query that was asked before is not parsed and compiled again; what Spark has analysed of it, and
the tables that it reads, are there. All of it is forgotten with the next commit of the store.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame

from xcql.check import Checked
from xcql.compile import Compiled
from xcql_runtime.remembered import Remembered
from xcql_runtime.tables import OpenTables


class Memory:
    """What one session remembers."""

    def __init__(self, store: Path) -> None:
        self.checked = Remembered[Checked](200)
        self.compiled = Remembered[tuple[Compiled | None, tuple[str, ...]]](200)
        # plans of Spark are large, and hold its driver's memory
        self.frames = Remembered[Callable[[], DataFrame]](50)
        self.tables = OpenTables(store)
