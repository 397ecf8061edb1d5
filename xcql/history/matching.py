"""Which elements of a document are which elements of an earlier one: a function of two trees.

Elements with fillers of their own are matched from the root down, among the children of matched
parents, by the first of these that decides:

1. the key: elements with the same tag and key are the same; with different keys, they differ;
2. the content: among elements without a key, or with the same one, those with equal content,
   children included, are the same. The longest common sequence comes first, then the moved ones;
3. the position: what is left between two matched siblings is paired in order, the most similar
   elements first. So an insertion in the middle is one insertion.

Then moves to another parent are found, if wanted: by equal content, or by the key and similar
content.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate

from xcql.history.latest import LatestFiller
from xcql.model.shapes import ContentShape
from xcql.model.tags import Tag

Elements = Callable[[str], LatestFiller | None]
Pairs = list[tuple[int, int]]

# Elements that only content or position can tell apart: they have the same tag and the same key
# (or none), and events have the same content
_Kin = tuple[str, str | None, bytes]

# comparing every element of one gap with every other is done for at most this many pairs
_MAX_PAIRS = 2_500
# an element without a key needs this many texts and attributes to be recognised elsewhere
_DISTINCTIVE = 3


def match_elements(
    new: Mapping[str, LatestFiller],
    old: Elements,
    roots: Mapping[str, str],
    parents: Callable[[str], Iterable[str]] | None = None,
    gone: Iterable[str] = (),
) -> dict[str, str]:
    """The ids of new elements with the ids of the old elements that they are.

    `roots` are matched already, `gone` has the roots that are no longer there. With `parents`,
    elements may move to other parents; it returns the elements that have ever contained one. An
    element never moves into what it has contained, because the view of a stream is a tree.
    """
    matching = _Matching(new, old)
    for id, known in roots.items():
        matching.accept(id, known)
    matching.descend(roots)
    if parents is not None:
        matching.find_moves([*roots.values(), *gone], parents)
    return matching.matches


class _Matching:
    def __init__(self, new: Mapping[str, LatestFiller], old: Elements) -> None:
        self.matches: dict[str, str] = {}
        self._taken: set[str] = set()
        self._new, self._old = new, old
        self._new_digests, self._old_digests = _Digests(new.get), _Digests(old)
        self._owners = {hole: id for id, one in new.items() for hole in one.shape.holes}

    def accept(self, new: str, old: str) -> None:
        self.matches[new] = old
        self._taken.add(old)

    def descend(self, begun: Iterable[str]) -> None:
        """Match the children of matched elements, and theirs."""
        pending = list(begun)
        while pending:
            new = pending.pop()
            for child, old in self._children(self._new[new], self._known(self.matches[new])):
                self.accept(child, old)
                pending.append(child)

    def _known(self, id: str) -> LatestFiller:
        known = self._old(id)
        assert known is not None, "only an element that is known can be matched"
        return known

    def _children(self, new: LatestFiller, old: LatestFiller) -> Iterator[tuple[str, str]]:
        if old.tag.kind == "temporal":
            # its versions have holes of their own, so an element may change its place among them
            yield from self._siblings(new.shape.holes, old.shape.holes, False).items()
            return
        for path, slot in new.shape.slots.items():
            if path in old.shape.slots:
                known = old.shape.slots[path].holes
                yield from self._siblings(slot.holes, known, True).items()

    # siblings

    def _siblings(
        self, new: Sequence[str], old: Sequence[str], keeps_holes: bool
    ) -> dict[str, str]:
        """Match the holes of an element with its old holes.

        Filled old holes are matched first. A removed filler may be filled again, but if its hole
        was kept, only at the same position, because its earlier position must stay correct.
        """
        places = {id: place for place, id in enumerate(old)}
        filled: dict[_Kin, list[str]] = {}
        removed: dict[_Kin, deque[str]] = {}
        for id in places:
            known = self._old(id)
            if known is None or id in self._taken:
                continue
            for shape in [event for _, event in known.events] or [known.shape]:
                kin = _kin(known.tag, shape)
                if known.is_alive:
                    filled.setdefault(kin, []).append(id)
                else:
                    removed.setdefault(kin, deque()).append(id)

        kins = {hole: _kin(self._new[hole].tag, self._new[hole].shape) for hole in new}
        groups: dict[_Kin, list[str]] = {}
        for hole, kin in kins.items():
            groups.setdefault(kin, []).append(hole)
        matches: dict[str, str] = {}
        used: set[str] = set()
        orders = {hole: place for place, hole in enumerate(new)}
        # those with keys come first: the others keep their order among them
        for kin in sorted(groups, key=lambda kin: kin[1] is None):
            alike = [id for id in filled.get(kin, ()) if id not in used]
            pairs = self._aligned(groups[kin], alike, not keeps_holes)
            found = {groups[kin][i]: alike[j] for i, j in pairs}
            if keeps_holes and kin[1:] == (None, b""):
                found = _in_order(found, matches, orders, places)
            matches |= found
            used.update(found.values())
        if removed:
            self._refill(new, kins, removed, matches, places, keeps_holes)
        return matches

    def _refill(
        self,
        new: Sequence[str],
        kins: Mapping[str, _Kin],
        removed: Mapping[_Kin, deque[str]],
        matches: dict[str, str],
        places: Mapping[str, int],
        keeps_holes: bool,
    ) -> None:
        """Match new holes that are still without a match with removed fillers."""
        # hole -> the position of the next filled hole, which its own position must precede
        limits: dict[str, int] = {}
        limit = len(places)
        for hole in reversed(new):
            limits[hole] = limit
            if hole in matches:
                limit = min(limit, places[matches[hole]])
        reached = -1
        used = set(matches.values())
        for hole in new:
            if hole not in matches:
                alike = removed.get(kins[hole], deque())
                after = reached if keeps_holes else -1
                while alike and (alike[0] in used or places[alike[0]] <= after):
                    alike.popleft()
                if alike and (not keeps_holes or places[alike[0]] < limits[hole]):
                    matches[hole] = alike[0]
                    used.add(alike[0])
            if hole in matches:
                reached = max(reached, places[matches[hole]])

    def _aligned(self, new: Sequence[str], old: Sequence[str], may_cross: bool) -> Pairs:
        """Pairs of positions: the elements of the same kin that are the same."""
        if len(new) == len(old) == 1:
            return [(0, 0)]
        if not new or not old:
            return []
        contents = (
            [self._new_digests.of(id) for id in new],
            [self._old_digests.of(id) for id in old],
        )
        anchors = common_sequence(*contents)
        pairs = list(anchors)
        if may_cross:
            moved: dict[bytes, deque[int]] = {}
            taken = {j for _, j in anchors}
            for j, content in enumerate(contents[1]):
                if j not in taken:
                    moved.setdefault(content, deque()).append(j)
            taken = {i for i, _ in anchors}
            for i, content in enumerate(contents[0]):
                if i not in taken and moved.get(content):
                    pairs.append((i, moved[content].popleft()))
        used = {i for i, _ in pairs}, {j for _, j in pairs}
        begin = -1, -1
        for end in [*anchors, (len(new), len(old))]:
            gap = [i for i in range(begin[0] + 1, end[0]) if i not in used[0]]
            other = [j for j in range(begin[1] + 1, end[1]) if j not in used[1]]
            if gap and other:
                pairs += self._by_similarity(gap, other, new, old)
            begin = end
        return pairs

    def _by_similarity(
        self, gap: Sequence[int], other: Sequence[int], new: Sequence[str], old: Sequence[str]
    ) -> Pairs:
        """Pair two sequences in order, so that the pairs are as similar as possible."""
        if len(gap) == len(other) == 1 or len(gap) * len(other) > _MAX_PAIRS:
            return list(zip(gap, other, strict=False))
        scores = [[self._similarity(new[i], old[j]) + 0.01 for j in other] for i in gap]
        return [(gap[i], other[j]) for i, j in _best_pairs(scores)]

    def _similarity(self, new: str, old: str) -> float:
        """How similar two elements are, from 0 to 1."""
        one, known = self._new[new], self._known(old)
        own = 1.0 if one.shape.digest == known.shape.digest else _overlap(one.shape, known.shape)
        inner = self._traits(one, self._new.get, self._new_digests)
        outer = self._traits(known, self._old, self._old_digests)
        if not inner and not outer:
            return own
        return (own + len(inner & outer) / max(len(inner), len(outer))) / 2

    @staticmethod
    def _traits(one: LatestFiller, elements: Elements, digests: _Digests) -> set[Hashable]:
        """What tells an element's children: their keys, or else their content."""
        traits: set[Hashable] = set()
        for id in one.shape.holes:
            child = elements(id)
            if child is not None and child.is_alive:
                key = child.shape.key
                traits.add(digests.of(id) if key is None else (child.tag.id, key))
        return traits

    # moves

    def find_moves(self, roots: Iterable[str], parents: Callable[[str], Iterable[str]]) -> None:
        """Match elements that left one temporal parent and are now in another."""
        coming = [id for id in sorted(self._new, key=int) if self._may_move(id)]
        if not coming:
            return
        by_key: dict[tuple[str, str], list[str]] = {}
        by_content: dict[tuple[str, bytes], list[str]] = {}
        for id in self._leaving(roots):
            known = self._known(id)
            if known.shape.key is not None:
                by_key.setdefault((known.tag.id, known.shape.key), []).append(id)
            by_content.setdefault((known.tag.id, self._old_digests.of(id)), []).append(id)
        if not by_content:
            return
        keys = Counter((self._new[id].tag.id, self._new[id].shape.key) for id in coming)
        contents = Counter((self._new[id].tag.id, self._new_digests.of(id)) for id in coming)
        # in document order, so that what is in a moved element has its turn with it
        for id in coming:
            one = self._new[id]
            if id in self.matches:
                continue
            key, tag = one.shape.key, one.tag.id
            found = None
            content = tag, self._new_digests.of(id)
            if contents[content] == 1 and _is_distinctive(one):
                found = self._only(by_content.get(content, ()))
            if found is None and key is not None and keys[tag, key] == 1:
                found = self._only(by_key.get((tag, key), ()))
                if found is not None and self._similarity(id, found) < 0.5:
                    found = None
            if found is not None and not self._is_around(found, id, parents):
                self.accept(id, found)
                self.descend([id])

    def _may_move(self, new: str) -> bool:
        owner = self._owners.get(new)
        return (
            new not in self.matches
            and owner is not None
            and self._new[new].tag.kind == self._new[owner].tag.kind == "temporal"
        )

    def _leaving(self, roots: Iterable[str]) -> Iterator[str]:
        """The old temporal elements without a match whose parents are temporal, too."""
        pending = list(roots)
        seen = set(pending)
        while pending:
            owner = self._known(pending.pop())
            for id in owner.shape.holes:
                known = self._old(id)
                if known is not None and known.is_alive and id not in seen:
                    seen.add(id)
                    pending.append(id)
                    if known.tag.kind == owner.tag.kind == "temporal" and id not in self._taken:
                        yield id

    def _only(self, ids: Collection[str]) -> str | None:
        free = [id for id in ids if id not in self._taken]
        return free[0] if len(free) == 1 else None

    def _is_around(self, old: str, new: str, parents: Callable[[str], Iterable[str]]) -> bool:
        """Whether an old element contains, or has ever contained, the place of a new one."""
        seen: set[tuple[bool, str]] = set()
        pending = [(True, new)]
        while pending:
            is_new, id = pending.pop()
            if not is_new:
                if id == old:
                    return True
                above = [(False, parent) for parent in parents(id)]
            else:
                above = [(True, self._owners[id])] if id in self._owners else []
                if id in self.matches:
                    above.append((False, self.matches[id]))
            pending += [one for one in above if one not in seen]
            seen.update(above)
        return False


