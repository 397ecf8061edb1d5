"""The fragments of a stream without their bodies, as columns: ids, times, holes.

Each row is one fragment. Ids and tags are numbers and instants are microseconds, so that a
million fragments can be processed at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xcql.arrays import Ints, column_of, flags_of, numbers_of
from xcql.model.fragments import Operation
from xcql.model.tags import TagStructure
from xcql.model.time import START

OPERATIONS: tuple[Operation, ...] = get_args(Operation)
REPLACE, REMOVE = OPERATIONS.index("replace"), OPERATIONS.index("remove")

HOLES = pa.list_(
    pa.struct(
        [
            ("filler", pa.string()),
            ("start", pa.int32()),
            ("length", pa.int32()),
            ("tag", pa.string()),
        ]
    )
)

# instants in microseconds that stand for NULL in the columns of tables
BEGINNING = (START - datetime(1970, 1, 1)) // timedelta(microseconds=1)
FOREVER = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Holes:
    """Holes, sorted by the row that contains them and then by position.

    `fillers` are the numbers of their filler ids (-1: no fragment with that id has arrived); `tags`
    are the tags of the elements that contain them.
    """

    rows: Ints
    fillers: Ints
    starts: Ints
    tags: Ints


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Fragments in any order; `seqs` gives the order of arrival.

    `tags` are indexes into the tag structure, -1 for a `remove` without a tag; `fillers` are
    indexes into `ids`, and `operations` into OPERATIONS. A `remove` without a validTime has the
    time FOREVER.
    """

    ids: pa.StringArray
    seqs: Ints
    tags: Ints
    fillers: Ints
    operations: Ints
    times: Ints
    digests: pa.Array
    holes: Holes

    def __len__(self) -> int:
        return len(self.seqs)


def gather(
    structure: TagStructure, parts: Sequence[tuple[str, pa.Table]], removes: pa.Table
) -> Arrivals:
    """The rows of all tables, each given with its tsid, followed by the removes.

    Each table has the columns filler, seq, operation, validTime, digest and holes; `removes` has
    filler, seq, tsid, isTimed and validTime.
    """
    tag_ids = pa.array([tag.id for tag in structure], pa.string())
    tag_numbers = {tag.id: number for number, tag in enumerate(structure)}
    tables = [table for _, table in parts]
    names = [*(_column("filler", pa.string(), table) for table in (*tables, removes))]
    encoded = pa.concat_arrays(
        [chunk for name in names for chunk in name.chunks] or [pa.array([], pa.string())]
    ).dictionary_encode()
    sizes = [table.num_rows for table in tables]
    no_digests = pa.nulls(removes.num_rows, pa.binary(16))
    digests = [
        chunk for table in tables for chunk in _column("digest", pa.binary(16), table).chunks
    ]
    removed_tags = numbers_of(pc.index_in(removes.column("tsid"), tag_ids))
    removed_times = instants(removes.column("validTime"), BEGINNING)
    removed_times[~flags_of(removes.column("isTimed"))] = FOREVER
    operations = pa.array(OPERATIONS)
    return Arrivals(
        encoded.dictionary,
        _joined([table.column("seq") for table in (*tables, removes)]),
        np.concatenate(
            [np.repeat([tag_numbers[tsid] for tsid, _ in parts] or [0], sizes or [0]), removed_tags]
        ).astype(np.int64),
        numbers_of(encoded.indices),
        np.concatenate(
            [
                _joined([pc.index_in(table.column("operation"), operations) for table in tables]),
                np.full(removes.num_rows, REMOVE),
            ]
        ),
        np.concatenate(
            [*(instants(table.column("validTime"), BEGINNING) for table in tables), removed_times]
        ),
        pa.concat_arrays([*digests, no_digests]),
        _holes(tables, encoded.dictionary, tag_ids),
    )


def _holes(tables: Sequence[pa.Table], ids: pa.StringArray, tag_ids: pa.StringArray) -> Holes:
    rows: list[Ints] = []
    values = [pa.array([], HOLES.value_type)]
    begin = 0
    for table in tables:
        for chunk in table.column("holes").chunks:
            counts = numbers_of(chunk.value_lengths(), 0)
            rows.append(np.repeat(np.arange(begin, begin + len(chunk)), counts))
            # `flatten` returns only this chunk's items; `values` might contain more
            values.append(chunk.flatten().cast(HOLES.value_type))
            begin += len(chunk)
    fillers, starts, _, tags = pa.concat_arrays(values).flatten()
    return Holes(
        np.concatenate([np.empty(0, np.int64), *rows]),
        numbers_of(pc.index_in(fillers, ids)),
        numbers_of(starts),
        numbers_of(pc.index_in(tags, tag_ids)),
    )


def instants(column: pa.ChunkedArray | pa.Array, null: int) -> Ints:
    """A column of times in microseconds; NULL becomes `null`."""
    return numbers_of(column, null).copy()


def instant(time: int) -> datetime:
    """The datetime of an instant given in microseconds."""
    return datetime(1970, 1, 1) + timedelta(microseconds=time)


def null_if_start(time: datetime) -> datetime | None:
    """An instant as stored in columns: NULL for the beginning of time."""
    return None if time == START else time


def microseconds(time: datetime | None) -> int:
    """An instant in microseconds; FOREVER for None."""
    if time is None:
        return FOREVER
    return (time - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def instant_column(times: Ints, null: int) -> pa.Array:
    """Times in microseconds as a timestamp column; `null` becomes NULL."""
    return column_of(times, times != null).view(pa.timestamp("us"))


def _column(name: str, type: pa.DataType, table: pa.Table) -> pa.ChunkedArray:
    column = table.column(name)
    return column if column.type == type else column.cast(type)


def _joined(columns: Sequence[pa.ChunkedArray | pa.Array]) -> Ints:
    if not columns:
        return np.empty(0, np.int64)
    return np.concatenate([numbers_of(column) for column in columns])
