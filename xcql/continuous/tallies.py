"""Stored tallies: what the events of each filler contribute to the counts and sums of a query.

They are a cache. A missing one is computed from all events of the filler; when events at some
instants change, the difference between their old and new contributions is applied.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Any

from xcql.analysis.graph import TagGraph
from xcql.continuous.aggregates import whole_number
from xcql.continuous.fillers import Fillers, Wanted
from xcql.continuous.partial import Found
from xcql.continuous.reception import Changes, Received
from xcql.continuous.state_file import to_number
from xcql.continuous.tally_plan import UnitTally
from xcql.continuous.units import UnitCode
from xcql.evaluate.arithmetic import calculate
from xcql.evaluate.sequences import computed
from xcql.evaluate.values import atomize
from xcql.history.definition import Histories, History, Version
from xcql.history.view import view_of_histories
from xcql.model.fragments import ROOT_ID, Fragment
from xcql.xdm.atomic import string_of
from xcql.xdm.nodes import dissolve

# integers up to this are exact as doubles; values below the second limit go into stored sums
_EXACT = 1 << 53
_LARGE = 1 << 31
# the number of events to process together; the trees of all events of a filler may be too many
_AT_ONCE = 10_000


@dataclass(slots=True)
class Total:
    """The number of values, their sum, and the sum of their absolute values.

    A value that is not an integer, or is very large, is only counted, in `unsummed`.
    """

    count: int = 0
    sum: int = 0
    size: int = 0
    unsummed: int = 0

    def add(self, other: Total, sign: int = 1) -> None:
        self.count += sign * other.count
        self.sum += sign * other.sum
        self.size += sign * other.size
        self.unsummed += sign * other.unsummed

    def value(self, name: str) -> tuple[Any, ...] | None:
        """The value of an aggregate; None if it cannot be computed from this."""
        match name:
            case "count":
                return (self.count,)
            case "exists":
                return (self.count > 0,)
            case "empty":
                return (self.count == 0,)
        if not self.count:
            return (0,) if name == "sum" else ()
        if self.unsummed or self.size >= _EXACT:
            return None
        total = float(self.sum)
        return (total,) if name == "sum" else (calculate("div", total, self.count),)


# contribution of a filler's events at an instant, by number of the tally, id, and instant
_Added = dict[tuple[int, str, int], Total]


class Tallies:
    """The tallies of a query, in a state."""

    def __init__(
        self,
        state: sqlite3.Connection,
        stream: str,
        tallies: tuple[UnitTally, ...],
        code: UnitCode,
        fillers: Fillers,
        graph: TagGraph,
    ) -> None:
        """`code` has an expression for each tally: what counts in one event."""
        self._state = state
        self._stream = stream
        self._tallies = tallies
        self._code = code
        self._fillers = fillers
        self._graph = graph
        self._events = frozenset().union(*(tally.events for tally in tallies))
        self._before: _Added = {}

    def foresee(self, received: Iterable[Received], now: datetime) -> None:
        """Compute the contributions of events that may be about to change."""
        times: dict[str, set[int]] = {}
        for one in received:
            record = one.record
            if (
                one.stream == self._stream
                and isinstance(record, Fragment)
                and record.valid_time is not None
                and (record.tsid is None or record.tsid in self._events)
            ):
                times.setdefault(record.id, set()).add(to_number(record.valid_time))
        self._before = self._added(_frozen(times), now)

    def change(self, changes: Changes, now: datetime) -> None:
        """Update the stored totals; what enters the view by time alone added nothing before."""
        forgotten: list[tuple[str, str]] = []
        times: dict[str, set[int]] = {}
        for (stream, id), at in changes.fillers.items():
            if stream == self._stream and changes.tsids.get((stream, id), set()) & self._events:
                if at is None:
                    forgotten.append((stream, id))
                else:
                    times[id] = at
        self._state.executemany("DELETE FROM totals WHERE stream = ? AND id = ?", forgotten)
        kept = self._kept(times)
        known = {id for _, id in kept}
        for (number, id, instant), total in self._before.items():
            if id in known and instant in times[id]:
                kept[number, id].add(total, -1)
        wanted = _frozen({id: at for id, at in times.items() if id in known})
        for (number, id, _), total in self._added(wanted, now).items():
            kept[number, id].add(total)
        self._keep(kept)

    def forget(self) -> None:
        """Delete everything."""
        self._state.execute("DELETE FROM totals")

    def values(self, units: Iterable[Found], now: datetime) -> dict[int, list[tuple[Any, ...]]]:
        """The values of all tallies for each unit, by its identity, if they are known."""
        known = [unit for unit in units if unit.holes is not None]
        ids = {hole.id for unit in known for hole in unit.holes or ()}
        tsids = self._fillers.tsids(self._stream, ids)
        totals = self._totals([id for id, tsid in tsids.items() if tsid in self._events], now)
        found: dict[int, list[tuple[Any, ...]]] = {}
        for unit in known:
            values: list[tuple[Any, ...]] = []
            for number, tally in enumerate(self._tallies):
                total = Total()
                for hole in unit.holes or ():
                    if (hole.parent, tsids.get(hole.id)) in tally.places:
                        total.add(totals[number, hole.id])
                value = total.value(tally.name)
                if value is None:
                    break
                values.append(value)
            else:
                found[id(unit)] = values
        return found

    def _totals(self, ids: Collection[str], now: datetime) -> dict[tuple[int, str], Total]:
        """The totals of some fillers; missing ones are computed and stored."""
        found = self._kept(ids)
        new = {id for id in ids if (0, id) not in found}
        computed_now = {(number, id): Total() for id in new for number in range(len(self._tallies))}
        for (number, id, _), total in self._added(dict.fromkeys(new), now).items():
            computed_now[number, id].add(total)
        self._keep(computed_now)
        return found | computed_now

    def _kept(self, ids: Iterable[str]) -> dict[tuple[int, str], Total]:
        rows = self._state.execute(
            "SELECT t.number, t.id, t.count, t.sum, t.size, t.odd"
            " FROM json_each(?) AS wanted CROSS JOIN totals AS t"
            " WHERE t.stream = ? AND t.id = wanted.value",
            (json.dumps(list(ids)), self._stream),
        )
        return {(number, id): Total(*total) for number, id, *total in rows}

    def _keep(self, totals: Mapping[tuple[int, str], Total]) -> None:
        self._state.executemany(
            "INSERT OR REPLACE INTO totals VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(self._stream, id, number, *astuple(total)) for (number, id), total in totals.items()],
        )

    def _added(self, wanted: Mapping[str, Wanted], now: datetime) -> _Added:
        """The contributions of events that are in the view at `now` if a hole for them is."""
        versions: dict[str, list[Version[Fragment]]] = {}
        for history in self._fillers.histories(self._stream, wanted, now).values():
            if history.tag.id in self._events:
                versions.setdefault(history.tag.id, []).extend(history.versions)
        found: _Added = {}
        for tag, events in versions.items():
            for start in range(0, len(events), _AT_ONCE):
                self._add(found, tag, events[start : start + _AT_ONCE], now)
        return found

    def _add(self, found: _Added, tag: str, events: list[Version[Fragment]], now: datetime) -> None:
        history = History(self._graph.tag(tag), tuple(events))
        # the events alone, in the position of the root
        document = view_of_histories(Histories({ROOT_ID: history}), self._graph.structure).document
        within = self._code.evaluation({}, now)
        for number, tally in enumerate(self._tallies):
            if tag not in tally.events:
                continue
            for event, element in zip(events, document.children, strict=True):
                items = computed(self._code.value(number, [element], within=within))
                total = _total(tally.name, items)
                if total.count:
                    key = number, event.fragment.id, to_number(event.begin)
                    found.setdefault(key, Total()).add(total)
        dissolve(document)


def _total(name: str, items: Iterable[Any]) -> Total:
    total = Total()
    if name not in ("sum", "avg"):
        total.count = sum(1 for _ in items)
        return total
    for atom in atomize(items):
        number = whole_number(string_of(atom))
        total.count += 1
        if number is None or abs(number) >= _LARGE:
            total.unsummed += 1
        else:
            total.sum += number
            total.size += abs(number)
    return total


def _frozen(times: Mapping[str, set[int]]) -> dict[str, Wanted]:
    return {id: frozenset(at) for id, at in times.items()}
