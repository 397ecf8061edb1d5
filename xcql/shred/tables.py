"""The store's tables as Parquet files: their columns, and how one file is written.

One row is one version of a filler (more rows if its lifespan depends on `now`):

    filler, seq, operation, validTime, digest      what arrived, and its number in that order
    number, vtFrom, vtTo                           the version; NULL for `start` and `now`
    since, until                                   the `now`s at which the row counts: `bitemporal`
    places                                         the filler's places in the view (`places`)
    holes                                          its holes in order: id, byte range, parent's tag
    namespaces                                     declarations in scope around it, as attributes
    raw                                            its element as the serialiser writes it
    element                                        the element, shredded (`columns`)
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from xcql.arrays import numbers_of, taken
from xcql.history.arrivals import HOLES
from xcql.model.tags import TagStructure
from xcql.shred.checksums import DICTIONARY_BYTES, Checksums, read_parquet, write_parquet
from xcql.shred.columns import conform, element_type, flat, is_nested_alike, nest, none_of
from xcql.shred.shape import Slot
from xcql.shred.shredder import Shredder

INSTANT = pa.timestamp("us")
PLACES = pa.list_(
    pa.struct(
        [
            ("key", pa.binary()),
            ("parent", pa.string()),
            ("vtFrom", INSTANT),
            ("vtTo", INSTANT),
            ("since", INSTANT),
            ("until", INSTANT),
        ]
    )
)
# the columns known from a fragment itself
ARRIVED = [
    pa.field("filler", pa.string()),
    pa.field("operation", pa.string()),
    pa.field("validTime", INSTANT),
    pa.field("digest", pa.binary(16)),
    pa.field("holes", HOLES),
    pa.field("namespaces", pa.string()),
    pa.field("raw", pa.binary()),
]
# the approximate size of a row group, by bytes or by rows
_GROUP_BYTES, _GROUP_ROWS = 1 << 23, 1 << 16

OFFSET = pa.field("offset", pa.int64())
# the columns known only from all fragments together
DERIVED = [
    pa.field("seq", pa.int64()),
    pa.field("number", pa.int32()),
    pa.field("vtFrom", INSTANT),
    pa.field("vtTo", INSTANT),
    pa.field("since", INSTANT),
    pa.field("until", INSTANT),
    pa.field("places", PLACES),
]
REMOVES = pa.schema(
    [
        ("filler", pa.string()),
        ("seq", pa.int64()),
        ("tsid", pa.string()),
        ("isTimed", pa.bool_()),
        ("validTime", INSTANT),
    ]
)
QUARANTINE = pa.schema(
    [("file", pa.string()), ("offset", pa.int64()), ("reason", pa.string()), ("raw", pa.binary())]
)
# for every row to be written: its source row and its derived columns
WRITE_PLAN = pa.schema([("source", pa.int32()), ("row", pa.int32()), *DERIVED])

_ORDER = [
    "filler",
    "seq",
    "operation",
    "validTime",
    "digest",
    "number",
    "vtFrom",
    "vtTo",
    "since",
    "until",
    "places",
    "holes",
    "namespaces",
    "raw",
    "element",
]


@dataclass(frozen=True, slots=True)
class RowSource:
    """A source of rows of a table: staged by an ingest, or in a file of the table.

    `shape` is the shape of the elements; for a file of the table, it is the table's shape when the
    file was written, or a later one.
    """

    rows: str
    shape: Slot
    is_staged: bool


# the columns that are the same in every table
COMMON = pa.schema(
    [field for name in _ORDER for field in (*ARRIVED, *DERIVED) if field.name == name]
)


def table_schema(shape: Slot) -> pa.Schema:
    """The columns of a tag's table."""
    fields = {field.name: field for field in [*ARRIVED, *DERIVED]}
    fields["element"] = pa.field("element", element_type(shape))
    return pa.schema([fields[name] for name in _ORDER])


def table_rows(
    structure: TagStructure,
    tsid: str,
    shape: Slot,
    sources: Sequence[RowSource],
    plan: pa.Table,
) -> pa.Table:
    """The rows of one file of a table: rows of the sources, in the order of the plan."""
    parts = [_arrived(structure, tsid, shape, source) for source in sources]
    begins = np.cumsum([0, *(part.num_rows for part in parts)])
    rows = begins[numbers_of(plan.column("source"))] + numbers_of(plan.column("row"))
    table = pa.concat_tables(parts)
    if not np.array_equal(rows, np.arange(table.num_rows)):
        table = taken(table, rows)
    columns = {name: table.column(name) for name in table.column_names}
    columns |= {field.name: plan.column(field.name) for field in DERIVED}
    schema = table_schema(shape)
    return pa.table([columns[name] for name in schema.names], schema=schema)


