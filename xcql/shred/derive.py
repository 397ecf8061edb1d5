"""What a stream's fillers amount to as a whole: versions, lifespans, places in the view.

Everything here is metadata: ids, times, holes. Bodies are looked at only where two fragments of
one id and validTime differ byte for byte and may still be the same canonically.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from xcql.model.fragments import Hole
from xcql.model.tags import TagStructure
from xcql.model.time import START
from xcql.shred.history import Arrival, Version, versions, without_repetitions
from xcql.shred.places import Filler, Place, Placement, place

# Copies of fillers are kept up to this many, or this many times the versions that there are: where
# parents have many versions the view multiplies them, and a hostile stream does so on purpose
_COPIES = 200_000
_COPIES_PER_VERSION = 10


class Row(NamedTuple):
    """A fragment that was accepted, without its body; a `remove` may have no tsid."""

    seq: int
    tsid: str | None
    filler: str
    operation: str
    valid_time: datetime | None
    digest: bytes
    holes: Sequence[Hole]


@dataclass(frozen=True, slots=True)
class Derived:
    """What `derive` finds; rows are named by their numbers in the order of arrival.

    `clashes` are the rows whose id already had another tsid, with that tsid; `repetitions` the
    rows that change nothing. A kept row without versions counts for no `now`.
    """

    versions: Mapping[int, Sequence[Version]]
    placement: Placement
    clashes: Mapping[int, str]
    repetitions: frozenset[int]


def derive(structure: TagStructure, rows: Iterable[Row], body_of: Callable[[int], str]) -> Derived:
    """Versions and places of all fillers, given everything that arrived, in order.

    `body_of` gives the canonical form of a row's element.
    """
    arrivals: dict[str, list[Row]] = {}
    tsids: dict[str, str] = {}
    clashes: dict[int, str] = {}
    for row in rows:
        known = tsids.get(row.filler)
        if known is not None and row.tsid is not None and row.tsid != known:
            clashes[row.seq] = known
        elif row.operation == "remove" and row.valid_time is None:
            # nothing is left of the id, so that it may begin anew, even as another tag
            arrivals.pop(row.filler, None)
            tsids.pop(row.filler, None)
        else:
            if row.tsid is not None and row.operation != "remove":
                tsids[row.filler] = row.tsid
            arrivals.setdefault(row.filler, []).append(row)

    found: dict[int, list[Version]] = {}
    repetitions: list[int] = []
    fillers: dict[str, Filler] = {}
    for id, those in arrivals.items():
        if id not in tsids:
            continue
        tag = structure.by_id(tsids[id])
        assert tag is not None, "a filler with an unknown tsid is never accepted"
        by_seq = {row.seq: row for row in those}

        def is_same(one: int, other: int, rows: dict[int, Row] = by_seq) -> bool:
            return rows[one].digest == rows[other].digest or body_of(one) == body_of(other)

        all_arrivals = [
            Arrival(row.seq, row.operation, row.valid_time)
            for row in those
            if row.valid_time is not None
        ]
        kept = without_repetitions(all_arrivals, tag.kind, is_same)
        if len(kept) < len(all_arrivals):
            numbers = {arrival.seq for arrival in kept}
            repetitions += [seq for seq in by_seq if seq not in numbers]
        id_versions = versions(kept, tag.kind, is_same)
        for version in id_versions:
            found.setdefault(version.seq, []).append(version)
        fillers[id] = Filler(tag.id, [(one, by_seq[one.seq].holes) for one in id_versions])
    placement = place(structure, fillers, max(_COPIES, _COPIES_PER_VERSION * len(found)))
    return Derived(found, placement, clashes, frozenset(repetitions))


def null_if_start(instant: datetime) -> datetime | None:
    """An instant as columns have it: NULL for the beginning of time."""
    return None if instant == START else instant


def place_as_dict(place: Place) -> dict[str, object]:
    """A place as a value of the column `places`."""
    return {
        "key": place.key,
        "parent": place.parent,
        "vtFrom": null_if_start(place.vt_from),
        "vtTo": place.vt_to,
        "since": null_if_start(place.since),
        "until": place.until,
    }
