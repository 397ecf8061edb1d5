"""Running SQL on DuckDB so that Ctrl-C stops it.

A query runs in a thread of its own, because a call that waits for DuckDB cannot be interrupted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from queue import Full, Queue
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from xcql.evaluate.stack import Cancellation

T = TypeVar("T")
# rows that are passed on at a time
_ROWS = 10_000
# results that are computed before they are asked for
_AHEAD = 2
# seconds to wait for a query that is being stopped
_PATIENCE = 0.5


def batches(
    database: duckdb.DuckDBPyConnection,
    relation: Callable[[duckdb.DuckDBPyConnection], duckdb.DuckDBPyRelation],
    cancellation: Cancellation,
) -> Iterator[pa.RecordBatch]:
    """The rows of a relation, as they are computed."""
    return _interruptible(database, lambda cursor: _read(relation(cursor)), cancellation)


def all_rows(
    database: duckdb.DuckDBPyConnection,
    sql: str,
    arguments: dict[str, datetime] | None,
    cancellation: Cancellation,
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns and all rows of a query, as Python values.

    DuckDB plans a relation twice, first to know its columns; this plans the query once.
    """

    def run(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[list[str], list[Any]]]:
        cursor.execute(sql, arguments)
        yield [name for name, *_ in cursor.description or ()], cursor.fetchall()

    (result,) = _interruptible(database, run, cancellation)
    return result


def _interruptible(
    database: duckdb.DuckDBPyConnection,
    work: Callable[[duckdb.DuckDBPyConnection], Iterator[T]],
    cancellation: Cancellation,
) -> Iterator[T]:
    """The results of some work over a connection of its own.

    Whoever closes the iterator, or interrupts it, stops the query and its evaluations. DuckDB does
    not stop in the middle of an expression; then the thread goes on alone until it can stop.
    """
    results: Queue[T | BaseException | None] = Queue(_AHEAD)
    is_stopped = threading.Event()
    cursor = database.cursor()

    def put(result: T | BaseException | None) -> None:
        while not is_stopped.is_set():
            try:
                return results.put(result, timeout=0.1)
            except Full:
                continue

    def run() -> None:
        try:
            for result in work(cursor):
                put(result)
                if is_stopped.is_set():
                    return
            put(None)
        except BaseException as problem:
            put(problem)
        finally:
            cursor.close()

    thread = threading.Thread(target=run, daemon=True, name="xcql-duckdb")
    thread.start()
    is_complete = False
    try:
        while (result := results.get()) is not None:
            if isinstance(result, BaseException):
                raise result
            yield result
        is_complete = True
    finally:
        is_stopped.set()
        if not is_complete:
            cancellation.cancel()
            # the thread may have closed it in the meantime
            with suppress(duckdb.ConnectionException):
                cursor.interrupt()
        thread.join(_PATIENCE)


def _read(relation: duckdb.DuckDBPyRelation) -> Iterator[pa.RecordBatch]:
    reader = relation.to_arrow_reader(_ROWS)
    # the columns are known even if there are no rows
    none = [pa.nulls(0, field.type) for field in reader.schema]
    yield pa.RecordBatch.from_arrays(none, schema=reader.schema)
    yield from reader
