"""Where fillers stand in the view: a filler stands once for each way from the root to it.

The view is a tree, so a filler that three versions of its parent refer to stands there three
times. Each such `Place` has

- a `key`, which orders places as the document does: along the way from the root, for every
  filler the number of the version and the byte offset of the hole, four bytes each. With a
  version's number and a node's offset appended it is the key of that node; the keys of the
  node's filler, of its parent filler and so on are its beginnings;
- the latest begin and the earliest end of the lifespans on the way: an interval projection
  reaches the place if and only if `vt_from <= t2` and `vt_to >= t1` (with `vt_to` read as `now`
  where it is None or later than `now`);
- `since` and `until`, the `now`s for which all of the way counts (see `history`).

A filler's copies in the view, evaluated at `now`, are its versions that count times its places
that count. Nothing has to be looked up along the way again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from xcql.model.fragments import ROOT_ID, Hole
from xcql.model.tags import TagStructure
from xcql.model.time import START
from xcql.shred.history import Version

# the bytes of a key for every filler on the way
STEP = 8


class Place(NamedTuple):
    """One place of a filler in the view."""

    key: bytes
    parent: str | None
    vt_from: datetime
    vt_to: datetime | None
    since: datetime
    until: datetime | None

    @property
    def depth(self) -> int:
        """How many fillers it stands inside."""
        return len(self.key) // STEP


class Filler(NamedTuple):
    """What placing needs to know of a filler: its tag, and its versions with their holes."""

    tag: str
    versions: Sequence[tuple[Version, Sequence[Hole]]]


@dataclass(frozen=True, slots=True)
class Placement:
    """The places of every filler that has one; the holes that would have led into themselves.

    `complete` is false where the view has more places than can be kept: then no filler has any.
    """

    places: Mapping[str, Sequence[Place]]
    cycles: frozenset[tuple[str, str]]
    complete: bool = True


class _Way(NamedTuple):
    """A place, with the ids of the fillers on the way to it."""

    place: Place
    inside: frozenset[str]


def place(structure: TagStructure, fillers: Mapping[str, Filler], limit: int) -> Placement:
    """Every filler's places, from the root down, level by level.

    `limit` is the largest number of copies (places times versions) that are kept.
    """
    places: dict[str, list[Place]] = {}
    cycles: set[tuple[str, str]] = set()
    fits: dict[tuple[str, str], bool] = {}
    copies = 0
    frontier: dict[str, list[_Way]] = {}
    root = fillers.get(ROOT_ID)
    if root is not None and root.tag == structure.root.id:
        frontier[ROOT_ID] = [_Way(Place(b"", None, START, None, START, None), frozenset())]
    while frontier:
        below: dict[str, list[_Way]] = {}
        for id, ways in frontier.items():
            places.setdefault(id, []).extend(way.place for way in ways)
            for version, holes in fillers[id].versions:
                for hole in holes:
                    child = fillers.get(hole.id)
                    if child is None or not child.versions:
                        continue
                    pair = hole.parent, child.tag
                    if pair not in fits:
                        fits[pair] = is_declared_inside(structure, *pair)
                    if not fits[pair]:
                        continue
                    step = encode(version.number) + encode(hole.start)
                    for way in ways:
                        if hole.id == id or hole.id in way.inside:
                            cycles.add((id, hole.id))
                            continue
                        found = _step(way.place, id, version, step)
                        if found is not None:
                            below.setdefault(hole.id, []).append(_Way(found, way.inside | {id}))
        frontier = {id: _joined(ways) for id, ways in below.items()}
        copies += sum(len(ways) * len(fillers[id].versions) for id, ways in frontier.items())
        if copies > limit:
            return Placement({}, frozenset(cycles), complete=False)
    return Placement(
        {id: sorted(found, key=_by_key) for id, found in places.items()}, frozenset(cycles)
    )


def is_declared_inside(structure: TagStructure, parent: str, child: str) -> bool:
    """Whether the tag with the second id is declared as a child of that with the first."""
    tag = structure.by_id(parent)
    return tag is not None and any(one.id == child for one in structure.children(tag))


def encode(number: int) -> bytes:
    """A number as four bytes, which compare as the numbers do.

    In SQL: `unhex(lpad(hex(number), 8, '0'))`.

    >>> encode(255) < encode(256) < encode(70_000)
    True
    """
    return number.to_bytes(4, "big")


def _step(place: Place, id: str, version: Version, step: bytes) -> Place | None:
    """The place that a hole leads to, or None if there is no `now` for which it counts."""
    since = max(place.since, version.since)
    until = _earlier(place.until, version.until)
    if until is not None and since >= until:
        return None
    return Place(
        place.key + step,
        id,
        max(place.vt_from, version.vt_from),
        _earlier(place.vt_to, version.vt_to),
        since,
        until,
    )


def _by_key(place: Place) -> tuple[bytes, datetime]:
    return place.key, place.since


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    if one is None:
        return other
    return one if other is None else min(one, other)


def _joined(ways: Iterable[_Way]) -> list[_Way]:
    """The ways with those made one that differ only in adjoining stretches of `now`.

    A root that was sent a thousand times, each time with one more hole at its end, gives the
    fillers of the old holes one place each, not a thousand.
    """
    joined: dict[object, list[_Way]] = {}
    for way in sorted(ways, key=lambda way: way.place.since):
        here = way.place
        same = joined.setdefault((here[:4], way.inside), [])
        if same and same[-1].place.until == here.since:
            same[-1] = _Way(same[-1].place._replace(until=here.until), way.inside)
        else:
            same.append(way)
    return [way for same in joined.values() for way in same]
