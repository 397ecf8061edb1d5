"""The fragments of a store as they arrived, for starting continuous queries and for repairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import pyarrow as pa

from xcql.arrays import numbers_of
from xcql.model.time import START, format_begin
from xcql.shred.tables import INSTANT
from xcql.store.rows import read_file, stored_removes
from xcql.store.state import Stream

_ROWS = pa.schema(
    [
        ("seq", pa.int64()),
        ("filler", pa.string()),
        ("operation", pa.string()),
        ("validTime", INSTANT),
        ("namespaces", pa.string()),
        ("raw", pa.binary()),
        ("tsid", pa.string()),
        ("isTimed", pa.bool_()),
    ]
)
# the columns that the table of a tag has
FRAGMENT_COLUMNS = _ROWS.names[:6]
# the number of rows that are converted to Python at a time
_AT_ONCE = 10_000
# with the prefix, a default namespace declared for the element does not apply to the fragment
_PREFIX = "stream:"


def fragment_texts(store: Path, stream: Stream) -> Iterator[str]:
    """All fragments of a stream, in order of arrival."""
    rows = pa.concat_tables([_ROWS.empty_table(), *_tables(store, stream)])
    # a fragment with several versions has several rows, but is returned once
    order = np.unique(numbers_of(rows.column("seq")), return_index=True)[1]
    for begin in range(0, len(order), _AT_ONCE):
        for row in rows.take(order[begin : begin + _AT_ONCE]).to_pylist():
            yield _remove(row) if row["operation"] == "remove" else _filler(row)


def _tables(store: Path, stream: Stream) -> Iterator[pa.Table]:
    for tsid, table in stream.tables.items():
        for file in table.files:
            rows = read_file(store, file, FRAGMENT_COLUMNS)
            yield _with(rows, tsid=pa.array([tsid] * rows.num_rows), isTimed=None)
    removes = stored_removes(store, stream)
    operation = pa.array(["remove"] * removes.num_rows)
    yield _with(removes, operation=operation, namespaces=None, raw=None)


def _with(rows: pa.Table, **columns: pa.Array | None) -> pa.Table:
    """Add columns to the rows; None means a column of NULLs."""
    for name, values in columns.items():
        field = _ROWS.field(name)
        empty = pa.nulls(rows.num_rows, field.type)
        rows = rows.append_column(field, empty if values is None else values.cast(field.type))
    return rows.select(_ROWS.names).cast(_ROWS)


def _filler(row: Mapping[str, Any]) -> str:
    name = _PREFIX + row["operation"]
    return (
        f"<{name} id={quoteattr(row['filler'])} tsid={quoteattr(row['tsid'])}{_time(row)}"
        f"{row['namespaces']}>{row['raw'].decode('utf-8')}</{name}>"
    )


def _remove(row: Mapping[str, Any]) -> str:
    tsid = f" tsid={quoteattr(row['tsid'])}" if row["tsid"] else ""
    time = _time(row) if row["isTimed"] else ""
    return f"<{_PREFIX}remove id={quoteattr(row['filler'])}{tsid}{time}/>"


def _time(row: Mapping[str, Any]) -> str:
    return f' validTime="{format_begin(row["validTime"] or START)}"'
