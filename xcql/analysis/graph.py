"""A tag structure as a graph: the tags that can be below and above a tag."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property

from xcql.analysis.types import DOCUMENT
from xcql.model.tags import Tag, TagStructure


class TagGraph:
    """Queries on the tags of a stream, by tag id; the document counts as a tag.

    >>> from xcql.model.tags import parse_tags
    >>> graph = TagGraph(parse_tags('''<structure><tag type="snapshot" id="1" name="list">
    ...   <tag type="temporal" id="2" name="item"/></tag></structure>'''))
    >>> sorted(graph.below("")), sorted(graph.fragmented_below("1"))
    (['1', '2'], ['2'])
    """

    def __init__(self, structure: TagStructure) -> None:
        self.structure = structure
        self._below: dict[str, frozenset[str]] = {}

    def tag(self, id: str) -> Tag:
        found = self.structure.by_id(id)
        assert found is not None, f"no tag {id!r}"
        return found

    def children(self, id: str) -> tuple[Tag, ...]:
        if id == DOCUMENT:
            return (self.structure.root,)
        return self.structure.children(self.tag(id))

    @cached_property
    def _parents(self) -> dict[str, frozenset[str]]:
        parents: dict[str, set[str]] = {self.structure.root.id: {DOCUMENT}}
        for tag in self.structure:
            for child in self.structure.children(tag):
                parents.setdefault(child.id, set()).add(tag.id)
        return {id: frozenset(above) for id, above in parents.items()}

    def parents(self, id: str) -> frozenset[str]:
        """The tags that an element of this tag can be a child of."""
        return self._parents.get(id, frozenset())

    def above(self, ids: Iterable[str]) -> frozenset[str]:
        """All tags that elements of these tags can have as ancestors."""
        found: set[str] = set()
        pending = list(ids)
        while pending:
            for parent in self.parents(pending.pop()):
                if parent not in found:
                    found.add(parent)
                    pending.append(parent)
        return frozenset(found)

    def below(self, id: str) -> frozenset[str]:
        """All tags that can be below an element of this tag; also its own if it is recursive."""
        if id not in self._below:
            if id == DOCUMENT:
                root = self.structure.root.id
                self._below[id] = self.below(root) | {root}
            else:
                self._below[id] = frozenset(
                    tag.id for tag in self.structure.descendants(self.tag(id))
                )
        return self._below[id]

    def beside(self, ids: Collection[str]) -> frozenset[str]:
        """The tags that elements can have without being one of these tags, or below one."""
        found: set[str] = set()
        pending = [DOCUMENT]
        while pending:
            new = {one.id for one in self.children(pending.pop())} - found
            found |= new - set(ids)
            pending += new - set(ids)
        return frozenset(found)

    def is_fragmented(self, id: str) -> bool:
        """Whether elements of this tag have their own fillers, and a lifespan."""
        return id != DOCUMENT and self.tag(id).is_fragmented

    @cached_property
    def fragmented(self) -> frozenset[str]:
        """All tags whose elements have their own fillers."""
        return frozenset(tag.id for tag in self.structure if tag.is_fragmented)

    def fragmented_below(self, *ids: str) -> frozenset[str]:
        """The tags of fillers that can be anywhere below elements of these tags."""
        return frozenset().union(*(self.below(id) for id in ids)) & self.fragmented

    def fragmented_children(self, *ids: str) -> frozenset[str]:
        return frozenset(tag.id for id in ids for tag in self.children(id)) & self.fragmented

    def filler_parents(self, id: str) -> tuple[str, ...]:
        """The tags of fillers that can contain holes for this tag, possibly the root's."""
        found: dict[str, None] = {}
        seen: set[str] = set()
        pending = sorted(self.parents(id))
        while pending:
            parent = pending.pop(0)
            if parent == DOCUMENT or parent in seen:
                continue
            seen.add(parent)
            if self.is_fragmented(parent) or parent == self.structure.root.id:
                found[parent] = None
            else:
                pending += sorted(self.parents(parent))
        return tuple(found)

    def has_one_place(self, id: str) -> bool:
        """Whether elements of this tag have only one path: no tag on it is recursive."""
        while id != DOCUMENT:
            parents = self.parents(id)
            if len(parents) != 1:
                return False
            (id,) = parents
        return True

    def nest(self, ids: Iterable[str]) -> bool:
        """Whether an element of one of these tags can be inside another."""
        known = frozenset(ids)
        return any(self.below(id) & known for id in known)

    def paths(self, top: str, targets: frozenset[str], limit: int = 2) -> list[tuple[Tag, ...]]:
        """The paths from below `top` down to one of the targets, each as its tags.

        Returns at most `limit` paths, since recursive tags have infinitely many.
        """
        leading = targets | {id for id in self.below(top) if self.below(id) & targets}
        found: list[tuple[Tag, ...]] = []
        pending: list[tuple[str, tuple[Tag, ...]]] = [(top, ())]
        while pending and len(found) < limit:
            id, passed = pending.pop()
            if passed and id in targets:
                found.append(passed)
            if len(passed) > len(self.below(top)) + 1:
                # longer than any path without recursion: there are infinitely many
                return [passed] * limit
            pending += [
                (child.id, (*passed, child))
                for child in reversed(self.children(id))
                if child.id in leading
            ]
        return found
