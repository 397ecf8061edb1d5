"""Infers a Tag Structure from a document, or from the element names that a schema allows.

Both are read into a tree of names. A recursive element appears in it once; each recurrence is a
reference, which becomes a `ref` tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Protocol, TypeVar
from xml.parsers import expat

from xcql.diagnostics import XcqlError, error
from xcql.model.documents import Document, parse_chunk, place_in
from xcql.model.paths import find_at
from xcql.model.tags import (
    ATTRIBUTE_TYPES,
    MAX_DEPTH,
    AttributeType,
    DeclaredAttribute,
    Tag,
    TagKind,
    TagStructure,
)
from xcql.xdm.names import QName
from xcql.xdm.parse import NAME_SEPARATOR, expanded_name

# A schema whose elements nest freely has one tag for each way to nest them.
MAX_TAGS = 20_000


class NameTree(dict[str, "NameTree"]):
    """An element and the elements seen in it; with recursion, the tree has cycles.

    As a dictionary it is keyed by the names that the parser reports, which is fast.
    """

    __slots__ = ("attributes", "children", "depth", "id", "kind", "name", "parent")

    def __init__(self, name: QName, parent: NameTree | None = None) -> None:
        super().__init__()
        self.name = name
        self.parent = parent
        self.depth: int = 1 if parent is None else parent.depth + 1
        self.children: dict[QName, NameTree] = {}
        # the declared attributes that are identifiers or refer to them
        self.attributes: dict[QName, AttributeType] = {}
        # those of its tag, if it has one already
        self.id: str | None = None
        self.kind: TagKind | None = None

    def __missing__(self, told: str) -> NameTree:
        child = self[told] = self.child(expanded_name(told))
        return child

    def child(self, name: QName) -> NameTree:
        """The child element with that name: a known one, a recurring ancestor, or a new one."""
        if name not in self.children:
            ancestor: NameTree | None = self
            while ancestor is not None and ancestor.name != name:
                ancestor = ancestor.parent
            if ancestor is None and self.depth >= MAX_DEPTH:
                raise _TooDeep
            # a tree is also a dictionary, and falsy while it is empty
            self.children[name] = NameTree(name, self) if ancestor is None else ancestor
        return self.children[name]


# an element, the names on the path to it, and whether it is a recurrence
_Place = tuple[NameTree, tuple[QName, ...], bool]

# identifies an element's declaration in a schema
Declaration = TypeVar("Declaration", bound=Hashable)


class _TooDeep(Exception):
    pass


class Watcher(Protocol):
    """Sees every element of a document while its names are read."""

    def start(self, element: NameTree, attributes: dict[str, str]) -> None: ...

    def text(self, data: str) -> None: ...

    def end(self) -> None: ...


def infer_from_document(
    document: Document, parent: NameTree | None = None, watcher: Watcher | None = None
) -> NameTree:
    """The tree of all element names of a document, read in one pass.

    With a `parent`, the document's root is added to its children, unless it is there.
    """
    parser = expat.ParserCreate("UTF-8", NAME_SEPARATOR)
    parser.namespace_prefixes = True
    window, base = b"", 0
    # the parent of the root, so that the root is handled like any other element
    tree = NameTree(QName("", "")) if parent is None else parent
    root: NameTree | None = None
    outer: list[NameTree] = []
    push, pop = outer.append, outer.pop

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal tree, root
        push(tree)
        try:
            tree = tree[name]
            if root is None:
                root = tree
        except _TooDeep:
            line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
            at = parser.CurrentByteIndex - base
            raise error(
                "XCQL0261",
                f"'{document.name}' nests more than {MAX_DEPTH} different elements",
                place_in(document.name, window, at, line, column),
            ) from None

    def end(name: str) -> None:
        nonlocal tree
        tree = pop()

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    if watcher is not None:
        seen = watcher

        def watched_start(name: str, attributes: dict[str, str]) -> None:
            start(name, attributes)
            seen.start(tree, attributes)

        def watched_end(name: str) -> None:
            end(name)
            seen.end()

        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = watched_start, watched_end
        parser.CharacterDataHandler = watcher.text
    for chunk in chain(filter(None, document.chunks), [b""]):
        window += chunk
        parse_chunk(parser, chunk, not chunk, document.name, window, base)
        parsed = max(parser.CurrentByteIndex, base)
        window, base = window[parsed - base :], parsed
    assert root is not None
    if parent is None:
        root.parent = None
    _declare_identifiers(root, document.attribute_types)
    return root


def _declare_identifiers(root: NameTree, types: Mapping[tuple[str, str], str]) -> None:
    """Record the identifiers that a document's own DTD declares."""
    if not types:
        return
    for element, _, is_reference in _places(root):
        if not is_reference:
            element.attributes.update(identifiers_of(str(element.name), types))


def identifiers_of(
    element: str, types: Mapping[tuple[str, str], str]
) -> Iterator[tuple[QName, AttributeType]]:
    """The ID and IDREF attributes of an element, from the attribute types of a DTD.

    Attributes with a prefix are left out, because a DTD does not say what a prefix stands for.
    """
    for (owner, attribute), type_ in types.items():
        if owner == element and type_ in ATTRIBUTE_TYPES and ":" not in attribute:
            yield QName("", attribute), type_


