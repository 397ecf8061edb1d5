"""Temporalize: the view of a stream as XML text, from copies of fillers that Spark sorts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from pyspark.sql import SparkSession

from xcql.compile import Catalog
from xcql.shred.assembly import Copy, document_text
from xcql.store.state import StoreState
from xcql_runtime.spark.failures import understood
from xcql_runtime.spark.jobs import iterate_rows
from xcql_runtime.tables.copies import copies_frame

# the least number of bytes in a piece of text
_PIECE = 1 << 16


def temporalize(
    spark: SparkSession,
    store: Path,
    state: StoreState,
    catalog: Catalog,
    name: str,
    now: datetime,
    at: datetime | None = None,
) -> Iterator[str]:
    """The text of the whole temporal view of a stream, or of the document `at` an instant.

    It comes in pieces, to be written one after the other.
    """
    if not state.stream(name).tables:
        return
    with understood():
        copies = copies_frame(spark, store, state, catalog, name, now, at).orderBy("key")
        yield from _texts(document_text(Copy(*row) for row in iterate_rows(copies, ahead=True)))


def _texts(pieces: Iterable[bytes]) -> Iterator[str]:
    """Larger pieces, as text."""
    gathered, size = [], 0
    for piece in pieces:
        gathered.append(piece)
        size += len(piece)
        if size >= _PIECE:
            yield b"".join(gathered).decode()
            gathered, size = [], 0
    yield b"".join(gathered).decode()
