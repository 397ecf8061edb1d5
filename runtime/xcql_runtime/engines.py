"""The engines of a session, and which of them answers a query.

The embedded engine answers what suits one machine. Spark answers if it was asked for: by name, by a
Spark session, by `XCQL_SPARK`, or by a DataFrame as a variable; or if the query reads too much.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import pyarrow.parquet as pq

from xcql.compile.result import TableUse
from xcql.diagnostics import XcqlError, error
from xcql.store.state import DataFile
from xcql_runtime.embedded.connection import Limits
from xcql_runtime.embedded.engine import EmbeddedEngine
from xcql_runtime.engine import Engine, Question
from xcql_runtime.store_reader import PinnedStore, files_in_use

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from xcql.store.processes import Run
    from xcql_runtime.spark.engine import SparkEngine

EngineName = Literal["auto", "embedded", "spark"]
# how many times its memory a query of one machine may read
_TIMES_MEMORY = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine that answers a query, and why."""

    engine: Engine
    reason: str


class Engines:
    """The engines of a session; each is started when it is needed for the first time."""

    def __init__(
        self, asked: str | None, spark: SparkSession | None, limits: Limits, *, verbose: bool
    ) -> None:
        self.ask_for(asked or os.environ.get("XCQL_ENGINE") or "auto")
        self._given = spark
        self._verbose = verbose
        self._limits = limits

    def ask_for(self, name: str) -> None:
        """Request an engine by its name, or `auto`."""
        if name not in get_args(EngineName):
            raise unknown_choice("engine", name, get_args(EngineName))
        self.asked = name

    @cached_property
    def embedded(self) -> EmbeddedEngine:
        return EmbeddedEngine(self._limits)

    @cached_property
    def spark(self) -> SparkEngine:
        # Spark is slow to import, and most sessions do not need it
        from xcql_runtime.spark.engine import SparkEngine

        return SparkEngine(self._given, verbose=self._verbose)

    def close(self) -> None:
        """Close what was started here, except Spark: other sessions may use the same."""
        if "embedded" in self.__dict__:
            self.embedded.close()

    def workers(self) -> Run | None:
        """A function that runs pieces of work on the workers of a remote Spark, if there is one."""
        if self._given is None and not os.environ.get("XCQL_SPARK"):
            return None
        from xcql_runtime.spark.jobs import on_workers  # Spark is slow to import
        from xcql_runtime.spark.start import is_local  # likewise

        if is_local(self._given):
            return None
        # it is only started when there is work to do
        return lambda function, pieces: on_workers(self.spark.session())(function, pieces)

    def preferred(self, has_frames: bool = False) -> Choice:
        """The engine for a query, before it is known how much it reads."""
        match self.asked:
            case "embedded":
                return Choice(self.embedded, "it was requested")
            case "spark":
                return Choice(self.spark, "it was requested")
        if self._given is not None:
            return Choice(self.spark, "the session has a Spark session")
        if address := os.environ.get("XCQL_SPARK"):
            return Choice(self.spark, f"XCQL_SPARK is {address}")
        if has_frames:
            return Choice(self.spark, "a variable is a DataFrame")
        return Choice(self.embedded, "")

    def for_question(self, question: Question, preferred: Choice) -> Choice:
        """The engine for a query whose tables are known."""
        if preferred.reason:
            return preferred
        limit = self._limits.memory * _TIMES_MEMORY
        size = bytes_to_read(question, limit)
        if size > limit:
            return Choice(
                self.spark, f"the query reads {_readable(size)}: too much for one machine"
            )
        return Choice(preferred.engine, f"the query reads {_readable(size)} or less")


def bytes_to_read(question: Question, enough: int) -> int:
    """An upper bound of the bytes that a query reads.

    The commit knows the sizes of files. Only if they are more than `enough`, the files' footers
    tell the sizes of the columns that the query needs.
    """
    store = question.store
    if question.compiled is None:
        streams = (store.state.stream(name) for name in question.streams)
        tables = (table for one in streams for table in one.tables.values())
        return sum(file.bytes for table in tables for file in table.files)
    uses = question.compiled.tables
    size = sum(file.bytes for use in uses for file in _files(store, use))
    if size <= enough:
        return size
    return sum(_size_of_columns(store, file, use) for use in uses for file in _files(store, use))


def _files(store: PinnedStore, use: TableUse) -> Sequence[DataFile]:
    tables = store.state.stream(use.stream).tables
    return [file for tsid in use.tags for file in files_in_use(tables.get(tsid), use)]


def _size_of_columns(store: PinnedStore, file: DataFile, use: TableUse) -> int:
    names = {path[0] for path in use.columns}
    metadata = pq.read_metadata(store.folder / file.path)
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    columns = (group.column(index) for group in groups for index in range(group.num_columns))
    return sum(
        column.total_compressed_size
        for column in columns
        if column.path_in_schema.partition(".")[0] in names
    )


def _readable(size: int) -> str:
    """A number of bytes for people.

    >>> _readable(512), _readable(3_400_000), _readable(12_000_000_000)
    ('1 MB', '4 MB', '12 GB')
    """
    scale, unit = (10**9, "GB") if size >= 10**9 else (10**6, "MB")
    return f"{max(1, -(-size // scale))} {unit}"


def unknown_choice(what: str, given: Any, choices: tuple[Any, ...]) -> XcqlError:
    known = ", ".join(map(str, choices))
    return error("XCQL0501", f"unknown {what} '{given}'", hints=[f"use one of {known}"])