def infer_from_declarations(
    root: tuple[QName, Declaration],
    content: Callable[[Declaration], Iterable[tuple[QName, Declaration]]],
    identifiers: Callable[[Declaration], Mapping[QName, AttributeType]],
    source_name: str,
) -> NameTree:
    """The tree of the elements that a schema allows below a root.

    `content` returns the child elements of a declared element, in order; `identifiers` returns its
    attributes that are identifiers or refer to them.
    """
    tree = NameTree(root[0])
    pending = [(tree, root[1])]
    # a recurring element may have another declaration there; it gets the children of both
    visited = {(id(tree), root[1])}
    while pending:
        parent, declaration = pending.pop()
        parent.attributes.update(identifiers(declaration))
        for name, child_declaration in content(declaration):
            try:
                child = parent.child(name)
            except _TooDeep:
                raise _too_many(source_name) from None
            if (id(child), child_declaration) not in visited:
                visited.add((id(child), child_declaration))
                pending.append((child, child_declaration))
        if len(visited) > MAX_TAGS:
            raise _too_many(source_name)
    return tree


def _too_many(source_name: str) -> XcqlError:
    return error(
        "XCQL0261",
        f"'{source_name}' allows more than {MAX_TAGS} ways of nesting its elements",
        hints=["infer the tag structure from a document: it has only the elements that occur"],
    )


def tree_of(structure: TagStructure) -> NameTree:
    """The tree of a tag structure, to which the names of more documents can be added."""
    trees: dict[str, NameTree] = {}

    def add(tag: Tag, parent: NameTree | None) -> None:
        element = trees[tag.id] = NameTree(tag.name, parent)
        element.id, element.kind = tag.id, tag.kind
        element.attributes = {one.name: one.type for one in tag.attributes}
        for child in tag.children:
            if child.ref is None:
                add(child, element)

    add(structure.root, None)
    for tag in structure:
        element = trees[tag.id]
        element.children = {child.name: trees[child.id] for child in structure.children(tag)}
    return trees[structure.root.id]


def tag_structure(
    tree: NameTree,
    temporal: Sequence[str] = (),
    event: Sequence[str] = (),
    identifiers: Sequence[str] = (),
) -> TagStructure:
    """The tag structure of a tree of names; the paths select the elements that have a history.

    A path is `/site/people/person` from the root, or `//item`, `people/person` anywhere; `*` is
    any name. A name without a prefix matches every element with that local name. The paths in
    `identifiers` select attributes that identify elements: `//person/@id`. Elements that have a tag
    already keep its id and type; the others get the numbers after these ids, in document order.

    >>> tree = NameTree(QName("", "site"))
    >>> _ = tree.child(QName("", "item")).child(QName("", "name"))
    >>> [(tag.id, str(tag.name), tag.kind) for tag in tag_structure(tree, temporal=["//item"])]
    [('1', 'site', 'snapshot'), ('2', 'item', 'temporal'), ('3', 'name', 'snapshot')]
    """
    places = list(_places(tree))
    known = [one.id for one, _, _ in places if one.id is not None and one.id.isdecimal()]
    number = max(map(int, known), default=0)
    for element, _, _ in places:
        if element.id is None:
            number += 1
            element.id = str(number)
    kinds: dict[int, tuple[TagKind, str]] = {}
    wanted: list[tuple[TagKind, str]] = [("temporal", path) for path in temporal]
    wanted += [("event", path) for path in event]
    for kind, path in wanted:
        for element in find_at(path, [(element, names) for element, names, _ in places]):
            earlier, earlier_path = kinds.setdefault(id(element), (kind, path))
            if earlier != kind:
                raise error(
                    "XCQL0260",
                    f"{element.name} is both {earlier} ('{earlier_path}') and {kind} ('{path}')",
                    hints=["a tag has one type: make one of the paths more precise"],
                )

    attributes = {id(element): dict(element.attributes) for element, _, _ in places}
    for path in identifiers:
        elements, name = _attribute_path(path)
        for element in find_at(elements, [(element, names) for element, names, _ in places]):
            attributes[id(element)][name] = "ID"

    def tag(element: NameTree, parent: NameTree | None) -> Tag:
        own_id = element.id
        assert own_id is not None
        kind = element.kind or kinds.get(id(element), ("snapshot", ""))[0]
        if element.parent is not parent:
            return Tag(own_id, element.name, kind, ref=own_id)
        children = tuple(tag(child, element) for child in element.children.values())
        declared = tuple(
            DeclaredAttribute(name, type_) for name, type_ in attributes[id(element)].items()
        )
        return Tag(own_id, element.name, kind, children, attributes=declared)

    return TagStructure(tag(tree, None))


def _attribute_path(path: str) -> tuple[str, QName]:
    """The element path and the attribute name of a path such as `//person/@id`."""
    elements, slash, name = path.strip().rpartition("/@")
    match = re.fullmatch(r"(?:Q\{([^}]*)\})?([^\W\d][\w.\-]*)", name)
    if not slash or not elements or match is None:
        raise error(
            "XCQL0260",
            f"'{path}' is not a path to an attribute",
            hints=["write //person/@id, or with a namespace //person/@Q{urn:example}id"],
        )
    return elements, QName(match[1] or "", match[2])


def _places(root: NameTree) -> Iterator[_Place]:
    """Every element with the names on the path to it, in document order, with recurrences."""
    pending: list[_Place] = [(root, (root.name,), False)]
    while pending:
        element, names, is_reference = pending.pop()
        yield element, names, is_reference
        if not is_reference:
            pending += [
                (child, (*names, child.name), child.parent is not element)
                for child in reversed(element.children.values())
            ]
