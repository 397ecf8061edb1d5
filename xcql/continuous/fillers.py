"""Reads fillers from a state: only the requested ones, by id, and by time if possible."""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from xcql.continuous.reception import COLUMNS, MANY_HOLES, stored_fragment
from xcql.continuous.state_file import to_number
from xcql.history.definition import History, Version, histories
from xcql.model.fragments import Fragment, content_tree, is_hole
from xcql.model.tags import TagStructure
from xcql.xdm.nodes import ElementNode, descendants

# which events of an id are wanted: all (None), those at some instants, or those since one
Wanted: TypeAlias = frozenset[int] | int | None

# the number of parsed trees to cache; those with many holes, such as the root's, are few but costly
_SMALL, _LARGE = 30_000, 8


@dataclass(frozen=True, slots=True)
class Parsed:
    """A fragment's tree, with its holes in document order, and their numbers by id."""

    fragment: Fragment
    tree: ElementNode
    holes: tuple[ElementNode, ...]
    numbers: Mapping[str, tuple[int, ...]]


class Fillers:
    """The fillers in a state, with a cache of recently used trees."""

    def __init__(self, state: sqlite3.Connection, tags: Mapping[str, TagStructure]) -> None:
        self._state = state
        self._tags = tags
        self._small: OrderedDict[int, Parsed] = OrderedDict()
        self._large: OrderedDict[int, Parsed] = OrderedDict()

    def tsids(self, stream: str, ids: Collection[str]) -> dict[str, str]:
        """The tag of each of these ids that is known."""
        if not ids:
            return {}
        rows = self._state.execute(
            "SELECT ids.id, ids.tsid FROM json_each(?) AS wanted CROSS JOIN ids"
            " WHERE ids.stream = ? AND ids.id = wanted.value",
            (json.dumps(list(ids)), stream),
        )
        return dict(rows)

    def parents(self, stream: str, ids: Collection[str]) -> list[tuple[str, str, int]]:
        """The fillers that have holes for these ids: child, parent, and time of the fragment."""
        if not ids:
            return []
        return self._state.execute(
            "SELECT DISTINCT holes.child, holes.parent, holes.time"
            " FROM json_each(?) AS wanted CROSS JOIN holes"
            " WHERE holes.stream = ? AND holes.child = wanted.value",
            (json.dumps(list(ids)), stream),
        ).fetchall()

    def children(self, stream: str, ids: Collection[str]) -> set[str]:
        """The ids for which the fragments of these ids have holes."""
        if not ids:
            return set()
        rows = self._state.execute(
            "SELECT DISTINCT holes.child FROM json_each(?) AS wanted CROSS JOIN holes"
            " WHERE holes.stream = ? AND holes.parent = wanted.value",
            (json.dumps(list(ids)), stream),
        )
        return {child for (child,) in rows}

    def histories(
        self, stream: str, wanted: Mapping[str, Wanted], now: datetime
    ) -> dict[str, History]:
        """The histories of some ids at `now`, with only the wanted events."""
        whole = [id for id, part in wanted.items() if part is None]
        parts = [id for id, part in wanted.items() if part is not None]
        if parts:
            replaced = self._state.execute(
                "SELECT ids.id FROM json_each(?) AS wanted CROSS JOIN ids"
                " WHERE ids.stream = ? AND ids.id = wanted.value AND ids.replaced = 1",
                (json.dumps(parts), stream),
            )
            # a replacement removes events at any time
            whole += (id for (id,) in replaced)
        complete = set(whole)
        since: list[tuple[str, int]] = []
        at: list[tuple[str, int]] = []
        for id in parts:
            part = wanted[id]
            if id in complete:
                continue
            if isinstance(part, int):
                since.append((id, part))
            else:
                at += ((id, time) for time in part or ())
        fragments = [
            *self._fragments(stream, [(id, 0) for id in complete], ">="),
            *self._fragments(stream, since, ">="),
            *self._fragments(stream, at, "="),
        ]
        found = histories(fragments, self._tags[stream], now).by_id
        result: dict[str, History] = {}
        for id, history in found.items():
            kept = _restricted(history, wanted[id])
            if kept.versions:
                result[id] = kept
        return result

    def _fragments(
        self, stream: str, wanted: Sequence[tuple[str, int]], compared: str
    ) -> Iterable[Fragment]:
        """The fragments of some ids, each with a time to compare, in order of arrival."""
        if not wanted:
            return
        # large fragments in the cache are not read again
        known = ", ".join(map(str, self._large))
        rows = self._state.execute(
            f"SELECT {COLUMNS}, CASE WHEN f.seq IN ({known}) THEN NULL ELSE f.content END"
            " FROM json_each(?) AS wanted CROSS JOIN fragments AS f"
            " WHERE f.stream = ? AND f.id = json_extract(wanted.value, '$[0]')"
            f" AND f.time {compared} json_extract(wanted.value, '$[1]')",
            (json.dumps(wanted), stream),
        )
        for row in sorted(rows):
            yield self._large[row[0]].fragment if row[-1] is None else stored_fragment(*row)

    def children_in(self, fragment: Fragment) -> Collection[str]:
        """The ids for which a fragment of the state has holes."""
        if fragment.holes:
            return [hole.id for hole in fragment.holes]
        return self.parsed(fragment).numbers if b"hole" in fragment.content else ()

    def parsed(self, fragment: Fragment) -> Parsed:
        """The tree of a fragment of the state."""
        for cache in (self._small, self._large):
            known = cache.get(fragment.offset)
            if known is not None:
                cache.move_to_end(fragment.offset)
                return known
        tree = content_tree(fragment)
        holes = tuple(
            node for node in descendants(tree) if isinstance(node, ElementNode) and is_hole(node)
        )
        numbers: dict[str, list[int]] = {}
        for number, hole in enumerate(holes):
            numbers.setdefault(hole_id(hole), []).append(number)
        found = Parsed(fragment, tree, holes, {id: tuple(known) for id, known in numbers.items()})
        is_large = len(holes) >= MANY_HOLES
        cache, most = (self._large, _LARGE) if is_large else (self._small, _SMALL)
        cache[fragment.offset] = found
        if len(cache) > most:
            cache.popitem(last=False)
        return found


def hole_id(hole: ElementNode) -> str:
    return (hole.attribute_value("id") or "").strip()


def _restricted(history: History, part: Wanted) -> History:
    """A history with only the wanted events."""
    if part is None or history.tag.kind != "event":
        return history
    versions: tuple[Version[Fragment], ...] = tuple(
        version
        for version in history.versions
        if (
            to_number(version.begin) >= part
            if isinstance(part, int)
            else to_number(version.begin) in part
        )
    )
    return History(history.tag, versions)


def pruned(parsed: Parsed, ids: Collection[str]) -> ElementNode:
    """A copy of the tree with only the holes for these ids and their ancestors.

    The holes are the same nodes as in the original tree.
    """
    wanted = sorted(number for id in ids for number in parsed.numbers.get(id, ()))
    copies: dict[int, ElementNode] = {}

    def copied(node: ElementNode) -> ElementNode:
        copy = copies.get(id(node))
        if copy is None:
            copy = copies[id(node)] = ElementNode(node.name, node.declarations)
            copy.attributes = node.attributes
            if node is not parsed.tree:
                assert isinstance(node.parent, ElementNode)
                copied(node.parent).children.append(copy)
        return copy

    top = copied(parsed.tree)
    for number in wanted:
        hole = parsed.holes[number]
        if hole is parsed.tree:
            continue
        assert isinstance(hole.parent, ElementNode)
        copied(hole.parent).children.append(hole)
    return top
