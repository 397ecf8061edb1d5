"""Maintains an answer by units: which units a trigger can change, and their new values."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any

from xcql.analysis.graph import TagGraph
from xcql.continuous.display import AnswerUnit
from xcql.continuous.fillers import Fillers, Parsed, Wanted
from xcql.continuous.partial import Found, PartialView, partial_view
from xcql.continuous.parts import Access
from xcql.continuous.plan import UnitPlan
from xcql.continuous.reception import Changes, Received
from xcql.continuous.state_file import optional_number, to_number
from xcql.continuous.tallies import Tallies
from xcql.continuous.units import Nodes, UnitQuery
from xcql.model.fragments import Fragment
from xcql.model.tags import TagStructure
from xcql.xdm.nodes import DocumentNode, ElementNode

# the value of `side` in the table of keys that marks groups
_GROUPS = -1

# the number of units to evaluate at once
_CHUNK = 2000

# where a filler occurs in others: everything that its units' places and ancestors depend on
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
    """Finds the units of one access that are affected by changes of fillers."""

    def __init__(self, fillers: Fillers, plan: UnitPlan, access: Access, graph: TagGraph) -> None:
        self._fillers = fillers
        self._plan = plan
        self._access = access
        self._graph = graph
        self._inside = plan.looked_at[access.stream] & graph.fragmented_below(*access.units)
        self._before: dict[str, _Occurrences] = {}

    def foresee(self, received: Iterable[Received], now: datetime) -> None:
        """Remember the contents of fillers above units before they change."""
        stream = self._access.stream
        above = self._access.above
        # a new filler did not occur anywhere; a remove may lack the tag of what it removes
        self._before = {
            one.record.id: {}
            for one in received
            if one.stream == stream
            and isinstance(one.record, Fragment)
            and (one.record.tsid is None or one.record.tsid in above)
        }
        for id, tsid in self._fillers.tsids(stream, list(self._before)).items():
            if tsid in above:
                self._before[id] = self._occurrences(id, None, now)

    def affected(self, changes: Changes, before: datetime, now: datetime) -> Affected:
        """The units affected by changes between two triggers at these instants."""
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
        """Walk from fillers inside units up to the units."""
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
        """Walk from fillers above units down to the units."""
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
        """The positions of the fillers in a filler above units, at an instant."""
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
    """The ancestors of the holes of a fragment, without their content."""

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
    """Maintains the units of a query in a state."""

    def __init__(
        self, state: sqlite3.Connection, tags: Mapping[str, TagStructure], query: UnitQuery
    ) -> None:
        self._state = state
        self._query = query
        self._plan = query.plan
        self._graphs = {name: TagGraph(structure) for name, structure in tags.items()}
        self._fillers = Fillers(state, tags)
        self._main = self._plan.main
        self._tracking = self._tracked(self._main)
        self._side_tracking = [self._tracked(side.access) for side in self._plan.sides]
        self._tallies: Tallies | None = None
        if self._plan.tallied is not None and query.tallies is not None:
            stream = self._main.stream
            self._tallies = Tallies(
                state,
                stream,
                self._plan.tallied.tallies,
                query.tallies,
                self._fillers,
                self._graphs[stream],
            )

    def _tracked(self, access: Access) -> Tracking:
        return Tracking(self._fillers, self._plan, access, self._graphs[access.stream])

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of value of each sort key, by its number."""
        return self._query.kinds

    def foresee(self, received: Iterable[Received], now: datetime) -> None:
        """Look at what is about to change, before it changes."""
        for tracking in (self._tracking, *self._side_tracking):
            tracking.foresee(received, now)
        if self._tallies is not None:
            self._tallies.foresee(received, now)

    def changed(
        self, changes: Changes, before: datetime | None, now: datetime
    ) -> tuple[set[str], Iterator[AnswerUnit]]:
        """The keys of all units that may have gone or changed, and the units that exist now.

        Without an earlier time, or if time has gone backwards, these are all units.
        """
        if before is None or now < before:
            if self._tallies is not None:
                self._tallies.forget()
            affected = self._all(self._main)
            for number, side in enumerate(self._plan.sides):
                self._find_keys(number, self._all(side.access), now)
            old = {key for (key,) in self._state.execute("SELECT key FROM units")}
        else:
            if self._tallies is not None:
                self._tallies.change(changes, now)
            affected = self._tracking.affected(changes, before, now)
            for number, tracking in enumerate(self._side_tracking):
                values = self._find_keys(number, tracking.affected(changes, before, now), now)
                self._add_asking(number, values, affected)
            if now != before:
                self._add_due(affected, to_number(now))
            old = self._kept(affected)
        if self._plan.group is not None:
            return self._changed_groups(affected, old, before, now)
        for number in range(len(self._plan.sides)):
            self._forget_keys(2 * number + 1, self._main.stream, affected)
        return old, self._evaluated(affected, now)

    def _all(self, access: Access) -> Affected:
        found = Affected()
        for tsid in access.units:
            rows = self._state.execute(
                "SELECT id FROM ids WHERE stream = ? AND tsid = ?", (access.stream, tsid)
            )
            for (id,) in rows:
                found.add(id)
        return found

    # ------------------------------------------------------------------ joins

    def _find_keys(self, number: int, affected: Affected, now: datetime) -> set[str]:
        """Recompute the keys of a side's units; return all old and new values."""
        side = self._plan.sides[number]
        access = side.access
        code = self._query.sides[number]
        values = self._forget_keys(2 * number, access.stream, affected)
        for wanted in self._chunks(access, affected):
            view = self._view(access, wanted, now)
            nodes = code.nodes(view, now)
            within = code.evaluation({}, now)
            for unit in view.units:
                if side.key is None:
                    texts = {_as_text(unit.time)}
                else:
                    texts = code.texts(0, nodes.get(id_of(unit), ()), within)
                values |= texts
                self._add_keys(2 * number, access.stream, unit, texts)
            view.dissolve()
        return values

    def _forget_keys(self, side: int, stream: str, affected: Affected) -> set[str]:
        """Delete the keys of some fillers' units; return their values."""
        values: set[str] = set()
        where = "side = ? AND stream = ? AND filler = ?"
        for id, times in affected.fillers.items():
            for time in [None] if times is None else times:
                at = "" if time is None else " AND time = ?"
                asked = (side, stream, id, *([] if time is None else [time]))
                rows = self._state.execute(f"SELECT value FROM keys WHERE {where}{at}", asked)
                values.update(value for (value,) in rows)
                self._state.execute(f"DELETE FROM keys WHERE {where}{at}", asked)
                self._state.execute(f"DELETE FROM ranges WHERE {where}{at}", asked)
        return values

    def _add_keys(self, side: int, stream: str, unit: Found, values: Iterable[str]) -> None:
        self._state.executemany(
            "INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?, ?)",
            [(side, value, stream, unit.filler, unit.time, unit.key) for value in values],
        )

    def _with_keys(self, side: int, values: Iterable[str]) -> list[tuple[str, str, int, str]]:
        """The units of a side with one of these values: value, filler, time and key of each."""
        return self._state.execute(
            "SELECT keys.value, keys.filler, keys.time, keys.unit"
            " FROM json_each(?) AS wanted CROSS JOIN keys"
            " WHERE keys.side = ? AND keys.value = wanted.value",
            (json.dumps(list(values)), side),
        ).fetchall()

    def _add_asking(self, number: int, values: set[str], affected: Affected) -> None:
        """Add the units that look up some of the values."""
        rows = self._with_keys(2 * number + 1, values)
        if self._plan.sides[number].key is None:
            rows = self._state.execute(
                "SELECT wanted.value, ranges.filler, ranges.time, ranges.unit"
                " FROM json_each(?) AS wanted CROSS JOIN ranges WHERE ranges.side = ?"
                " AND ranges.ends >= wanted.value AND ranges.begins <= wanted.value",
                (json.dumps(list(values)), 2 * number + 1),
            ).fetchall()
        self._add(((filler, time) for _, filler, time, _ in rows), self._main, affected)

    def _add(self, units: Iterable[tuple[str, int]], access: Access, affected: Affected) -> None:
        """Add fillers by id, and by time if they are events."""
        known = list(units)
        events = self._events(access, {filler for filler, _ in known})
        for filler, time in known:
            affected.add(filler, [time] if filler in events else None)

    def _events(self, access: Access, ids: Collection[str]) -> Collection[str]:
        """The subset of some units' fillers that are events."""
        graph = self._graphs[access.stream]
        kinds = {tag: graph.tag(tag).kind for tag in access.units}
        if "event" not in kinds.values():
            return ()
        if set(kinds.values()) == {"event"}:
            return ids
        tsids = self._fillers.tsids(access.stream, ids)
        return {id for id, tsid in tsids.items() if kinds.get(tsid) == "event"}

    def _joined(
        self, view: PartialView, nodes: Nodes, now: datetime
    ) -> dict[str, Callable[[], DocumentNode]]:
        """What the units of a view see of the streams: the elements that they look up by key."""
        views: dict[str, Callable[[], DocumentNode]] = dict.fromkeys(self._graphs, _unread)
        for number, side in enumerate(self._plan.sides):
            asked, rows = self._asked(number, view, nodes, now)
            wanted = Affected()
            self._add(((filler, time) for _, filler, time, _ in rows), side.access, wanted)
            parts: dict[str, Wanted] = {
                id: None if times is None else frozenset(times)
                for id, times in wanted.fillers.items()
            }
            found = self._view(side.access, parts, now)
            by_key = {unit.key: unit for unit in found.units}
            # a unit changes when what it is joined with changes
            for value, _, _, key in rows:
                other = by_key.get(key)
                if other is not None:
                    for unit in asked[value]:
                        unit.spans += other.spans
                        unit.has_own_times = unit.has_own_times or other.has_own_times
            views[side.access.stream] = partial(_given, found.document)
        return views

    def _asked(
        self, number: int, view: PartialView, nodes: Nodes, now: datetime
    ) -> tuple[dict[str, list[Found]], list[tuple[str, str, int, str]]]:
        """The values that the units of a view look up in a side, and the side's matching units."""
        code, side, stream = self._query.code, 2 * number + 1, self._main.stream
        within = code.evaluation({}, now)
        asked: dict[str, list[Found]] = {}
        if self._plan.sides[number].key is not None:
            for unit in view.units:
                texts = code.texts(number + 1, nodes.get(id_of(unit), ()), within)
                self._add_keys(side, stream, unit, texts)
                for text in texts:
                    asked.setdefault(text, []).append(unit)
            return asked, self._with_keys(side - 1, asked)
        found: set[tuple[str, str, int, str]] = set()
        for unit in view.units:
            for begin, end in code.ranges(number + 1, nodes.get(id_of(unit), ()), within, now):
                first, last = _as_text(begin), _as_text(end)
                self._state.execute(
                    "INSERT OR REPLACE INTO ranges VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (side, last, first, stream, unit.filler, unit.time, unit.key),
                )
                rows = self._state.execute(
                    "SELECT value, filler, time, unit FROM keys"
                    " WHERE side = ? AND value BETWEEN ? AND ?",
                    (side - 1, first, last),
                )
                for row in rows:
                    found.add(row)
                    asked.setdefault(row[0], []).append(unit)
        return asked, list(found)

    # ------------------------------------------------------------------ groups

    def _changed_groups(
        self, affected: Affected, old: set[str], before: datetime | None, now: datetime
    ) -> tuple[set[str], Iterator[AnswerUnit]]:
        """The groups that may have changed because units are, or were, in them.

        The units are stored, too, without items: the groups that they are in may change with time.
        """
        groups = self._forget_keys(_GROUPS, self._main.stream, affected)
        if before is not None and now > before:
            rows = self._state.execute(
                "SELECT key FROM units WHERE due <= ? AND filler = ''", (to_number(now),)
            )
            groups.update(key for (key,) in rows)
        members: list[AnswerUnit] = []
        for wanted in self._chunks(self._main, affected):
            view = self._view(self._main, wanted, now)
            nodes = self._query.code.nodes(view, now)
            within = self._query.code.evaluation({}, now)
            for unit in view.units:
                names = self._query.groups_of(nodes.get(id_of(unit), ()), within)
                groups.update(names)
                self._add_keys(_GROUPS, self._main.stream, unit, names)
                members.append(self._query.member(unit, now))
            view.dissolve()
        return old | groups, chain(members, self._evaluated_groups(groups, now))

    def _evaluated_groups(self, groups: set[str], now: datetime) -> Iterator[AnswerUnit]:
        members = Affected()
        rows = self._with_keys(_GROUPS, groups)
        self._add(((filler, time) for _, filler, time, _ in rows), self._main, members)
        parts: dict[str, Wanted] = {
            id: None if times is None else frozenset(times) for id, times in members.fillers.items()
        }
        view = self._view(self._main, parts, now)
        nodes = self._query.code.nodes(view, now)
        units = self._query.evaluated_groups(view, nodes, groups, now)
        view.dissolve()
        yield from units

    # ------------------------------------------------------------------ units

    def _add_due(self, affected: Affected, now: int) -> None:
        rows = self._state.execute(
            "SELECT DISTINCT filler, time FROM units WHERE due <= ? AND filler <> ''", (now,)
        ).fetchall()
        self._add(rows, self._main, affected)

    def _kept(self, affected: Affected) -> set[str]:
        """The keys of the stored units of some fillers."""
        found: set[str] = set()
        whole = [(id, None) for id, times in affected.fillers.items() if times is None]
        parts = [(id, time) for id, times in affected.fillers.items() for time in times or ()]
        for pairs, at in ((whole, ""), (parts, "AND u.time = json_extract(wanted.value, '$[1]')")):
            rows = self._state.execute(
                "SELECT u.key FROM json_each(?) AS wanted CROSS JOIN units AS u"
                f" WHERE u.stream = ? AND u.filler = json_extract(wanted.value, '$[0]') {at}",
                (json.dumps(pairs), self._main.stream),
            )
            found.update(key for (key,) in rows)
        return found

    def _view(
        self,
        access: Access,
        wanted: Mapping[str, Wanted],
        now: datetime,
        looked_at: Mapping[str, frozenset[str]] | None = None,
    ) -> PartialView:
        stream = access.stream
        tags = (looked_at or self._plan.looked_at)[stream]
        return partial_view(
            self._fillers, self._plan, access, self._graphs[stream], tags, wanted, now
        )

    def _evaluated(self, affected: Affected, now: datetime) -> Iterator[AnswerUnit]:
        for wanted in self._chunks(self._main, affected):
            if self._tallies is None:
                yield from self._evaluated_in_full(wanted, now)
            else:
                yield from self._evaluated_with_tallies(self._tallies, wanted, now)

    def _evaluated_in_full(
        self, wanted: Mapping[str, Wanted], now: datetime
    ) -> Iterator[AnswerUnit]:
        view = self._view(self._main, wanted, now)
        nodes = self._query.code.nodes(view, now)
        views = self._joined(view, nodes, now)
        units = self._query.evaluated(view, nodes, views, now)
        view.dissolve()
        yield from units

    def _evaluated_with_tallies(
        self, tallies: Tallies, wanted: Mapping[str, Wanted], now: datetime
    ) -> Iterator[AnswerUnit]:
        """Evaluate units from the stored tallies of their events, as far as these suffice."""
        assert self._plan.tallied is not None
        view = self._view(self._main, wanted, now, self._plan.tallied.looked_at)
        nodes = self._query.code.nodes(view, now)
        values = tallies.values(view.units, now)
        in_full = {unit.filler for unit in view.units if id_of(unit) not in values}
        known = [unit for unit in view.units if unit.filler not in in_full]
        views = self._joined(view, nodes, now)
        units = self._query.evaluated_with_tallies(known, nodes, values, views, now)
        view.dissolve()
        yield from units
        if in_full:
            yield from self._evaluated_in_full({id: wanted[id] for id in in_full}, now)

    def _chunks(self, access: Access, affected: Affected) -> Iterator[dict[str, Wanted]]:
        """The affected fillers in chunks of limited size; one id may have many events, too."""
        stream = access.stream
        events = self._events(access, affected.fillers.keys())
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


def id_of(unit: Found) -> int:
    """The key under which the nodes of a unit are stored."""
    return id(unit)


def _as_text(time: int) -> str:
    """An instant as a text that sorts like the instant."""
    return f"{time:020d}"


def _unread() -> DocumentNode:
    raise AssertionError("the plan says that no unit reads this stream")


def _given(document: DocumentNode) -> DocumentNode:
    return document
