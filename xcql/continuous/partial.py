"""Partial views: the temporal view of a stream with only some units in it.

Above the units there are only the fillers that contain them; inside the units, only the fillers
that the query reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from xcql.analysis.graph import TagGraph
from xcql.continuous.fillers import Fillers, Wanted, pruned
from xcql.continuous.parts import Access
from xcql.continuous.plan import UnitPlan
from xcql.continuous.state_file import optional_number, to_number
from xcql.history.definition import Histories, History, Version
from xcql.history.view import view_of_histories
from xcql.model.fragments import Fragment, Hole, is_plain
from xcql.model.time import format_begin
from xcql.xdm.nodes import ChildNode, DocumentNode, ElementNode, Node, ParentNode, dissolve


class LeftUnit(Exception):
    """The query reads outside of a unit: its units must be larger."""


class _Above(ElementNode):
    """An element above units; its content is incomplete, so reading it is an error."""

    __slots__ = ()

    @property
    def children(self) -> list[ChildNode]:  # type: ignore[override]
        raise LeftUnit


class _Document(DocumentNode):
    """The document above units."""

    __slots__ = ()

    @property
    def children(self) -> list[ChildNode]:  # type: ignore[override]
        raise LeftUnit


@dataclass(slots=True)
class Found:
    """A unit in a partial view, or an element above units.

    `spans` are the lifespans of all versions in it; `has_own_times` is true if its data contains
    lifespans of its own. `holes` are those of a unit's own fragment, None if they are not known.
    """

    key: str
    place: bytes
    filler: str
    time: int
    is_unit: bool
    element: ElementNode
    spans: list[tuple[int, int | None]] = field(default_factory=list)
    has_own_times: bool = False
    holes: tuple[Hole, ...] | None = None


@dataclass(frozen=True, slots=True)
class PartialView:
    """A partial view, its units in document order, and a map from elements to units."""

    document: DocumentNode
    units: tuple[Found, ...]
    _known: Mapping[int, Found]

    def unit_of(self, node: Node) -> Found | None:
        """The unit that contains a node."""
        here: Node | None = node
        while here is not None:
            found = self._known.get(id(here))
            if found is not None:
                return found if found.is_unit else None
            here = here.parent
        return None

    def close(self) -> None:
        """Make it an error to read the content of anything above units."""
        for unit in self.units:
            here = unit.element.parent
            while here is not None and not isinstance(here, (_Above, _Document)):
                here.__class__ = _Above if isinstance(here, ElementNode) else _Document
                here = here.parent

    def dissolve(self) -> None:
        """Free its memory; the view must not be used again."""
        for unit in self.units:
            here: ParentNode | None = unit.element.parent
            while here is not None and isinstance(here, (_Above, _Document)):
                above = here.parent
                here.__class__ = ElementNode if above is not None else DocumentNode  # type: ignore
                here = above
        dissolve(self.document)


def partial_view(
    fillers: Fillers,
    plan: UnitPlan,
    access: Access,
    graph: TagGraph,
    looked_at: frozenset[str],
    wanted: Mapping[str, Wanted],
    now: datetime,
) -> PartialView:
    """The view with the units of some fillers, with only the wanted events.

    The units contain only fillers with the tags in `looked_at`.
    """
    stream = access.stream
    by_id: dict[str, History] = dict(fillers.histories(stream, wanted, now))
    by_id.update(_below(fillers, plan, stream, graph, looked_at, by_id, now))
    holes, times = _above(fillers, access, list(wanted))
    asked: dict[str, Wanted] = {}
    tsids = fillers.tsids(stream, list(holes))
    for id in holes:
        is_event = graph.tag(tsids[id]).kind == "event"
        asked[id] = frozenset(times[id]) if is_event else None
    above = fillers.histories(stream, asked, now)
    by_id.update(above)
    return _Builder(fillers, plan, access, graph, holes).build(by_id)


def _above(
    fillers: Fillers, access: Access, units: list[str]
) -> tuple[dict[str, set[str]], dict[str, set[int]]]:
    """The fillers above the given ones, each with its times and the ids whose holes count in it."""
    holes: dict[str, set[str]] = {}
    times: dict[str, set[int]] = {}
    pending = set(units)
    while pending:
        rows = fillers.parents(access.stream, pending)
        tsids = fillers.tsids(access.stream, {parent for _, parent, _ in rows})
        pending = set()
        for child, parent, time in rows:
            if tsids.get(parent) in access.above:
                if parent not in holes:
                    pending.add(parent)
                holes.setdefault(parent, set()).add(child)
                times.setdefault(parent, set()).add(time)
    return holes, times


def _below(
    fillers: Fillers,
    plan: UnitPlan,
    stream: str,
    graph: TagGraph,
    looked_at: frozenset[str],
    units: Mapping[str, History],
    now: datetime,
) -> dict[str, History]:
    """The fillers inside some units that the query reads."""
    found: dict[str, History] = {}
    pending: Mapping[str, History] = units
    while pending:
        ids: set[str] = set()
        for history in pending.values():
            if looked_at.isdisjoint(graph.fragmented_below(history.tag.id)):
                continue
            for version in history.versions:
                ids.update(fillers.children_in(version.fragment))
        ids -= found.keys()
        wanted = {
            id: _horizon(plan, stream, tsid, now)
            for id, tsid in fillers.tsids(stream, ids).items()
            if tsid in looked_at
        }
        pending = fillers.histories(stream, wanted, now)
        found.update(pending)
    return found


def _horizon(plan: UnitPlan, stream: str, tsid: str, now: datetime) -> Wanted:
    """The instant since which events are read; None if there is no limit."""
    windows = plan.windowed.get((stream, tsid))
    if windows is None:
        return None
    return max(min(window.begin.at(to_number(now)) for window in windows), 0)


class _Builder:
    """Builds one partial view."""

    def __init__(
        self,
        fillers: Fillers,
        plan: UnitPlan,
        access: Access,
        graph: TagGraph,
        holes: Mapping[str, set[str]],
    ) -> None:
        self._fillers = fillers
        self._plan = plan
        self._access = access
        self._graph = graph
        self._holes = holes
        # the number of a hole in its fragment, and its number among those for the same id
        self._numbers: dict[int, tuple[int, int]] = {}
        self._known: dict[int, Found] = {}
        self._units: list[Found] = []

    def build(self, by_id: Mapping[str, History]) -> PartialView:
        view = view_of_histories(Histories(by_id), self._graph.structure, self._tree, self._opened)
        return PartialView(view.document, tuple(self._units), self._known)

    def _tree(self, fragment: Fragment) -> ElementNode | None:
        children = self._holes.get(fragment.id)
        if is_plain(fragment):
            if children is not None:
                self._number(fragment.holes)
            return None
        parsed = self._fillers.parsed(fragment)
        if children is None:
            return parsed.tree
        for child in children:
            for nth, number in enumerate(parsed.numbers.get(child, ())):
                self._numbers[id(parsed.holes[number])] = number, nth
        return pruned(parsed, children)

    def _number(self, holes: Iterable[Hole]) -> None:
        seen: Counter[str] = Counter()
        for number, hole in enumerate(holes):
            self._numbers[id(hole)] = number, seen[hole.id]
            seen[hole.id] += 1

    def _opened(
        self, element: ElementNode, hole: ElementNode | Hole | None, version: Version[Fragment]
    ) -> None:
        fragment = version.fragment
        assert fragment.tsid is not None
        tag = self._graph.tag(fragment.tsid)
        span = (to_number(version.begin), optional_number(version.end))
        parent = self._parent(element)
        if parent is not None and parent.is_unit:
            if tag.is_fragmented:
                parent.spans.append(span)
            parent.has_own_times = parent.has_own_times or _has_own_times(fragment)
            self._known[id(element)] = parent
            return
        place, key = b"", ""
        if parent is not None and hole is not None:
            number, nth = self._numbers[id(hole)]
            place = parent.place + number.to_bytes(4)
            key = f"{parent.key}/" + (f"{nth}~" if nth else "")
        place += span[0].to_bytes(8)
        key += f"{fragment.id}@{format_begin(version.begin)}"
        if tag.kind == "event":
            place += fragment.offset.to_bytes(8)
            key += f".{fragment.offset}"
        is_unit = tag.id in self._access.units
        found = Found(key, place, fragment.id, span[0], is_unit, element)
        if self._plan.looks_up and parent is not None:
            found.spans += parent.spans
        if tag.is_fragmented and (is_unit or self._plan.looks_up):
            found.spans.append(span)
        self._known[id(element)] = found
        if is_unit:
            found.has_own_times = _has_own_times(fragment)
            if fragment.holes or b"hole" not in fragment.content:
                found.holes = fragment.holes
            self._units.append(found)

    def _parent(self, element: ElementNode) -> Found | None:
        here = element.parent
        while here is not None:
            found = self._known.get(id(here))
            if found is not None:
                return found
            here = here.parent
        return None


def _has_own_times(fragment: Fragment) -> bool:
    """Whether elements in a fragment may have lifespans that the system did not assign."""
    return b"vtFrom" in fragment.content
