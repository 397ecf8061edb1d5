"""What an id's arrivals amount to: its versions, and for which `now` each of them counts.

A store holds all that has come, and a query may be asked with any `now`. Almost always a version
is the same whatever `now` is, once its validTime has passed. Two things make the past look
different from the present: a snapshot filler has only its latest state, and a `<replace>` of
later validTime has not happened yet. So every row says for which evaluations it counts:

    since <= now < until        (NULL: the beginning of time, and for ever)

and its `vtTo` is read as `now` where it is later than `now`. That is all a query has to do to
travel in time. Where the end of a version depends on `now` otherwise, it has several rows.

    >>> from datetime import datetime as d
    >>> first, second = Arrival(1, "filler", d(2003, 1, 1)), Arrival(2, "filler", d(2004, 1, 1))
    >>> [(row.number, row.vt_from.year, row.vt_to and row.vt_to.year) for row in
    ...  versions([first, second], "temporal")]
    [(1, 2003, 2004), (2, 2004, None)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from xcql.model.tags import TagKind
from xcql.model.time import START

# whether two fragments, given by their numbers, have canonically equal bodies
IsSame = Callable[[int, int], bool]


class Arrival(NamedTuple):
    """One fragment of an id: its number in the order of arrival, and what it does.

    A `remove` without a validTime is none: it ends what is known of the id, and another begins.
    """

    seq: int
    operation: str
    valid_time: datetime


class Version(NamedTuple):
    """A version (or event, or state of a snapshot filler) and the `now`s for which it counts.

    `vt_to` is None for `now`; `until` is None for ever.
    """

    seq: int
    number: int
    vt_from: datetime
    vt_to: datetime | None
    since: datetime
    until: datetime | None

    def counts_at(self, now: datetime) -> bool:
        """Whether it is part of an evaluation at `now`."""
        return self.since <= now and (self.until is None or now < self.until)


def without_repetitions(
    arrivals: Sequence[Arrival], kind: TagKind, is_same: IsSame
) -> list[Arrival]:
    """The arrivals that change something.

    A fragment repeats what is there: the state at its validTime, or any event at it. Whatever a
    `replace` or `remove` has cleared away is not there.
    """
    if len(arrivals) == 1:
        return list(arrivals)
    kept: list[Arrival] = []
    there: dict[datetime, list[Arrival]] = {}
    for arrival in arrivals:
        if arrival.operation == "replace":
            there = {}
        at = there.setdefault(arrival.valid_time, [])
        if arrival.operation == "remove":
            if at and at[-1].operation == "remove":
                continue
        elif any(other.operation != "remove" and is_same(other.seq, arrival.seq) for other in at):
            continue
        if kind != "event" or arrival.operation == "remove":
            at.clear()
        at.append(arrival)
        kept.append(arrival)
    return kept


def versions(
    arrivals: Sequence[Arrival], kind: TagKind, is_same: IsSame = int.__eq__
) -> list[Version]:
    """The rows of one id, given what arrived for it, in order, without repetitions.

    `is_same` as for `without_repetitions`: what a `replace` clears away counts for a `now` before
    it, and then what came after the `replace` may repeat it.
    """
    if len(arrivals) == 1 and arrivals[0].operation != "remove":
        seq, _, time = arrivals[0]
        return [_row(seq, 1, time, None, kind, time, None)]
    rows: list[Version] = []
    cleared = 0
    for index, arrival in enumerate(arrivals):
        if arrival.operation == "replace" and arrival.valid_time == START:
            cleared = index
    alive = arrivals[cleared:]
    times = {arrival.valid_time for arrival in alive if arrival.operation == "replace"} - {START}
    bounds: list[datetime | None] = [START, *sorted(times), None]
    for begin, end in pairwise(bounds):
        assert begin is not None
        rows += _rows_between(begin, end, alive, kind, is_same)
    return _joined(rows)


def _rows_between(
    begin: datetime,
    end: datetime | None,
    alive: Sequence[Arrival],
    kind: TagKind,
    is_same: IsSame,
) -> Iterator[Version]:
    """The rows that count for a `now` from `begin` to before `end`, where no `replace` happens."""
    first = 0
    for index, arrival in enumerate(alive):
        if arrival.operation == "replace" and arrival.valid_time <= begin:
            first = index
    states: dict[datetime, list[Arrival]] = {}
    for arrival in alive[first:]:
        time = arrival.valid_time
        if end is not None and time >= end:
            continue
        there = states.setdefault(time, [])
        if kind != "event" or arrival.operation == "remove":
            there.clear()
        elif any(one.operation != "remove" and is_same(one.seq, arrival.seq) for one in there):
            continue
        there.append(arrival)
    times = sorted(states)
    number = 0
    for index, time in enumerate(times):
        following = times[index + 1] if index + 1 < len(times) else None
        for arrival in states[time]:
            if arrival.operation != "remove":
                number += 1
                until = end
                if kind == "snapshot" and following is not None:
                    until = following
                since = max(begin, time)
                if until is None or since < until:
                    yield _row(arrival.seq, number, time, following, kind, since, until)


def _row(
    seq: int,
    number: int,
    time: datetime,
    following: datetime | None,
    kind: TagKind,
    since: datetime,
    until: datetime | None,
) -> Version:
    if kind == "snapshot":
        return Version(seq, 1, START, None, since, until)
    return Version(seq, number, time, time if kind == "event" else following, since, until)


def _joined(rows: Iterable[Version]) -> list[Version]:
    """The rows with those made one that differ only in adjoining stretches of `now`."""
    joined: dict[tuple[int, int, datetime, datetime | None], list[Version]] = {}
    for row in rows:
        same = joined.setdefault(row[:4], [])
        if same and same[-1].until == row.since:
            same[-1] = same[-1]._replace(until=row.until)
        else:
            same.append(row)
    return [row for same in joined.values() for row in same]