class _Digests:
    """Digests of elements with everything in them, computed once for each."""

    def __init__(self, elements: Elements) -> None:
        self._elements = elements
        self._known: dict[str, bytes] = {}

    def of(self, id: str) -> bytes:
        if id not in self._known:
            for one in reversed(self._below(id)):
                self._known[one] = self._digest(one)
        return self._known[id]

    def _below(self, id: str) -> list[str]:
        """The element and those in it whose digests are missing, each before its children."""
        found: dict[str, None] = {}
        pending = [id]
        while pending:
            top = pending.pop()
            element = self._elements(top)
            if top not in found and top not in self._known and element is not None:
                found[top] = None
                pending += element.shape.holes
        return list(found)

    def _digest(self, id: str) -> bytes:
        element = self._elements(id)
        assert element is not None
        digest = blake2b(element.shape.digest, digest_size=16)
        for hole in element.shape.holes:
            child = self._elements(hole)
            if child is not None and child.is_alive:
                digest.update(child.tag.id.encode() + b" " + self._known.get(hole, b""))
        return digest.digest()


def common_sequence(new: Sequence[Hashable], old: Sequence[Hashable]) -> Pairs:
    """A long common subsequence, as pairs of positions.

    Values that are unique on both sides are aligned first, then what is between them.

    >>> common_sequence("abcd", "axbd")
    [(0, 0), (1, 2), (3, 3)]
    """
    pairs: Pairs = []
    pending = [(0, len(new), 0, len(old))]
    while pending:
        a, b, c, d = pending.pop()
        while a < b and c < d and new[a] == old[c]:
            pairs.append((a, c))
            a, c = a + 1, c + 1
        while a < b and c < d and new[b - 1] == old[d - 1]:
            b, d = b - 1, d - 1
            pairs.append((b, d))
        if a == b or c == d:
            continue
        anchors = _unique_in_both(new, old, a, b, c, d)
        if anchors:
            pairs += anchors
            begin = a - 1, c - 1
            for end in [*anchors, (b, d)]:
                pending.append((begin[0] + 1, end[0], begin[1] + 1, end[1]))
                begin = end
        elif (b - a) * (d - c) <= _MAX_PAIRS:
            equal = [[float(new[i] == old[j]) for j in range(c, d)] for i in range(a, b)]
            pairs += [(a + i, c + j) for i, j in _best_pairs(equal)]
    return sorted(pairs)