def write_table(table: pa.Table, path: Path) -> Checksums:
    """Write one Parquet file of a table; rows without a `vtTo` come first."""
    # rows that have not ended get their own row groups, so that queries for them read nothing else
    lasting = table.column("vtTo").null_count
    halves = (table.slice(0, lasting), table.slice(lasting))
    return write_parquet(
        path,
        table.schema,
        ((half, _rows_of_group(half)) for half in halves if half.num_rows),
        compression_level=1,
        use_dictionary=True,
        dictionary_pagesize_limit=DICTIONARY_BYTES,
    )


def _rows_of_group(table: pa.Table) -> int:
    """The number of rows per row group: a task reads whole groups, and each core needs some."""
    rows: int = table.num_rows
    size: int = table.column("raw").nbytes
    return math.ceil(rows / (1 + max(size // _GROUP_BYTES, rows // _GROUP_ROWS)))


def write_rows(rows: pa.Table, path: Path) -> Checksums:
    """Write one Parquet file of a small table: removes or quarantined fragments."""
    return write_parquet(path, rows.schema, [(rows, rows.num_rows)])


def staged_rows(**columns: pa.Array) -> pa.RecordBatch:
    """Rows in staged form: what arrived, its offset in the file, and its element."""
    fields = [*ARRIVED, OFFSET, pa.field("element", columns["element"].type)]
    return pa.RecordBatch.from_arrays(
        [columns[field.name] for field in fields], schema=pa.schema(fields)
    )


def read_staged(path: str) -> pa.Table:
    """Read a staged table; it is memory-mapped, so pages are loaded on access."""
    with pa.memory_map(path) as file:
        return pa.ipc.open_file(file).read_all()


def write_staged(batch: pa.RecordBatch | pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write(batch)


def _arrived(structure: TagStructure, tsid: str, shape: Slot, source: RowSource) -> pa.Table:
    """The arrived columns of one source, with the elements in the table's current shape."""
    names = [*(field.name for field in ARRIVED), "element"]
    if source.is_staged:
        rows = read_staged(source.rows).select(names)
    else:
        rows = read_parquet(source.rows, names)
    rows = rows.combine_chunks()
    if is_nested_alike(source.shape, shape):
        element = _only_chunk(rows.column("element"))
        if not source.is_staged:
            # columns that were added after the file was written
            element = _with_columns(element, element_type(source.shape))
        element = conform(element, source.shape, shape)
    else:
        element = _shredded_anew(structure, tsid, shape, rows)
    rows = rows.select(names[:-1]).cast(pa.schema(ARRIVED))
    return rows.append_column(pa.field("element", element.type), element)


def _shredded_anew(
    structure: TagStructure, tsid: str, shape: Slot, rows: pa.Table
) -> pa.StructArray:
    tag = structure.by_id(tsid)
    assert tag is not None
    # paths that were distinguished on arrival must be distinguished again
    shredder = Shredder(structure, tag, places=sys.maxsize)
    bodies = _Bodies(rows)
    for index in range(rows.num_rows):
        shredder.add(*bodies[index])
    return nest(shape, flat(shredder.root), bodies)


def _with_columns(array: pa.Array, type: pa.DataType) -> pa.Array:
    """Add the columns that the elements' file lacks, as NULLs."""
    if array.type == type:
        return array
    if pa.types.is_list(type):
        values = _with_columns(array.values, type.value_type)
        return pa.ListArray.from_arrays(array.offsets, values, type=type)
    if not pa.types.is_struct(type):
        return array.cast(type)
    fields = [
        _with_columns(array.field(field.name), field.type)
        if array.type.get_field_index(field.name) >= 0
        else none_of(field.type, len(array))
        for field in type
    ]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(fields, fields=list(type), mask=mask)


def _only_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


class _Bodies:
    """The elements' bytes and the namespaces around them, by row."""

    def __init__(self, rows: pa.Table) -> None:
        self._raw = rows.column("raw")
        self._namespaces = rows.column("namespaces")

    def __getitem__(self, row: int) -> tuple[bytes, str]:
        return self._raw[row].as_py(), self._namespaces[row].as_py()
