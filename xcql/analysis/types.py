"""The tag type of an expression: what is known about its value before the query runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

# stands for the document node of a stream among its tag ids
DOCUMENT = ""


@dataclass(frozen=True, slots=True)
class Nodes:
    """Elements of a stream, or its document, by the ids of the tags that they can have.

    `filled` are the tags whose fillers replace their holes in these trees; None means all tags.
    `tops` are the tags at which one of these trees may start although the temporal view continues
    above. `origin` distinguishes trees that hold only what the query looks at.
    """

    stream: str
    tags: frozenset[str]
    filled: frozenset[str] | None = None
    tops: frozenset[str] = frozenset()
    origin: int | None = None

    def with_tags(self, tags: Iterable[str]) -> Nodes:
        return replace(self, tags=frozenset(tags))


@dataclass(frozen=True, slots=True)
class KnownTree:
    """One tree, built by one evaluation of one expression, inside `depth` loops."""

    id: int
    depth: int


@dataclass(frozen=True, slots=True)
class TagType:
    """What the items of a value can be.

    `nodes` are elements and documents of streams; `leaves` the streams that attributes and text can
    be from; `plain` is anything unrelated to streams, such as atomic values and constructed nodes;
    `unknown` may be anything. `one` says that there is at most one item, `tree` that all nodes of
    streams are in one tree, so that their order and identity are reliable.
    """

    nodes: tuple[Nodes, ...] = ()
    leaves: frozenset[str] = frozenset()
    plain: bool = False
    unknown: bool = False
    one: bool = False
    tree: KnownTree | None = None

    @property
    def streams(self) -> frozenset[str]:
        """The streams that nodes of the value can be from."""
        return frozenset(nodes.stream for nodes in self.nodes) | self.leaves

    @property
    def of_streams(self) -> bool:
        """Whether the items can include nodes of streams, as far as is known."""
        return bool(self.nodes or self.leaves)


EMPTY = TagType(one=True)
PLAIN = TagType(plain=True)
ATOM = TagType(plain=True, one=True)
UNKNOWN = TagType(plain=True, unknown=True)


def join(types: Iterable[TagType]) -> TagType:
    """The type of a value that has any of these types; it is of one tree if they all are."""
    known = list(types)
    groups: dict[tuple[object, ...], Nodes] = {}
    for type_ in known:
        for nodes in type_.nodes:
            key = (nodes.stream, nodes.filled, nodes.origin)
            if key in groups:
                before = groups[key]
                nodes = replace(nodes, tags=nodes.tags | before.tags, tops=nodes.tops | before.tops)
            groups[key] = nodes
    trees = {type_.tree for type_ in known if type_.of_streams}
    return TagType(
        tuple(groups.values()),
        frozenset().union(*(type_.leaves for type_ in known)),
        any(type_.plain for type_ in known),
        any(type_.unknown for type_ in known),
        all(type_.one for type_ in known),
        trees.pop() if len(trees) == 1 else None,
    )


def several(type_: TagType) -> TagType:
    """The type of any number of items of a type."""
    return replace(type_, one=False) if type_.one else type_
