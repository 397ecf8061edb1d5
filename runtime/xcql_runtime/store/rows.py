"""The rows of a stream without their bodies: read, derived anew, compared with what is stored.

An append reads these light columns of the whole stream, finds out what has changed (lifespans
that now end, places that come or go), and writes anew only the files with such rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from xcql.model.fragments import Hole
from xcql.model.time import START
from xcql.shred.derive import Derived, Row, null_if_start
from xcql.shred.history import Version
from xcql.shred.namespaces import namespaces_of
from xcql.shred.places import Place
from xcql.shred.shape import Slot
from xcql.shred.tables import DERIVED, PLACES, WRITE_PLAN, RowSource, read_staged
from xcql.xdm.parse import parse_element
from xcql.xdm.serialize import canonical
from xcql_runtime.store.state import DataFile, Stream

_LIGHT = ["filler", "operation", "validTime", "digest", "holes"]


@dataclass(frozen=True, slots=True)
class SourceRows:
    """One source of rows: what they are, and what was derived of them (None: newly staged).

    `rows` has one entry for each row of the source, None for a row that is not to be kept; rows
    with one number are the same fragment.
    """

    tsid: str
    source: RowSource
    rows: list[Row | None]
    derived: pa.Table | None
    file: DataFile | None
    size: int


def stored_rows(store: Path, stream: Stream) -> Iterator[SourceRows]:
    """The rows of the stream's tables, file by file."""
    for tsid, table in stream.tables.items():
        for file in table.files:
            path = str(store / file.path)
            names = list(dict.fromkeys([*_LIGHT, *(one.name for one in DERIVED)]))
            light = pq.read_table(path, columns=names, partitioning=None)
            numbers = light.column("seq").to_pylist()
            rows = [
                _row(tsid, seq, values) for seq, values in zip(numbers, _values(light), strict=True)
            ]
            derived = light.select([one.name for one in DERIVED]).cast(pa.schema(DERIVED))
            source = RowSource(path, table.shape, is_staged=False)
            yield SourceRows(tsid, source, list(rows), derived, file, file.bytes * 3)


def staged_rows(tsid: str, source: RowSource) -> list[tuple[int, Row]]:
    """Newly staged rows with their offsets in the file; their numbers are still to be given."""
    light = read_staged(source.rows)
    rows = (_row(tsid, 0, values) for values in _values(light))
    return list(zip(light.column("offset").to_pylist(), rows, strict=True))


def stored_removes(store: Path, stream: Stream) -> Iterator[Row]:
    for file in stream.removes:
        for row in pq.read_table(str(store / file.path), partitioning=None).to_pylist():
            yield remove_row(row["seq"], row)


def remove_row(seq: int, values: Mapping[str, Any]) -> Row:
    """A `<remove>`, given as a row of the table or of what was staged."""
    time = (values["validTime"] or START) if values["isTimed"] else None
    return Row(seq, values["tsid"], values["filler"], "remove", time, b"", ())


def canonical_bodies(sources: Sequence[SourceRows]) -> Callable[[int], str]:
    """A function that gives the canonical form of a row's element, by the row's number."""
    where: dict[int, tuple[int, int]] = {}

    @lru_cache(maxsize=8)
    def bodies(index: int) -> pa.Table:
        source = sources[index].source
        if source.is_staged:
            return read_staged(source.rows)
        return pq.read_table(source.rows, columns=["raw", "namespaces"], partitioning=None)

    @lru_cache(maxsize=1024)
    def body_of(seq: int) -> str:
        if not where:
            for index, source in enumerate(sources):
                for number, row in enumerate(source.rows):
                    if row is not None:
                        where[row.seq] = index, number
        index, number = where[seq]
        table = bodies(index)
        namespaces = namespaces_of(table.column("namespaces")[number].as_py())
        namespaces["stream"] = "urn:xcql:stream"
        element = parse_element(table.column("raw")[number].as_py(), namespaces, ("stream",))
        return canonical(element)

    return body_of


@dataclass(slots=True)
class WritePlan:
    """One file to be written: its table, its sources, and its rows with all that is derived."""

    tsid: str
    shape: Slot
    sources: list[RowSource] = field(default_factory=list)
    size: int = 0  # in bytes, about
    # (first place's key, source, row, number in the order of arrival, version)
    entries: list[tuple[bytes, int, int, int, Version | None]] = field(default_factory=list)

    def add(self, source: SourceRows, derived: Derived) -> None:
        """Add all rows of a source that are to be kept, each version once."""
        index = len(self.sources)
        self.sources.append(source.source)
        self.size += source.size
        seen: set[int] = set()
        for number, row in enumerate(source.rows):
            if row is None or row.seq in seen:
                continue
            seen.add(row.seq)
            places = derived.placement.places.get(row.filler, ())
            key = places[0].key if places else b"\xff"
            for version in derived.versions.get(row.seq) or (None,):
                self.entries.append((key, index, number, row.seq, version))

    def table(self, fillers: Mapping[int, str], derived: Derived) -> pa.Table:
        """The plan as `write_table` takes it: rows in document order, versions in their order."""
        self.entries.sort(key=_document_order)
        rows = [entry[3:] for entry in self.entries]
        columns = derived_columns(rows, fillers, derived)
        columns["source"] = pa.array([entry[1] for entry in self.entries], pa.int32())
        columns["row"] = pa.array([entry[2] for entry in self.entries], pa.int32())
        return pa.table([columns[name] for name in WRITE_PLAN.names], schema=WRITE_PLAN)


