"""The identifiers of a Tag Structure as text, for the library: `ID Q{}id Q{}person Q{}people`.

A line has the type and the name of an attribute, the name of its element, and as many names above
it as are needed to distinguish the element from others of the same name.

Tests: tests/compile/test_identifiers.py
"""

from __future__ import annotations

from collections.abc import Iterator

from xcql.analysis.graph import TagGraph
from xcql.analysis.types import DOCUMENT
from xcql.diagnostics import error
from xcql.model.tags import DeclaredAttribute, Tag
from xcql.source import Span
from xcql.xdm.names import QName

# the names of an element and its ancestors, from the inside out
_Chain = tuple[QName, ...]
# with recursive tags, there are infinitely many equal names
_LONGEST = 12


def identifier_lines(graph: TagGraph, span: Span) -> list[str]:
    """What the library needs to know about the identifiers of a stream."""
    lines = []
    for tag in graph.structure:
        for attribute in tag.attributes:
            for chain in _chains(tag, attribute, graph, span):
                names = " ".join(name.clark for name in (attribute.name, *chain))
                lines.append(f"{attribute.type} {names}")
    # tags of one name may have the same
    return list(dict.fromkeys(lines))


def _chains(tag: Tag, attribute: DeclaredAttribute, graph: TagGraph, span: Span) -> list[_Chain]:
    others = [
        other
        for other in graph.structure
        if other.name == tag.name and attribute not in other.attributes
    ]
    for length in range(1, _LONGEST):
        own = set(_upward(tag.id, length, graph))
        if not any(own & set(_upward(other.id, length, graph)) for other in others):
            return sorted(own, key=str)
    raise error(
        "XCQL0407",
        f"elements <{tag.name}> with the identifier {attribute.name} are ambiguous",
        span,
        hints=["declare the attribute for all tags of that name"],
    )


def _upward(id: str, length: int, graph: TagGraph) -> Iterator[_Chain]:
    """The names from a tag upwards, up to a limit."""
    if id == DOCUMENT:
        yield ()
    elif length == 1:
        yield (graph.tag(id).name,)
    else:
        for parent in graph.parents(id):
            for above in _upward(parent, length - 1, graph):
                yield (graph.tag(id).name, *above)
