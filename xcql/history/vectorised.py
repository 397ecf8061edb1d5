"""What a stream's fillers amount to as a whole: versions, lifespans, places in the view.

Everything here is metadata: ids, times, holes. Bodies are looked at only where two fragments of
one id and validTime differ byte for byte and may still be the same canonically.

An id for which fillers with different validTimes have come, as is so for most ids of most streams,
has just these versions, and all of them are found together; `history` tells for each of the others
what its fragments mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

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
from xcql.history.bitemporal import Arrival, versions, without_repetitions
from xcql.history.places import Placement, Versions, place
from xcql.model.tags import TagStructure
from xcql.model.time import START

# Copies of fillers are kept up to this many, or this many times the versions that there are: where
# parents have many versions the view multiplies them, and a hostile stream does so on purpose
_COPIES = 200_000
_COPIES_PER_VERSION = 10


@dataclass(frozen=True, slots=True)
class Derived:
    """What `derive` finds; rows are those of the arrivals.

    `clashes` are the rows whose id already had another tsid, with the number of that tag;
    `repetitions` marks the rows that change nothing. A row without versions counts for no `now`.
    """

    versions: Versions
    placement: Placement
    clashes: Mapping[int, int]
    repetitions: Flags


def derive(structure: TagStructure, arrivals: Arrivals, body_of: Callable[[int], str]) -> Derived:
    """Versions and places of all fillers, given everything that has arrived.

    `body_of` gives the canonical form of a row's element.
    """
    found = _Found(structure, arrivals, body_of)
    all_versions = _versions(structure, arrivals, found)
    limit = max(_COPIES, _COPIES_PER_VERSION * len(np.unique(all_versions.rows)))
    placement = place(
        structure, arrivals.ids, found.filler_tags, all_versions, arrivals.holes, limit
    )
    repetitions = np.zeros(len(arrivals), np.bool_)
    repetitions[found.repetitions] = True
    return Derived(all_versions, placement, found.clashes, repetitions)


def _versions(structure: TagStructure, arrivals: Arrivals, found: _Found) -> Versions:
    by_time = np.lexsort([arrivals.times, arrivals.fillers])
    is_simple = ~_need_history(arrivals, by_time)[arrivals.fillers]
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
    return Versions(arrivals.fillers[rows][order], rows[order], *(one[order] for one in rest))


def _need_history(arrivals: Arrivals, by_time: Ints) -> Flags:
    """The ids for which more has come than fillers of one tag with different validTimes."""
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
    """The versions of the ids that need no history: one for each row, given in order of time.

    The same as `history.versions` would say: row, number, begin, end, since, until.
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
    """Collects what is found of the ids that need a history; and the tags of all ids' fillers."""

    def __init__(
        self, structure: TagStructure, arrivals: Arrivals, body_of: Callable[[int], str]
    ) -> None:
        self._tags = list(structure)
        self._arrivals = arrivals
        self._body_of = body_of
        self.filler_tags: Ints = np.full(len(arrivals.ids), -1)
        # row, number, and begin, end, since, until in microseconds
        self.versions: list[tuple[int, int, int, int, int, int]] = []
        self.clashes: dict[int, int] = {}
        self.repetitions: list[int] = []

    def add(self, rows: list[int]) -> None:
        """Look at all rows of one id, in the order of arrival."""
        arrivals = self._arrivals
        known = -1
        alive: list[Arrival] = []
        for row in rows:
            tag, operation, time = arrivals.tags[row], arrivals.operations[row], arrivals.times[row]
            if known >= 0 and tag >= 0 and tag != known:
                self.clashes[row] = known
            elif operation == REMOVE and time == FOREVER:
                # nothing is left of the id, so that it may begin anew, even as another tag
                known = -1
                alive = []
            else:
                if tag >= 0 and operation != REMOVE:
                    known = int(tag)
                alive.append(Arrival(row, OPERATIONS[operation], _instant(int(time))))
        if known < 0:
            return
        self.filler_tags[arrivals.fillers[rows[0]]] = known
        kind = self._tags[known].kind
        kept = without_repetitions(alive, kind, self._is_same)
        if len(kept) < len(alive):
            numbers = {arrival.seq for arrival in kept}
            self.repetitions += [one.seq for one in alive if one.seq not in numbers]
        self.versions += [
            (
                version.seq,
                version.number,
                microseconds(version.vt_from),
                microseconds(version.vt_to),
                microseconds(version.since),
                microseconds(version.until),
            )
            for version in versions(kept, kind, self._is_same)
        ]

    def _is_same(self, one: int, other: int) -> bool:
        digests = self._arrivals.digests
        return bool(digests[one] == digests[other]) or self._body_of(one) == self._body_of(other)


def _instant(time: int) -> datetime:
    return START if time == BEGINNING else instant(time)


def null_if_start(instant: datetime) -> datetime | None:
    """An instant as columns have it: NULL for the beginning of time."""
    return None if instant == START else instant
