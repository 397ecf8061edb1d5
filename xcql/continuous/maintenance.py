"""Keeping an answer by units: which units a trigger can change, and what they are afterwards."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from xcql.analysis.graph import TagGraph
from xcql.continuous.display import Unit
from xcql.continuous.fillers import Fillers, Parsed, Wanted
from xcql.continuous.partial import partial_view
from xcql.continuous.plan import Access, Plan
from xcql.continuous.reception import Changes, Received
from xcql.continuous.state import optional_number, to_number
from xcql.continuous.units import UnitQuery
from xcql.model.fragments import Fragment
from xcql.model.tags import TagStructure
from xcql.xdm.nodes import DocumentNode, ElementNode

# how many units are evaluated at once
_CHUNK = 2000

# the places where a filler stands in others: all that its units' places and surroundings depend on
_Occurrences = dict[str, list[tuple[Any, ...]]]


class Affected:
    """Fillers whose units may have changed, each with the instants of its events, or None."""

    def __init__(self) -> None:
        self.fillers: dict[str, set[int] | None] = {}

    def add(self, id: str, times: Iterable[int] | None = None) -> None:
        if times is None:
            self.fillers[id] = None
        elif (known := self.fillers.setdefault(id, set())) is not None:
            known.update(times)


class Tracking:
    """Finds the units of one access that changes of fillers affect."""

    def __init__(self, fillers: Fillers, plan: Plan, access: Access, graph: TagGraph) -> None:
        self._fillers = fillers
        self._plan = plan
        self._access = access
        self._graph = graph
        self._inside = plan.looked_at[access.stream] & graph.fragmented_below(*access.units)
        self._before: dict[str, _Occurrences] = {}

    def foresee(self, received: Iterable[Received], now: datetime) -> None:
        """Remember what stands in fillers above units that are about to change."""
        self._before.clear()
        stream = self._access.stream
        candidates: dict[str, set[int]] = {}
        for one in received:
            if one.stream == stream and isinstance(one.record, Fragment):
                fragment = one.record
                times = candidates.setdefault(fragment.id, set())
                if fragment.valid_time is not None:
                    times.add(to_number(fragment.valid_time))
        for id, tsid in self._fillers.tsids(stream, list(candidates)).items():
            if tsid in self._access.above:
                self._before[id] = self._occurrences(id, None, now)

    def affected(self, changes: Changes, before: datetime, now: datetime) -> Affected:
        """The units that changes affect, between two triggers at these instants."""
        found = Affected()
        stream = self._access.stream
        inside: set[str] = set()
        children: set[str] = set()
        for (of, id), times in changes.fillers.items():
            if of != stream:
                continue
            tsids = changes.tsids.get((of, id), set())
            if tsids & self._access.units:
                found.add(id, times)
            if tsids & self._inside:
                inside.add(id)
            if tsids & self._access.above:
                old = self._before.get(id)
                if old is None:
                    old = self._occurrences(id, None, before)
                new = self._occurrences(id, None, now)
                children |= {
                    child for child in old.keys() | new.keys() if old.get(child) != new.get(child)
                }
        self._climb(inside, found)
        self._descend(children, found)
        return found

    def _climb(self, ids: set[str], found: Affected) -> None:
        """From fillers inside units up to these."""
        seen = set(ids)
        stream = self._access.stream
        pending = ids
        while pending:
            rows = self._fillers.parents(stream, pending)
            tsids = self._fillers.tsids(stream, {parent for _, parent, _ in rows})
            pending = set()
            for _, parent, time in rows:
                tsid = tsids.get(parent)
                if tsid in self._access.units:
                    is_event = self._graph.tag(tsid).kind == "event"
                    found.add(parent, [time] if is_event else None)
                elif tsid in self._inside and parent not in seen:
                    seen.add(parent)
                    pending.add(parent)

    def _descend(self, ids: set[str], found: Affected) -> None:
        """From fillers above units down to these."""
        seen = set(ids)
        stream = self._access.stream
        pending = ids
        while pending:
            above: list[str] = []
            for id, tsid in self._fillers.tsids(stream, pending).items():
                if tsid in self._access.units:
                    found.add(id)
                elif tsid in self._access.above:
                    above.append(id)
            pending = self._fillers.children(stream, above) - seen
            seen |= pending

    def _occurrences(self, id: str, part: Wanted, now: datetime) -> _Occurrences:
        """What stands where in a filler above units, at an instant."""
        found: _Occurrences = {}
        history = self._fillers.histories(self._access.stream, {id: part}, now).get(id)
        for version in history.versions if history is not None else ():
            parsed = self._fillers.parsed(version.fragment)
            is_event = history is not None and history.tag.kind == "event"
            when = (
                to_number(version.begin),
                version.fragment.offset if is_event else 0,
                optional_number(version.end) if self._plan.looks_up else None,
            )
            surroundings = _Surroundings(parsed)
            for child, numbers in parsed.numbers.items():
                entry = found.setdefault(child, [])
                entry += (
                    (*when, number, surroundings.of(parsed.holes[number])) for number in numbers
                )
        return found


class _Surroundings:
    """The elements that the holes of a fragment stand in, without their content."""

    def __init__(self, parsed: Parsed) -> None:
        self._tree = parsed.tree
        self._known: dict[int, tuple[Any, ...]] = {}

    def of(self, node: ElementNode) -> tuple[Any, ...]:
        if node is self._tree or not isinstance(node.parent, ElementNode):
            return ()
        parent = node.parent
        known = self._known.get(id(parent))
        if known is None:
            attributes = tuple((at.name.clark, str(at.name), at.value) for at in parent.attributes)
            own = (
                parent.name.clark,
                str(parent.name),
                attributes,
                tuple(parent.declarations.items()),
            )
            known = self._known[id(parent)] = (own, *self.of(parent))
        return known


class Maintenance:
    """Keeps the units of a query in a state."""

    def __init__(
        self,
        state: sqlite3.Connection,
        tags: Mapping[str, TagStructure],
        query: UnitQuery,
    ) -> None:
        self._state = state
        self._query = query
        self._plan = query.plan
        self._graphs = {name: TagGraph(structure) for name, structure in tags.items()}
        self._fillers = Fillers(state, tags)
        self._main = self._plan.main
        self._tracking = Tracking(
            self._fillers, self._plan, self._main, self._graphs[self._main.stream]
        )

    @property
    def kinds(self) -> dict[str, str]:
        """Which kind of value each sort key has, by its number."""
        return self._query.kinds

    def foresee(self, received: Iterable[Received], now: datetime) -> None:
        """Look at what is about to change, before it does."""
        self._tracking.foresee(received, now)

    def changed(
        self, changes: Changes, before: datetime | None, now: datetime
    ) -> tuple[set[str], Iterator[Unit]]:
        """The keys of all units that may be gone or other, and those that there are.

        Without a time before, or when time has gone backwards, these are all units.
        """
        if before is None or now < before:
            affected = self._all()
            old = {key for (key,) in self._state.execute("SELECT key FROM units")}
        else:
            affected = self._tracking.affected(changes, before, now)
            if now != before:
                self._add_due(affected, to_number(now))
            old = self._kept(affected)
        return old, self._evaluated(affected, now)

    def _all(self) -> Affected:
        found = Affected()
        for tsid in self._main.units:
            rows = self._state.execute(
                "SELECT id FROM ids WHERE stream = ? AND tsid = ?", (self._main.stream, tsid)
            )
            for (id,) in rows:
                found.add(id)
        return found

    def _add_due(self, affected: Affected, now: int) -> None:
        rows = self._state.execute(
            "SELECT DISTINCT filler, time FROM units WHERE due <= ?", (now,)
        ).fetchall()
        tsids = self._fillers.tsids(self._main.stream, {filler for filler, _ in rows})
        graph = self._graphs[self._main.stream]
        for filler, time in rows:
            tsid = tsids.get(filler)
            is_event = tsid is not None and graph.tag(tsid).kind == "event"
            affected.add(filler, [time] if is_event else None)

    def _kept(self, affected: Affected) -> set[str]:
        """The keys of the units that are kept for some fillers."""
        found: set[str] = set()
        stream = self._main.stream
        select = "SELECT key FROM units WHERE stream = ? AND filler = ?"
        for id, times in affected.fillers.items():
            if times is None:
                found.update(key for (key,) in self._state.execute(select, (stream, id)))
            else:
                for time in times:
                    rows = self._state.execute(f"{select} AND time = ?", (stream, id, time))
                    found.update(key for (key,) in rows)
        return found

    def _evaluated(self, affected: Affected, now: datetime) -> Iterator[Unit]:
        graph = self._graphs[self._main.stream]
        for wanted in self._chunks(affected):
            view = partial_view(self._fillers, self._plan, self._main, graph, wanted, now)
            yield from self._query.evaluated(view, self._views(), now)

    def _views(self) -> dict[str, Any]:
        def unread() -> DocumentNode:
            raise AssertionError("the plan says that no unit reads a stream")

        return dict.fromkeys(self._graphs, unread)

    def _chunks(self, affected: Affected) -> Iterator[dict[str, Wanted]]:
        """The affected fillers, not too many at once; events of one id may be many, too."""
        stream = self._main.stream
        graph = self._graphs[stream]
        events = {
            id
            for id, tsid in self._fillers.tsids(stream, list(affected.fillers)).items()
            if graph.tag(tsid).kind == "event"
        }
        chunk: dict[str, Wanted] = {}
        size = 0
        for id, times in affected.fillers.items():
            if id in events and times is None:
                rows = self._state.execute(
                    "SELECT DISTINCT time FROM fragments WHERE stream = ? AND id = ?", (stream, id)
                )
                times = {time for (time,) in rows}
            if times is None:
                chunk[id] = None
                size += 1
            else:
                left = sorted(times)
                while left:
                    part, left = left[: _CHUNK - size], left[_CHUNK - size :]
                    chunk[id] = frozenset(part)
                    size += len(part)
                    if left:
                        yield chunk
                        chunk, size = {}, 0
            if size >= _CHUNK:
                yield chunk
                chunk, size = {}, 0
        if chunk:
            yield chunk