def _unique_in_both(
    new: Sequence[Hashable], old: Sequence[Hashable], a: int, b: int, c: int, d: int
) -> Pairs:
    """The longest ascending sequence of pairs of values that occur once in each range."""
    counts, others = Counter(new[a:b]), Counter(old[c:d])
    places = {old[j]: j for j in range(c, d) if others[old[j]] == 1}
    found = [(i, places[new[i]]) for i in range(a, b) if counts[new[i]] == 1 and new[i] in places]
    return [found[i] for i in ascending([j for _, j in found])]


def ascending(values: Sequence[int]) -> list[int]:
    """The positions of a longest strictly ascending subsequence.

    >>> ascending([3, 1, 2, 5, 4])
    [1, 2, 4]
    """
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for position, value in enumerate(values):
        length = bisect_left(ends, value)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [value]
        last[length : length + 1] = [position]
    result = []
    position = last[-1] if last else -1
    while position >= 0:
        result.append(position)
        position = before[position]
    return result[::-1]


def _best_pairs(scores: Sequence[Sequence[float]]) -> Pairs:
    """The pairs of rows and columns, in order, with the highest sum of positive scores."""
    rows, columns = len(scores), len(scores[0])
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            both = best[i + 1][j + 1] + scores[i][j]
            best[i][j] = max(best[i + 1][j], best[i][j + 1], both)
    pairs: Pairs = []
    i = j = 0
    while i < rows and j < columns:
        if scores[i][j] and best[i][j] == best[i + 1][j + 1] + scores[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _in_order(
    found: Mapping[str, str],
    matches: Mapping[str, str],
    orders: Mapping[str, int],
    places: Mapping[str, int],
) -> dict[str, str]:
    """The pairs that cross no match: a parent without versions has one order for all times."""
    anchors = sorted((orders[new], places[old]) for new, old in matches.items())
    # the latest old place up to an anchor, and the earliest one from it
    until = [-1, *accumulate((place for _, place in anchors), max)]
    since = [*accumulate((place for _, place in reversed(anchors)), min)][::-1]
    kept = {}
    for new, old in found.items():
        number = bisect_left(anchors, (orders[new], -1))
        earliest = since[number] if number < len(since) else len(places)
        if until[number] < places[old] < earliest:
            kept[new] = old
    return kept


def _kin(tag: Tag, shape: ContentShape) -> _Kin:
    return tag.id, shape.key, shape.outline if tag.kind == "event" else b""


def _overlap(one: ContentShape, other: ContentShape) -> float:
    """The share of texts and attributes that two contents have in common."""
    if not one.sketch or not other.sketch:
        return 0.0
    common = len({*one.sketch} & {*other.sketch})
    return common / max(len(one.sketch), len(other.sketch))


def _is_distinctive(one: LatestFiller) -> bool:
    shape = one.shape
    return shape.key is not None or bool(shape.holes) or len(shape.sketch) >= _DISTINCTIVE
