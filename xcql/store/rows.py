"""The rows of a stream without their bodies: reads and derives them, compares them with the store.

An append reads these light columns of the whole stream, determines what has changed (lifespans
that now end, places that were added or removed), and rewrites only the files with such rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xcql.arrays import Flags, Ints, borders_of, column_of, numbers_of, ranges, taken
from xcql.history.arrivals import BEGINNING, FOREVER, Arrivals, gather, instant_column
from xcql.history.places import Places, no_places
from xcql.history.vectorised import Derived, derive
from xcql.model.tags import TagStructure
from xcql.shred.checksums import check_opening, read_parquet
from xcql.shred.namespaces import namespaces_of
from xcql.shred.tables import DERIVED, PLACES, REMOVES, RowSource, read_staged
from xcql.store.state import DataFile, Stream
from xcql.xdm.parse import parse_element
from xcql.xdm.serialize import canonical

LIGHT = ["filler", "operation", "validTime", "digest", "holes"]


@dataclass(frozen=True, slots=True)
class RowPart:
    """One source of rows: its location, and its light columns with `seq`.

    `numbers` are the rows of the source that are in `light`: each fragment once. `derived` has the
    derived columns of all rows of a stored file (`file`); a newly staged source has none.
    """

    tsid: str
    source: RowSource
    numbers: Ints
    light: pa.Table
    size: int
    file: DataFile | None = None
    derived: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class StreamRows:
    """All rows of a stream and their sources; the removes come last, without a source (-1).

    `sources` are indexes into `parts`.
    """

    structure: TagStructure
    parts: Sequence[RowPart]
    arrivals: Arrivals
    sources: Ints
    numbers: Ints

    def of_source(self, part: int) -> Ints:
        """The rows that come from a source."""
        return np.flatnonzero(self.sources == part)


def read_file(store: Path, file: DataFile, columns: Sequence[str] | None = None) -> pa.Table:
    """Read columns of a data file, all of them by default; an error if it is damaged."""
    path = store / file.path
    check_opening(path, file.bytes, file.checksums)
    return read_parquet(path, columns)


def stored_rows(store: Path, stream: Stream) -> Iterator[RowPart]:
    """The rows of the stream's tables, file by file."""
    for tsid, table in stream.tables.items():
        for file in table.files:
            path = str(store / file.path)
            names = list(dict.fromkeys([*LIGHT, *(one.name for one in DERIVED)]))
            columns = read_file(store, file, names)
            # a fragment may have several rows, one per version
            numbers = np.unique(numbers_of(columns.column("seq")), return_index=True)[1]
            light = columns.select([*LIGHT, "seq"])
            if len(numbers) < light.num_rows:
                light = taken(light, numbers)
            derived = columns.select([one.name for one in DERIVED]).cast(pa.schema(DERIVED))
            source = RowSource(path, table.shape, is_staged=False)
            size = file.bytes * 3
            if len(numbers) == columns.num_rows:
                numbers = np.arange(len(numbers))
            yield RowPart(tsid, source, numbers, light, size, file, derived)


def stored_removes(store: Path, stream: Stream) -> pa.Table:
    parts = [read_file(store, file) for file in stream.removes]
    return pa.concat_tables([REMOVES.empty_table(), *(part.cast(REMOVES) for part in parts)])


def stream_rows(structure: TagStructure, parts: Sequence[RowPart], removes: pa.Table) -> StreamRows:
    """Combine the rows of all sources and the removes."""
    arrivals = gather(structure, [(part.tsid, part.light) for part in parts], removes)
    sizes = [len(part.numbers) for part in parts]
    outside = np.full(removes.num_rows, -1)
    return StreamRows(
        structure,
        parts,
        arrivals,
        np.concatenate([np.repeat(np.arange(len(parts)), sizes), outside]).astype(np.int64),
        np.concatenate([*(part.numbers for part in parts), outside]).astype(np.int64),
    )


def all_rows(store: Path, stream: Stream) -> StreamRows:
    """All rows of a stream in a store."""
    parts = list(stored_rows(store, stream))
    return stream_rows(stream.tags, parts, stored_removes(store, stream))


def derive_rows(rows: StreamRows) -> Derived:
    """Derive versions and places from the rows of a stream."""
    return derive(rows.structure, rows.arrivals, _canonical_bodies(rows))


def _canonical_bodies(rows: StreamRows) -> Callable[[int], str]:
    """Return a function that computes the canonical form of a row's element."""

    @lru_cache(maxsize=8)
    def bodies(part: int) -> pa.Table:
        source = rows.parts[part].source
        if source.is_staged:
            return read_staged(source.rows)
        return read_parquet(source.rows, ["raw", "namespaces"])

    @lru_cache(maxsize=1024)
    def body_of(row: int) -> str:
        table = bodies(int(rows.sources[row]))
        number = int(rows.numbers[row])
        namespaces = namespaces_of(table.column("namespaces")[number].as_py())
        namespaces["stream"] = "urn:xcql:stream"
        element = parse_element(table.column("raw")[number].as_py(), namespaces, ("stream",))
        return canonical(element)

    return body_of


