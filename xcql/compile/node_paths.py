"""The paths on which a stream's nodes are, as the compiler sees them.

`xcql.shred.node_paths` says how they are written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from xcql.model.tags import TagStructure
from xcql.shred.node_paths import ANY, NodeKind, read_path, tag_step, vague_path


@dataclass(frozen=True, slots=True)
class NodePath:
    """A path in the fillers of one tag, `table`.

    `tag` is that of the element, or of the parent of any other node; `name` is the expanded name of
    an element or attribute. `is_valued` says that all nodes on it have their value in the table.
    """

    table: str
    text: str
    kind: NodeKind
    tag: str
    name: str
    is_valued: bool

    @property
    def is_vague(self) -> bool:
        return self.text.startswith(ANY)

    @property
    def is_top(self) -> bool:
        """Whether its nodes are the fillers' own elements."""
        return self.kind == "element" and "/" not in self.text

    @property
    def above(self) -> str:
        """The text of the parent's path, if the path is not vague."""
        # the namespace of an attribute may have slashes
        if self.kind == "attribute":
            return self.text.partition("/@")[0]
        return self.text.rpartition("/")[0]


class NodePaths:
    """All paths of a stream, found by how they relate to each other."""

    def __init__(self, structure: TagStructure, tables: Mapping[str, Mapping[str, bool]]) -> None:
        self._structure = structure
        self.tables = tables

    @cached_property
    def all(self) -> frozenset[NodePath]:
        return frozenset(
            self._path(table, text, is_valued)
            for table, paths in self.tables.items()
            for text, is_valued in paths.items()
        )

    def _path(self, table: str, text: str, is_valued: bool) -> NodePath:
        kind, tag_id, name = read_path(text)
        if kind == "element":
            tag = self._structure.by_id(tag_id)
            assert tag is not None, text
            name = tag.name.clark if tag.name.uri else tag.name.local
        return NodePath(table, text, kind, tag_id, name, is_valued)

    @cached_property
    def _below(self) -> Mapping[tuple[str, str], list[NodePath]]:
        """The paths with one more step, by table and text; those from vague paths by tag."""
        found: dict[tuple[str, str], list[NodePath]] = defaultdict(list)
        for path in self.all:
            if not path.is_top and not (path.is_vague and path.kind == "element"):
                found[path.table, path.above].append(path)
        return found

    @cached_property
    def _vague(self) -> Mapping[tuple[str, str], NodePath]:
        """Vague paths of elements, by table and tag."""
        return {
            (path.table, path.tag): path
            for path in self.all
            if path.is_vague and path.kind == "element"
        }

    def children(self, paths: Iterable[NodePath]) -> frozenset[NodePath]:
        """The paths of the children and attributes of elements, in the same filler."""
        found: set[NodePath] = set()
        for path in paths:
            if path.kind != "element":
                continue
            found.update(self._below.get((path.table, path.text), ()))
            # what is inside an element may be vague where the element itself is not
            vaguely = vague_path(tag_step(path.tag))
            found.update(self._below.get((path.table, vaguely), ()))
            if self._vague:
                tag = self._structure.by_id(path.tag)
                assert tag is not None
                for child in self._structure.children(tag):
                    vague = self._vague.get((path.table, child.id))
                    if vague is not None:
                        found.add(vague)
        return frozenset(found)

    def descendants(self, paths: Iterable[NodePath]) -> frozenset[NodePath]:
        """The paths below elements in the same filler, without attributes."""
        found: set[NodePath] = set()
        pending = list(paths)
        while pending:
            for path in self.children((pending.pop(),)):
                if path.kind != "attribute" and path not in found:
                    found.add(path)
                    pending.append(path)
        return frozenset(found)

    @cached_property
    def _parents(self) -> Mapping[NodePath, frozenset[NodePath]]:
        found: dict[NodePath, set[NodePath]] = defaultdict(set)
        for path in self.all:
            for child in self.children((path,)):
                found[child].add(path)
        return {path: frozenset(above) for path, above in found.items()}

    def parents(self, paths: Iterable[NodePath]) -> frozenset[NodePath]:
        """The paths of the parents of nodes, in the same filler."""
        return frozenset().union(*(self._parents.get(path, ()) for path in paths))

    def ancestors(self, paths: Iterable[NodePath]) -> frozenset[NodePath]:
        """The paths of the ancestors of nodes, in the same filler."""
        found: set[NodePath] = set()
        pending = list(paths)
        while pending:
            for path in self.parents((pending.pop(),)):
                if path not in found:
                    found.add(path)
                    pending.append(path)
        return frozenset(found)
