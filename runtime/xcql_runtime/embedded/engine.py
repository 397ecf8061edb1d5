"""The engine in the process: DuckDB runs compiled queries, and the evaluator runs the others."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cached_property
from inspect import Parameter, Signature
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from xcql.compile import compile_copies
from xcql.compile.copies import COPY, VERSION
from xcql.compile.result import Compiled, Evaluation
from xcql.compile.terms.leaf_types import Place
from xcql.dialects.duckdb import DUCKDB, macros_in
from xcql.dialects.slots import SqlText
from xcql.evaluate.stack import Cancellation
from xcql.shred.assembly import Copy
from xcql.store.places_at import places_at
from xcql_runtime.embedded.connection import Limits, connect, define_macros
from xcql_runtime.embedded.failures import is_fatal, understood
from xcql_runtime.embedded.running import all_rows, batches
from xcql_runtime.embedded.tables import table_query
from xcql_runtime.engine import Question
from xcql_runtime.evaluator.answering import ANSWER, Surroundings, answer, row_function
from xcql_runtime.evaluator.rows_as_xml import rows_as_xml
from xcql_runtime.records import records_of, write_records
from xcql_runtime.store_reader import PinnedStore

_SEQUENCE = 'STRUCT(kind VARCHAR, "value" VARCHAR, vtFrom TIMESTAMP, vtTo TIMESTAMP)[]'

Relation = duckdb.DuckDBPyRelation


class EmbeddedEngine:
    """A DuckDB database in memory, which reads the files of stores."""

    name = "embedded"
    dialect = DUCKDB

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._functions = 0
        # changes of the catalog in different connections would conflict
        self._changing = threading.Lock()

    @cached_property
    def _database(self) -> duckdb.DuckDBPyConnection:
        connection = connect(self.limits)
        self._macros = set[str]()
        # an open connection with functions makes the interpreter complain when it ends
        self._closing = weakref.finalize(self, connection.close)
        return connection

    def close(self) -> None:
        """Give back DuckDB's memory."""
        if "_database" in self.__dict__:
            self._closing()
            del self._database

    @contextmanager
    def _renewed(self) -> Iterator[None]:
        """After an internal error, DuckDB refuses all queries: go on with another database."""
        database = self._database
        try:
            yield
        except (duckdb.Error, OSError) as problem:
            if is_fatal(problem) and self.__dict__.get("_database") is database:
                self.close()
            raise

    # the protocol of engines

    def rows(self, question: Question, limit: int | None = None) -> Iterator[pa.RecordBatch]:
        if question.compiled is None:
            yield from _at_most(limit, self._evaluated(question))
            return
        yield from self._run(
            question, question.compiled.sql, lambda all: all if limit is None else all.limit(limit)
        )

    def items(self, question: Question) -> list[str]:
        compiled = question.compiled
        if compiled is None:
            evaluated = pa.Table.from_batches(self._evaluated(question), ANSWER)
            found: list[str] = evaluated["item"].to_pylist()
            return found
        with self._ready(question, compiled.items or compiled.sql) as (sql, arguments, cancelled):
            names, rows = all_rows(self._database, sql, arguments, cancelled)
        item = names.index("item")
        keys = [index for index, name in enumerate(names) if name.startswith("key_")]
        return [row[item] for row in (in_order(rows, keys) if keys else rows)]

    def count(self, question: Question) -> int:
        if question.compiled is None:
            return sum(batch.num_rows for batch in self._evaluated(question))
        counted = self._run(question, question.compiled.sql, lambda all: all.count("*"))
        count: int = _table(counted).column(0)[0].as_py()
        return count

    def write_parquet(self, question: Question, types: Mapping[Place, str], folder: Path) -> None:
        write_records(records_of(self.rows(question), types), folder)

    def copies(
        self, store: PinnedStore, stream: str, now: datetime, at: datetime | None = None
    ) -> Iterator[Copy]:
        kept = store.state.stream(stream)
        catalog = store.catalog.at(now)
        compiled = compile_copies(catalog, stream, now, at, DUCKDB)
        is_placed = catalog.streams[stream].placed
        places = None if is_placed else places_at(store.folder, kept, now, at)

        def placed(cursor: duckdb.DuckDBPyConnection) -> Relation:
            versions = cursor.sql(sql, params=arguments)
            if places is not None:
                versions = versions.join(cursor.from_arrow(places), ", ".join(VERSION))
            return versions.select(*COPY).sort("key")

        with understood(self.limits, store, compiled.tables), self._renewed():
            sql, arguments = self._filled(store, compiled, compiled.sql, now, {})
            for batch in batches(self._database, placed, Cancellation()):
                columns = (column.to_pylist() for column in batch.columns)
                for copy in zip(*columns, strict=True):
                    yield Copy(*copy)

    def _run(
        self,
        question: Question,
        text: SqlText,
        change: Callable[[Relation], Relation] = lambda all: all,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a text of the compiled query, after a change of the relation."""
        with self._ready(question, text) as (sql, arguments, cancellation):
            yield from batches(
                self._database,
                lambda cursor: change(cursor.sql(sql, params=arguments)),
                cancellation,
            )

    @contextmanager
    def _ready(
        self, question: Question, text: SqlText
    ) -> Iterator[tuple[str, dict[str, datetime] | None, Cancellation]]:
        """The SQL of a text of the compiled query, its arguments, and what stops it.

        DuckDB's errors in this block become errors of the query.
        """
        compiled, around = question.compiled, question.around
        assert compiled is not None
        cancellation = Cancellation()
        with (
            self._registered(compiled.evaluations, around, cancellation) as functions,
            understood(self.limits, question.store, compiled.tables, question),
            self._renewed(),
        ):
            sql, arguments = self._filled(question.store, compiled, text, around.now, functions)
            yield sql, arguments, cancellation

    def _filled(
        self,
        store: PinnedStore,
        compiled: Compiled,
        text: SqlText,
        now: datetime,
        functions: Mapping[str, str],
    ) -> tuple[str, dict[str, datetime] | None]:
        """The SQL of a text with its tables and functions, and its arguments."""
        tables = {use.name: table_query(store, use) for use in compiled.tables}
        sql = text.filled({**tables, **functions, ":now": "$now"})
        with self._changing:
            # after an internal error there is another database
            database, known = self._database, self._macros
            new = macros_in(sql) - known
            define_macros(database, sorted(new))
            known |= new
        return sql, {"now": now} if ":now" in text.slots else None

    @contextmanager
    def _registered(
        self,
        evaluations: tuple[Evaluation, ...],
        around: Surroundings,
        cancellation: Cancellation,
    ) -> Iterator[dict[str, str]]:
        """Map the evaluations' own names to those of functions that exist in this block."""
        names: dict[str, str] = {}
        database = self._database
        try:
            for evaluation in evaluations:
                types: list[Any] = [
                    "TIMESTAMP",
                    *(_SEQUENCE for _ in evaluation.parameters),
                ]
                with self._changing:
                    self._functions += 1
                    name = f"{evaluation.name}_{self._functions}"
                    database.create_function(
                        name,
                        _with_parameters(row_function(evaluation, around, cancellation), types),
                        types,
                        _SEQUENCE,
                        type=PythonUDFType.ARROW,
                        null_handling=FunctionNullHandling.SPECIAL,
                        # DuckDB would copy a call into the conditions that look at its result
                        side_effects=True,
                    )
                names[evaluation.name] = name
            yield names
        finally:
            # a database that was given up has lost them already
            with self._changing, suppress(duckdb.ConnectionException):
                for name in names.values():
                    database.remove_function(name)

    def _evaluated(self, question: Question) -> Iterator[pa.RecordBatch]:
        """The answer of the reference evaluator over the views of the streams."""
        task, store, now = question.task(), question.store, question.around.now
        copies = {
            number: list(self.copies(store, name, now))
            for number, name in enumerate(task.streams)
            if store.state.stream(name).tables
        }
        for number, frame in enumerate(question.frames.values(), len(task.streams)):
            copies[number] = _rows_of(frame.toArrow())
        yield from answer(task, copies)


def _with_parameters(
    function: Callable[..., pa.Array], types: Sequence[object]
) -> Callable[..., pa.Array]:
    """The function with a signature of as many parameters as it has types: DuckDB counts them."""
    kind = Parameter.POSITIONAL_ONLY
    parameters = [Parameter(f"_{number}", kind) for number, _ in enumerate(types)]
    function.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return function


def _table(batches: Iterator[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(list(batches))


def in_order(rows: list[tuple[Any, ...]], keys: Sequence[int]) -> list[tuple[Any, ...]]:
    """The rows, sorted by the columns of their keys; NULLs come first.

    >>> in_order([("b", 2), ("a", None), ("c", 1)], [1])
    [('a', None), ('c', 1), ('b', 2)]
    """
    if any(row[key] is None for row in rows for key in keys):
        return sorted(rows, key=lambda row: [(row[key] is not None, row[key]) for key in keys])
    return sorted(rows, key=itemgetter(*keys))


def _at_most(limit: int | None, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch if limit is None else batch.slice(0, limit)
        if limit is not None:
            limit -= min(limit, batch.num_rows)
            if not limit:
                return


def _rows_of(table: pa.Table) -> list[Copy]:
    """The rows of a table as elements, in the form of copies without holes."""
    rows = table.to_struct_array().combine_chunks()
    texts = rows_as_xml(rows, table.column_names)
    return [Copy(b"", text.encode(), (), (), "", False, None, None) for text in texts]