def derived_as_stored(rows: StreamRows, stream: Stream) -> Derived:
    """The versions and places as the stream has them: some commits keep no places."""
    derived = derive_rows(rows)
    if derived.placement.is_lasting and not stream.placed_if_settled:
        placement = replace(derived.placement, places=no_places(), is_lasting=False)
        derived = replace(derived, placement=placement)
    return derived


class DerivedRows:
    """The rows of a stream's tables: one per version of a fragment, or one if it has none.

    Everything that is needed for many rows is looked up in arrays that are built once.
    """

    def __init__(self, rows: StreamRows, derived: Derived) -> None:
        self.rows = rows
        self.versions = versions = derived.versions
        self._order = np.lexsort([versions.since, versions.rows])
        self._borders = np.searchsorted(
            versions.rows[self._order], np.arange(len(rows.arrivals) + 1)
        )
        places = self.places = derived.placement.places
        self._place_struct = _place_values(places, rows.arrivals.ids)
        self.place_borders = np.searchsorted(places.fillers, np.arange(len(rows.arrivals.ids) + 1))
        self._ranks = _document_ranks(places, self.place_borders)

    def entries(self, rows: Ints) -> tuple[Ints, Ints]:
        """Each row repeated once per version, and these versions: -1 for a row without one."""
        begins, ends = self._borders[rows], self._borders[rows + 1]
        number, version = ranges(begins, np.maximum(ends, begins + 1))
        has_one = (ends > begins)[number]
        found = np.full(len(number), -1)
        found[has_one] = self._order[version[has_one]]
        return rows[number], found

    def in_file_order(self, rows: Ints) -> tuple[Ints, Ints]:
        """The entries of rows in document order, but entries that have not ended come first."""
        repeated, versions = self.entries(rows)
        arrivals = self.rows.arrivals
        order = np.lexsort(
            [
                self._of(versions, self.versions.since, BEGINNING),
                arrivals.seqs[repeated],
                self._of(versions, self.versions.numbers, 0),
                self._ranks[arrivals.fillers[repeated]],
                self._of(versions, self.versions.vt_to, FOREVER) < FOREVER,
            ]
        )
        return repeated[order], versions[order]

    def columns(self, rows: Ints, versions: Ints) -> dict[str, pa.Array]:
        """The derived columns of entries; one without a version counts for no `now`."""
        known, arrivals = self.versions, self.rows.arrivals
        numbers = self._of(versions, known.numbers, 0).astype(np.int32)
        fillers = arrivals.fillers[rows]
        begins = self.place_borders[fillers]
        ends = np.where(versions >= 0, self.place_borders[fillers + 1], begins)
        borders = column_of(borders_of(ends - begins))
        places = taken(self._place_struct, ranges(begins, ends)[1])
        return {
            "seq": column_of(arrivals.seqs[rows]),
            "number": column_of(numbers, numbers > 0),
            "vtFrom": instant_column(self._of(versions, known.vt_from, BEGINNING), BEGINNING),
            "vtTo": instant_column(self._of(versions, known.vt_to, FOREVER), FOREVER),
            "since": instant_column(self._of(versions, known.since, BEGINNING), BEGINNING),
            "until": instant_column(self._of(versions, known.until, BEGINNING), FOREVER),
            "places": pa.ListArray.from_arrays(borders, places, type=PLACES),
        }

    def is_unchanged(self, part: int) -> bool:
        """Whether the derived columns in a stored file equal those derived now."""
        stored = self.rows.parts[part].derived
        assert stored is not None
        rows, versions = self.entries(self.rows.of_source(part))
        if len(rows) != stored.num_rows:
            return False
        columns = self.columns(rows, versions)
        new = pa.table([columns[one.name] for one in DERIVED], schema=pa.schema(DERIVED))
        return bool(_by_seq(new).equals(_by_seq(stored)))

    @staticmethod
    def _of(versions: Ints, column: Ints, otherwise: int) -> Ints:
        if not len(column):
            return np.full(len(versions), otherwise)
        return np.where(versions >= 0, column[versions], otherwise)


def _by_seq(table: pa.Table) -> pa.Table:
    order = [("seq", "ascending"), ("since", "ascending"), ("number", "ascending")]
    indices = pc.sort_indices(table.select(["seq", "since", "number"]), order)
    return table.take(indices).combine_chunks()


def _place_values(places: Places, ids: pa.StringArray) -> pa.StructArray:
    arrays = [
        places.keys,
        taken(ids, places.parents, places.parents >= 0),
        instant_column(places.vt_from, BEGINNING),
        instant_column(places.vt_to, FOREVER),
        instant_column(places.since, BEGINNING),
        instant_column(places.until, FOREVER),
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(PLACES.value_type))


def _document_ranks(places: Places, borders: Ints) -> Ints:
    """The rank of each filler's first place in the document; fillers not in it come last."""
    has_place: Flags = borders[1:] > borders[:-1]
    ranks = np.full(len(has_place), len(has_place) + 1)
    if has_place.any():
        first_keys = taken(places.keys, borders[:-1][has_place])
        ranks[has_place] = numbers_of(pc.rank(first_keys, tiebreaker="dense"))
    return ranks
