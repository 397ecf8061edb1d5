"""The places of fillers in the view: one place per path from the root to the filler.

The view is a tree, so a filler that three versions of its parent refer to is in it three times.
Each of these places has

- a `key`, which sorts places in document order: for every filler on the path from the root, the
  number of the version and the byte offset of the hole, four bytes each. With a version's number
  and a node's offset appended, it is the key of that node; the keys of the node's filler, of its
  parent filler and so on are prefixes of it;
- the latest begin and the earliest end of the lifespans on the path: an interval projection
  reaches the place if and only if `vt_from <= t2` and `vt_to >= t1` (with `vt_to` read as `now`
  if it is FOREVER or later than `now`);
- `since` and `until`, the `now`s for which the whole path counts (see `bitemporal`).

A filler's copies in the view at `now` are the product of its versions and its places that count.
Nothing on the path has to be looked up again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from xcql.arrays import Flags, Ints, column_of, numbers_of, ranges, taken
from xcql.history.arrivals import BEGINNING, FOREVER, Holes
from xcql.model.fragments import ROOT_ID
from xcql.model.tags import TagStructure

# the number of key bytes per filler on the path
STEP = 8

# the number of the root's tag, because tags are listed in document order
ROOT_TAG = 0

# the number of paths that are computed at once
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class VersionColumns:
    """Versions of fillers, sorted by filler number, with the `now`s for which they count.

    `rows` are the fragments they come from; the other columns are those of `BitemporalRow`.
    """

    fillers: Ints
    rows: Ints
    numbers: Ints
    vt_from: Ints
    vt_to: Ints
    since: Ints
    until: Ints

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Places:
    """The places of fillers, sorted by filler number and then in document order.

    `parents` are the numbers of the fillers that contain these, -1 for the root.
    """

    fillers: Ints
    keys: pa.BinaryArray
    parents: Ints
    vt_from: Ints
    vt_to: Ints
    since: Ints
    until: Ints

    def __len__(self) -> int:
        return len(self.fillers)

    @property
    def depths(self) -> Ints:
        """The number of fillers that contain each filler."""
        return numbers_of(pc.binary_length(self.keys)) // STEP


@dataclass(frozen=True, slots=True)
class Placement:
    """All places, and the cyclic holes as (filler, filler of the hole).

    `complete` is false if the view has more places than can be stored. Then there are only those
    that count after the last change, if these can be stored (`is_lasting`), or else none.
    """

    places: Places
    cycles: frozenset[tuple[int, int]]
    complete: bool = True
    is_lasting: bool = False


@dataclass(frozen=True, slots=True)
class _Ways:
    """Paths of one depth to fillers; `steps` and `inside` have one column per step."""

    fillers: Ints
    steps: NDArray[np.uint64]
    inside: Ints
    vt_from: Ints
    vt_to: Ints
    since: Ints
    until: Ints

    def __len__(self) -> int:
        return len(self.fillers)

    def take(self, which: Ints | Flags) -> _Ways:
        return _Ways(*(getattr(self, field.name)[which] for field in fields(self)))


def place(
    structure: TagStructure,
    ids: pa.StringArray,
    filler_tags: Ints,
    versions: VersionColumns,
    holes: Holes,
    limit: int,
) -> Placement:
    """The places of all fillers, computed level by level from the root.

    `filler_tags` are the numbers of the fillers' tags, -1 for none; `limit` is the largest number
    of copies (places times versions) to keep.
    """
    version_counts = np.bincount(versions.fillers, minlength=len(ids))
    holes = _that_fit(structure, filler_tags, version_counts, holes)
    root = int(pc.index(ids, ROOT_ID).as_py())
    levels: list[_Ways] = []
    cycles: set[tuple[int, int]] = set()
    if root >= 0 and filler_tags[root] == ROOT_TAG:
        one, none = np.zeros(1, np.int64), np.empty((1, 0))
        levels.append(
            _Ways(
                one + root,
                none.astype(np.uint64),
                none.astype(np.int64),
                one + BEGINNING,
                one + FOREVER,
                one + BEGINNING,
                one + FOREVER,
            )
        )
    copies = 0
    while levels and len(levels[-1]):
        below: _Ways | None = None
        for found in _steps(levels[-1], versions, holes, len(ids), cycles):
            below = _joined(found if below is None else _both(below, found))
            if len(below) > _BLOCK + 2 * limit:
                return Placement(no_places(), frozenset(cycles), complete=False)
        if below is None:
            break
        copies += int(version_counts[below.fillers].sum())
        if copies > limit:
            return Placement(no_places(), frozenset(cycles), complete=False)
        levels.append(below)
    return Placement(_places(levels), frozenset(cycles))


def _that_fit(
    structure: TagStructure, filler_tags: Ints, version_counts: Ints, holes: Holes
) -> Holes:
    """The holes that have a filler whose tag is declared there."""
    tags = list(structure)
    numbers = {tag.id: number for number, tag in enumerate(tags)}
    pairs = np.array(
        [
            number * len(tags) + numbers[child.id]
            for number, tag in enumerate(tags)
            for child in structure.children(tag)
        ],
        np.int64,
    )
    filled = (holes.fillers >= 0) & (holes.tags >= 0) & (version_counts[holes.fillers] > 0)
    asked = holes.tags * len(tags) + filler_tags[holes.fillers]
    kept = filled & np.isin(asked, pairs)
    return Holes(*(getattr(holes, field.name)[kept] for field in fields(holes)))


def _steps(
    ways: _Ways, versions: VersionColumns, holes: Holes, size: int, cycles: set[tuple[int, int]]
) -> Iterator[_Ways]:
    """Follow the holes of the fillers at the ends of the paths, block by block."""
    version_borders = np.searchsorted(versions.fillers, np.arange(size + 1))
    way, version = ranges(version_borders[ways.fillers], version_borders[ways.fillers + 1])
    begins = np.searchsorted(holes.rows, versions.rows[version])
    ends = np.searchsorted(holes.rows, versions.rows[version], "right")
    totals = np.cumsum(ends - begins)
    # each block contains some versions with all of their holes
    borders = np.searchsorted(
        totals, np.arange(_BLOCK, int(totals[-1]) if len(totals) else 0, _BLOCK)
    )
    for block in np.split(np.arange(len(version)), borders):
        if len(block):
            of_block, hole = ranges(begins[block], ends[block])
            number = block[of_block]
            yield _step(ways.take(way[number]), versions, version[number], holes, hole, cycles)


def _step(
    ways: _Ways,
    versions: VersionColumns,
    version: Ints,
    holes: Holes,
    hole: Ints,
    cycles: set[tuple[int, int]],
) -> _Ways:
    """The paths, each extended by one step: a hole of a version of the filler at its end."""
    leads_to = holes.fillers[hole]
    is_inside = (ways.inside == leads_to[:, None]).any(axis=1) | (ways.fillers == leads_to)
    if is_inside.any():
        cycles |= set(
            zip(ways.fillers[is_inside].tolist(), leads_to[is_inside].tolist(), strict=True)
        )
    step = (versions.numbers[version] << 32) | holes.starts[hole]
    since = np.maximum(ways.since, versions.since[version])
    until = np.minimum(ways.until, versions.until[version])
    found = _Ways(
        leads_to,
        np.concatenate([ways.steps, step.astype(np.uint64)[:, None]], axis=1),
        np.concatenate([ways.inside, ways.fillers[:, None]], axis=1),
        np.maximum(ways.vt_from, versions.vt_from[version]),
        np.minimum(ways.vt_to, versions.vt_to[version]),
        since,
        until,
    )
    return found.take(~is_inside & (since < until))


def _joined(ways: _Ways) -> _Ways:
    """Merge paths that differ only in adjacent ranges of `now`.

    If a root is sent a thousand times, each time with one more hole at its end, the fillers of the
    old holes have one place each, not a thousand.
    """
    if len(np.unique(ways.fillers)) == len(ways):
        return ways
    same = [ways.fillers, *ways.steps.T, *ways.inside.T, ways.vt_from, ways.vt_to]
    order = np.lexsort([ways.since, *same])
    ways = ways.take(order)
    begins = np.ones(len(ways), np.bool_)
    begins[1:] = ways.until[:-1] != ways.since[1:]
    for column in same:
        sorted_column = column[order]
        begins[1:] |= sorted_column[1:] != sorted_column[:-1]
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(ways)) - 1
    joined = ways.take(first)
    joined.until[:] = ways.until[last]
    return joined


def _both(one: _Ways, other: _Ways) -> _Ways:
    return _Ways(
        *(
            np.concatenate([getattr(one, field.name), getattr(other, field.name)])
            for field in fields(one)
        )
    )


def _places(levels: list[_Ways]) -> Places:
    if not levels:
        return no_places()
    columns = [
        np.concatenate([getattr(ways, name) for ways in levels])
        for name in ("fillers", "vt_from", "vt_to", "since", "until")
    ]
    parents = np.concatenate(
        [ways.inside[:, -1] if ways.inside.shape[1] else ways.fillers * 0 - 1 for ways in levels]
    )
    keys = pa.concat_arrays([_keys(ways.steps) for ways in levels])
    fillers, since = columns[0], columns[3]
    if len(np.unique(fillers)) == len(fillers):
        order = np.argsort(fillers)
    else:
        ordered = pa.table([column_of(fillers), keys, column_of(since)], ["filler", "key", "since"])
        by = [("filler", "ascending"), ("key", "ascending"), ("since", "ascending")]
        order = numbers_of(pc.sort_indices(ordered, by))
    fillers, vt_from, vt_to, since, until = (column[order] for column in columns)
    return Places(fillers, taken(keys, order), parents[order], vt_from, vt_to, since, until)


def _keys(steps: NDArray[np.uint64]) -> pa.BinaryArray:
    count, depth = steps.shape
    octets = steps.astype(">u8").tobytes()
    offsets = np.arange(count + 1, dtype=np.int32) * (depth * STEP)
    return pa.Array.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(octets)]
    )


def no_places() -> Places:
    """The places of a view without fillers."""
    none = np.empty(0, np.int64)
    return Places(none, pa.array([], pa.binary()), none, none, none, none, none)


def encode(number: int) -> bytes:
    """A number as four bytes that sort like the numbers.

    In SQL: `unhex(lpad(hex(number), 8, '0'))`.

    >>> encode(255) < encode(256) < encode(70_000)
    True
    """
    return number.to_bytes(4, "big")
