"""What an engine does: it runs compiled queries over the tables of one commit of a store.

An engine has a SQL dialect. It gets a `Question`: the SQL text of a query in that dialect, with
everything the text needs. It returns Arrow batches.

Tests: tests/runtime/answers, tests/runtime/embedded
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from xcql.check import Checked
from xcql.compile.result import Compiled
from xcql.compile.terms.leaf_types import Place
from xcql.dialects.dialect import Dialect
from xcql.shred.assembly import Copy
from xcql_runtime.evaluator.answering import Surroundings, Task
from xcql_runtime.store_reader import PinnedStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Question:
    """A query that has passed all static checks, and everything that an engine needs to answer it.

    `compiled` is None if the reference evaluator has to answer the query (CaQ). `frames` are the
    external variables that are DataFrames.
    """

    query: Checked
    store: PinnedStore
    around: Surroundings
    frames: Mapping[str, DataFrame]
    compiled: Compiled | None

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams of the store that the query may read, and that of its context item."""
        named = self.query.streams
        return tuple(
            name
            for name in sorted(self.store.state.streams)
            if named is None or name in named or name == self.query.context
        )

    def task(self) -> Task:
        """The work of the reference evaluator, if it has to answer the query."""
        known = {name: stream.tags for name, stream in self.store.state.streams.items()}
        return Task(self.around, self.streams, tuple(self.frames), known)


class Engine(Protocol):
    """Runs queries. Its errors are `XcqlError`s, except for `NeedsEvaluator`."""

    @property
    def name(self) -> str: ...

    @property
    def dialect(self) -> Dialect: ...

    def rows(self, question: Question, limit: int | None = None) -> Iterator[pa.RecordBatch]:
        """The answer in its order: `item`, `vtFrom`, `vtTo`; as many rows as `limit` allows."""

    def items(self, question: Question) -> list[str]:
        """All items of the answer in its order."""

    def count(self, question: Question) -> int:
        """The number of items."""

    def write_parquet(self, question: Question, types: Mapping[Place, str], folder: Path) -> None:
        """Write the answer as a table (see `answers.records`) into a new folder."""

    def copies(
        self, store: PinnedStore, stream: str, now: datetime, at: datetime | None = None
    ) -> Iterator[Copy]:
        """The copies of fillers in a view, or in the document `at` an instant, by their keys."""


def items_in_order(table: pa.Table) -> list[str]:
    """The items of `Compiled.items`, sorted by their keys; NULLs come first."""
    keys: dict[str, pa.ChunkedArray] = {}
    for name in table.column_names:
        if name.startswith("key_"):
            if table[name].null_count:
                keys[f"has_{name}"] = table[name].is_valid()
            keys[name] = table[name]
    items = table["item"]
    if keys:
        order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
        items = items.take(order)
    found: list[str] = items.to_pylist()
    return found