def is_unchanged(source: SourceRows, fillers: Mapping[int, str], derived: Derived) -> bool:
    """Whether a stored file says of its rows just what is derived of them now."""
    assert source.derived is not None
    rows: list[tuple[int, Version | None]] = []
    seen: set[int] = set()
    for row in source.rows:
        assert row is not None
        if row.seq not in seen:
            seen.add(row.seq)
            rows += [(row.seq, version) for version in derived.versions.get(row.seq) or (None,)]
    if len(rows) != len(source.rows):
        return False
    # the order of the versions of one fragment in a file is that in which they are derived
    rows.sort(key=_file_order(source.derived.column("seq").to_pylist()))
    columns = derived_columns(rows, fillers, derived)
    new = pa.table([columns[one.name] for one in DERIVED], schema=pa.schema(DERIVED))
    return bool(new.equals(source.derived.combine_chunks()))


def derived_columns(
    rows: Sequence[tuple[int, Version | None]], fillers: Mapping[int, str], derived: Derived
) -> dict[str, pa.Array]:
    """The derived columns of rows; one without a version counts for no `now`."""
    versions = [version or Version(seq, 0, START, None, START, START) for seq, version in rows]
    places = [
        derived.placement.places.get(fillers[seq], ()) if version else () for seq, version in rows
    ]
    instants = pa.timestamp("us")
    return {
        "seq": pa.array([seq for seq, _ in rows], pa.int64()),
        "number": pa.array([version.number or None for version in versions], pa.int32()),
        "vtFrom": pa.array([null_if_start(version.vt_from) for version in versions], instants),
        "vtTo": pa.array([version.vt_to for version in versions], instants),
        "since": pa.array([null_if_start(version.since) for version in versions], instants),
        "until": pa.array([version.until for version in versions], instants),
        "places": _places_column(places),
    }


def _places_column(places: Sequence[Sequence[Place]]) -> pa.ListArray:
    flat = [place for those in places for place in those]
    columns = [
        [place.key for place in flat],
        [place.parent for place in flat],
        [null_if_start(place.vt_from) for place in flat],
        [place.vt_to for place in flat],
        [null_if_start(place.since) for place in flat],
        [place.until for place in flat],
    ]
    type = PLACES.value_type
    arrays = [pa.array(column, one.type) for column, one in zip(columns, type, strict=True)]
    offsets = pa.array(accumulate(map(len, places), initial=0), pa.int32())
    values = pa.StructArray.from_arrays(arrays, fields=list(type))
    return pa.ListArray.from_arrays(offsets, values, type=PLACES)


def _document_order(entry: tuple[bytes, int, int, int, Version | None]) -> tuple[Any, ...]:
    key, _, _, seq, version = entry
    return key, version.number if version else 0, seq, version.since if version else START


def _file_order(numbers: list[int]) -> Callable[[tuple[int, Version | None]], tuple[Any, ...]]:
    """Where in a file the rows of a fragment stand."""
    first: dict[int, int] = {}
    for position, seq in enumerate(numbers):
        first.setdefault(seq, position)
    return lambda row: (first[row[0]], row[1].since if row[1] else START)


def _row(tsid: str, seq: int, values: tuple[Any, ...]) -> Row:
    filler, operation, valid_time, digest, holes = values
    return Row(seq, tsid, filler, operation, valid_time or START, digest, holes)


def _values(light: pa.Table) -> Iterator[tuple[Any, ...]]:
    """The light columns row by row."""
    columns: list[Iterable[Any]] = [light.column(name).to_pylist() for name in _LIGHT[:-1]]
    return zip(*columns, _holes(light.column("holes")), strict=True)


def _holes(column: pa.ChunkedArray) -> Iterator[tuple[Hole, ...]]:
    for chunk in column.chunks:
        lengths = chunk.value_lengths().to_pylist()
        fields = [one.to_pylist() for one in chunk.flatten().flatten()]
        holes = (
            Hole(id, start, start + length, tag)
            for id, start, length, tag in zip(*fields, strict=True)
        )
        for length in lengths:
            yield tuple(next(holes) for _ in range(length or 0))
