"""Running SQL on DuckDB so that Ctrl-C stops it.

A query runs in a thread of its own, because a call that waits for DuckDB cannot be interrupted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import Full, Queue

import duckdb
import pyarrow as pa

from xcql.evaluate.stack import Cancellation

# rows that are passed on at a time
_ROWS = 10_000
# batches that are computed before they are asked for
_AHEAD = 2
# seconds to wait for a query that is being stopped
_PATIENCE = 0.5


def batches(
    database: duckdb.DuckDBPyConnection,
    relation: Callable[[duckdb.DuckDBPyConnection], duckdb.DuckDBPyRelation],
    cancellation: Cancellation,
) -> Iterator[pa.RecordBatch]:
    """The rows of a relation, as they are computed, over a connection of their own.

    Whoever closes the iterator, or interrupts it, stops the query and its evaluations. DuckDB does
    not stop in the middle of an expression; then the thread goes on alone until it can stop.
    """
    results: Queue[pa.RecordBatch | BaseException | None] = Queue(_AHEAD)
    is_stopped = threading.Event()
    cursor = database.cursor()

    def put(result: pa.RecordBatch | BaseException | None) -> None:
        while not is_stopped.is_set():
            try:
                return results.put(result, timeout=0.1)
            except Full:
                continue

    def work() -> None:
        try:
            for batch in _read(relation(cursor)):
                put(batch)
                if is_stopped.is_set():
                    return
            put(None)
        except BaseException as problem:
            put(problem)
        finally:
            cursor.close()

    thread = threading.Thread(target=work, daemon=True, name="xcql-duckdb")
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
