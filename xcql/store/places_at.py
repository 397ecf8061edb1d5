"""The places of fillers at one `now`, for a stream whose places are too many to be stored.

A view that has too many copies of fillers over all `now`s may have few at any one, or in the
document at an instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xcql.arrays import column_of, ranges, taken
from xcql.diagnostics import error
from xcql.history.arrivals import Arrivals, gather, microseconds
from xcql.history.bitemporal import BitemporalRow
from xcql.history.places import Placement, VersionColumns, place
from xcql.history.predicates import known_end, stands_at
from xcql.model.time import START
from xcql.shred.tables import REMOVES
from xcql.store.rows import RowPart, stored_rows
from xcql.store.state import Stream

_MAX_COPIES = 2_000_000


def places_at(store: Path, stream: Stream, now: datetime, at: datetime | None) -> pa.Table:
    """All copies in the view, or in the document `at` an instant: `filler`, `number` and `key`.

    `number` is the number of the version; the `key` of the copy ends with it.
    """
    parts = list(stored_rows(store, stream))
    light = [(part.tsid, part.light) for part in parts]
    arrivals = gather(stream.tags, light, REMOVES.empty_table())
    versions = _versions(stream, parts, arrivals, now, at)
    filler_tags = np.full(len(arrivals.ids), -1)
    filler_tags[versions.fillers] = arrivals.tags[versions.rows]
    placement = place(stream.tags, arrivals.ids, filler_tags, versions, arrivals.holes, _MAX_COPIES)
    if not placement.complete:
        raise error(
            "XCQL0318",
            f"the view of '{stream.name}' has more than {_MAX_COPIES:,} copies of fillers",
            hints=["request the document at an instant, or query the stream"],
        )
    return _copies(arrivals, versions, placement)


def _versions(
    stream: Stream, parts: Sequence[RowPart], arrivals: Arrivals, now: datetime, at: datetime | None
) -> VersionColumns:
    """The versions that count at `now`, or those of them in the document `at` an instant."""
    row_of = {seq: row for row, seq in enumerate(arrivals.seqs.tolist())}
    shown = []
    for part in parts:
        tag = stream.tags.by_id(part.tsid)
        assert tag is not None
        assert part.derived is not None
        for version in map(_version, part.derived.to_pylist()):
            end = known_end(version.vt_to, now)
            if version.counts_at(now) and (
                at is None or stands_at(tag.kind, version.vt_from, end, at)
            ):
                row = row_of[version.seq]
                times = map(microseconds, version[2:])
                shown.append((int(arrivals.fillers[row]), row, version.number, *times))
    return VersionColumns(*np.array(sorted(shown), np.int64).reshape(-1, 7).T)


def _version(row: dict[str, Any]) -> BitemporalRow:
    begin, since = row["vtFrom"] or START, row["since"] or START
    return BitemporalRow(row["seq"], row["number"], begin, row["vtTo"], since, row["until"])


def _copies(arrivals: Arrivals, versions: VersionColumns, placement: Placement) -> pa.Table:
    """Each place once for every version of its filler."""
    fillers = placement.places.fillers
    borders = np.searchsorted(versions.fillers, np.arange(len(arrivals.ids) + 1))
    places, which = ranges(borders[fillers], borders[fillers + 1])
    numbers = versions.numbers[which]
    octets = pa.py_buffer(numbers.astype(">u4").tobytes())
    endings = pa.Array.from_buffers(pa.binary(4), len(numbers), [None, octets]).cast(pa.binary())
    keys = pc.binary_join_element_wise(taken(placement.places.keys, places), endings, b"")
    return pa.table(
        {
            "filler": taken(arrivals.ids, fillers[places]),
            "number": column_of(numbers.astype(np.int32)),
            "key": keys,
        }
    )
