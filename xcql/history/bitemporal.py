"""The rows of a store: the versions of a filler id, each with the `now`s for which it counts.

A store keeps everything that arrived, and a query can be evaluated at any `now`. A version is
almost always the same for every `now` after its validTime. The past differs from the present in
only two ways: a snapshot filler has only its latest state, and a `<replace>` with a later
validTime has not happened yet. So every row records the evaluations for which it counts:

    since <= now < until        (NULL: the beginning of time, and forever)

and its `vtTo` reads as `now` if it is later than `now`. Time travel needs nothing else. If the
end of a version depends on `now` in another way, the version has several rows.

    >>> from datetime import datetime as d
    >>> arrived = [ArrivedRow(1, "filler", d(2003, 1, 1)), ArrivedRow(2, "filler", d(2004, 1, 1))]
    >>> [(row.seq, row.vt_from.year, row.vt_to and row.vt_to.year) for row in
    ...  bitemporal_rows(arrived, "temporal", lambda one, other: False)]
    [(1, 2003, 2004), (2, 2004, None)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from xcql.history.definition import IsSame, Timeline
from xcql.history.predicates import counts_at
from xcql.model.fragments import Operation
from xcql.model.tags import TagKind
from xcql.model.time import START


class ArrivedRow(NamedTuple):
    """One fragment of an id without its body: its sequence number and what it does."""

    seq: int
    op: Operation
    valid_time: datetime | None


class BitemporalRow(NamedTuple):
    """A version, event or snapshot state, and the `now`s for which it counts.

    `vt_to` is None for `now`; `until` is None for forever.
    """

    seq: int
    number: int
    vt_from: datetime
    vt_to: datetime | None
    since: datetime
    until: datetime | None

    def counts_at(self, now: datetime) -> bool:
        """Whether the row is part of an evaluation at `now`."""
        return counts_at(self.since, self.until, now)


def without_repetitions(
    arrived: Iterable[ArrivedRow], kind: TagKind, is_same: IsSame[ArrivedRow]
) -> list[ArrivedRow]:
    """The arrivals that change something at any `now`."""
    timeline = Timeline(kind, is_same)
    return [arrival for arrival in arrived if timeline.add(arrival)]


def bitemporal_rows(
    arrived: Sequence[ArrivedRow], kind: TagKind, is_same: IsSame[ArrivedRow]
) -> list[BitemporalRow]:
    """The rows of one id, given all of its arrivals in order."""
    times = {one.valid_time for one in arrived if one.op == "replace" and one.valid_time}
    bounds: list[datetime | None] = [START, *sorted(times - {START}), None]
    rows: list[BitemporalRow] = []
    for begin, end in pairwise(bounds):
        assert begin is not None
        rows += _rows_between(begin, end, arrived, kind, is_same)
    return _joined(rows) if len(bounds) > 2 else rows


def _rows_between(
    begin: datetime,
    end: datetime | None,
    arrived: Iterable[ArrivedRow],
    kind: TagKind,
    is_same: IsSame[ArrivedRow],
) -> Iterator[BitemporalRow]:
    """The rows that count from `begin` until just before `end`, between two `replace`s."""
    timeline = Timeline(kind, is_same)
    for arrival in arrived:
        if end is None or (arrival.valid_time and arrival.valid_time < end):
            timeline.add(arrival)
    for number, version in enumerate(timeline.versions(), 1):
        since = max(begin, version.begin)
        if kind != "snapshot":
            yield BitemporalRow(version.fragment.seq, number, *version[1:], since, end)
            continue
        until = end if version.end is None else version.end
        if until is None or since < until:
            yield BitemporalRow(version.fragment.seq, 1, START, None, since, until)


def _joined(rows: Iterable[BitemporalRow]) -> list[BitemporalRow]:
    """Merge rows that differ only in adjacent ranges of `now`."""
    joined: dict[tuple[int, int, datetime, datetime | None], list[BitemporalRow]] = {}
    for row in rows:
        same = joined.setdefault(row[:4], [])
        if same and same[-1].until == row.since:
            same[-1] = same[-1]._replace(until=row.until)
        else:
            same.append(row)
    return [row for same in joined.values() for row in same]
