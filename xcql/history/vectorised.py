"""Versions, lifespans and places of all fillers of a stream, computed on columns.

All of this is metadata: ids, times, holes. Bodies are read only if two fragments with the same id
and validTime differ byte for byte, because they may still be canonically equal.

Most ids of most streams have only fillers with different validTimes. Each of these is a version,
and all of them are computed at once; `bitemporal` computes the rows of every other id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from xcql.arrays import Flags, Ints
from xcql.history.arrivals import (
    BEGINNING,
    FOREVER,
    OPERATIONS,
    REMOVE,
    REPLACE,
    Arrivals,
    instant,
    microseconds,
)
from xcql.history.bitemporal import ArrivedRow, bitemporal_rows, without_repetitions
from xcql.history.definition import Known
from xcql.history.places import Placement, VersionColumns, place
from xcql.model.tags import TagStructure

# The limit for copies of fillers: this number, or this factor times the number of versions. If
# parents have many versions, the view multiplies them; a hostile stream does so on purpose.
_COPIES = 200_000
_COPIES_PER_VERSION = 10


@dataclass(frozen=True, slots=True)
class Derived:
    """The result of `derive`; rows are those of the arrivals.

    `clashes` are the rows whose id already had another tsid, with the number of that tag;
    `repetitions` marks the rows that change nothing. A row without versions counts at no `now`.
    """

    versions: VersionColumns
    placement: Placement
    clashes: Mapping[int, int]
    repetitions: Flags


def derive(structure: TagStructure, arrivals: Arrivals, body_of: Callable[[int], str]) -> Derived:
    """Derive the versions and places of all fillers from everything that arrived.

    `body_of` returns the canonical form of a row's element.
    """
    found = _Found(structure, arrivals, body_of)
    all_versions = _versions(structure, arrivals, found)
    limit = max(_COPIES, _COPIES_PER_VERSION * len(np.unique(all_versions.rows)))
    placement = place(
        structure, arrivals.ids, found.filler_tags, all_versions, arrivals.holes, limit
    )
    if not placement.complete:
        # a root that is sent again and again, with holes at other offsets, multiplies the places
        last = place(
            structure,
            arrivals.ids,
            found.filler_tags,
            _lasting(all_versions),
            arrivals.holes,
            limit,
        )
        placement = replace(placement, places=last.places, is_lasting=last.complete)
    repetitions = np.zeros(len(arrivals), np.bool_)
    repetitions[found.repetitions] = True
    return Derived(all_versions, placement, found.clashes, repetitions)


def _lasting(versions: VersionColumns) -> VersionColumns:
    """The versions that count after the last change."""
    kept = versions.until == FOREVER
    return VersionColumns(*(getattr(versions, one.name)[kept] for one in fields(versions)))


def _versions(structure: TagStructure, arrivals: Arrivals, found: _Found) -> VersionColumns:
    by_time = np.lexsort([arrivals.times, arrivals.fillers])
    is_simple = ~_need_definition(arrivals, by_time)[arrivals.fillers]
    simple = by_time[is_simple[by_time]]
    found.filler_tags[arrivals.fillers[simple]] = arrivals.tags[simple]
    others = np.flatnonzero(~is_simple)
    others = others[np.lexsort([arrivals.seqs[others], arrivals.fillers[others]])]
    borders = np.flatnonzero(np.diff(arrivals.fillers[others])) + 1
    for rows in np.split(others, borders):
        if len(rows):
            found.add(rows.tolist())

    columns = _simple_versions(structure, arrivals, simple)
    listed = np.array(found.versions, np.int64).reshape(-1, 6).T
    rows, *rest = (np.concatenate(pair) for pair in zip(columns, listed, strict=True))
    order = np.argsort(arrivals.fillers[rows], kind="stable")
    return VersionColumns(arrivals.fillers[rows][order], rows[order], *(one[order] for one in rest))


def _need_definition(arrivals: Arrivals, by_time: Ints) -> Flags:
    """The ids that have anything other than fillers of one tag with different validTimes."""
    fillers, times, tags = (
        column[by_time] for column in (arrivals.fillers, arrivals.times, arrivals.tags)
    )
    is_same = fillers[1:] == fillers[:-1]
    is_same &= (times[1:] == times[:-1]) | (tags[1:] != tags[:-1])
    is_among_others = np.bincount(arrivals.fillers)[arrivals.fillers] > 1
    is_special = (arrivals.operations == REMOVE) | (
        (arrivals.operations == REPLACE) & is_among_others
    )
    result = np.zeros(len(arrivals.ids), np.bool_)
    result[fillers[1:][is_same]] = True
    result[arrivals.fillers[is_special]] = True
    return result


def _simple_versions(structure: TagStructure, arrivals: Arrivals, rows: Ints) -> list[Ints]:
    """The rows of `bitemporal_rows` for simple ids: one version per row, rows sorted by time.

    Columns: row, number, begin, end, since, until.
    """
    fillers, times = arrivals.fillers[rows], arrivals.times[rows]
    following = np.full(len(rows), FOREVER)
    following[:-1] = np.where(fillers[1:] == fillers[:-1], times[1:], FOREVER)
    numbers = np.arange(len(rows)) - np.searchsorted(fillers, fillers) + 1
    is_snapshot, is_event = (
        np.array([tag.kind == kind for tag in structure])[arrivals.tags[rows]]
        for kind in ("snapshot", "event")
    )
    return [
        rows,
        np.where(is_snapshot, 1, numbers),
        np.where(is_snapshot, BEGINNING, times),
        np.where(is_snapshot, FOREVER, np.where(is_event, times, following)),
        times,
        np.where(is_snapshot, following, FOREVER),
    ]


class _Found:
    """Collects the results for ids that need the definition, and the tags of all fillers."""

    def __init__(
        self, structure: TagStructure, arrivals: Arrivals, body_of: Callable[[int], str]
    ) -> None:
        self._tags = list(structure)
        self._arrivals = arrivals
        self._body_of = body_of
        self.filler_tags: Ints = np.full(len(arrivals.ids), -1)
        # row, number, and begin, end, since, until in microseconds
        self.versions: list[tuple[int, ...]] = []
        self.clashes: dict[int, int] = {}
        self.repetitions: list[int] = []

    def add(self, rows: Sequence[int]) -> None:
        """Process all rows of one id, in order of arrival."""
        arrivals = self._arrivals
        known: Known[ArrivedRow, int] = Known()
        for row in rows:
            tag, time = int(arrivals.tags[row]), int(arrivals.times[row])
            operation = OPERATIONS[arrivals.operations[row]]
            arrival = ArrivedRow(row, operation, None if time == FOREVER else instant(time))
            other = known.add(arrival, tag if tag >= 0 else None)
            if other is not None:
                self.clashes[row] = other
        if known.tag is None:
            return
        self.filler_tags[arrivals.fillers[rows[0]]] = known.tag
        kind = self._tags[known.tag].kind
        kept = without_repetitions(known.arrived, kind, self._is_same)
        self.repetitions += {one.seq for one in known.arrived} - {one.seq for one in kept}
        self.versions += [
            (row.seq, row.number, *map(microseconds, row[2:]))
            for row in bitemporal_rows(kept, kind, self._is_same)
        ]

    def _is_same(self, one: ArrivedRow, other: ArrivedRow) -> bool:
        digests = self._arrivals.digests
        if digests[one.seq] == digests[other.seq]:
            return True
        return self._body_of(one.seq) == self._body_of(other.seq)
