"""Items as the compiler knows them: how each is made of the columns of a tuple.

An item is symbolic: it says which scalars give its value, its text, its lifespan. A constructed
element is no text but a tree of items, so that a path into it is found at compile time, and nothing
is made that the query does not ask for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from xcql.algebra.operators import Plan, row_column
from xcql.algebra.scalars import Scalar
from xcql.algebra.scalars import field as struct_field
from xcql.shred.shape import Slot
from xcql.syntax.functions import InlineFunction

if TYPE_CHECKING:
    from xcql.compile.terms.scope import Scope
    from xcql.compile.terms.values import Value


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of elements at one place of a row: `Slot`s of several tags, as one.

    `column` is the field that holds them; `strays` says that holes stand in some of them, or below,
    where no filler can be; attributes map expanded names to fields. `ways` maps the
    paths of the texts inside to whether they have fields, if all paths are known.
    """

    tags: tuple[str, ...]
    name: str
    column: str
    is_leaf: bool
    opaque: bool
    repeats: bool
    commented: bool
    strays: bool
    attributes: Mapping[str, str] = field(hash=False)
    ways: Mapping[str, bool] | None = field(hash=False)
    children: tuple[Shape, ...]

    @property
    def has_text(self) -> bool:
        return self.is_leaf or self.opaque

    def child(self, tag: str) -> Shape | None:
        return next((child for child in self.children if tag in child.tags), None)


def shape_of(slots: Mapping[str, Slot]) -> Shape | None:
    """The shape of elements of several tags, by their ids; None where they are laid out apart."""
    found = list(slots.values())
    first = found[0]
    if any(
        (slot.column, slot.is_leaf, slot.opaque, slot.repeats)
        != (first.column, first.is_leaf, first.opaque, first.repeats)
        for slot in found
    ):
        return None
    attributes: dict[str, str] = {}
    for slot in found:
        for attribute in slot.attributes:
            if attributes.setdefault(attribute.name, attribute.column) != attribute.column:
                return None
    if len(set(attributes.values())) < len(attributes):
        return None
    by_column: dict[str, dict[str, Slot]] = {}
    for slot in found:
        for child in slot.children:
            by_column.setdefault(child.column, {})[child.tag] = child
    children = [shape_of(below) for below in by_column.values()]
    if any(child is None for child in children):
        return None
    return Shape(
        tuple(slots),
        first.column,
        first.column,
        first.is_leaf,
        first.opaque,
        first.repeats,
        any(slot.commented for slot in found),
        any(slot.strays for slot in found),
        attributes,
        _ways_of(found) if first.opaque else None,
        tuple(child for child in children if child is not None),
    )


def _ways_of(slots: Iterable[Slot]) -> Mapping[str, bool] | None:
    """Whether texts inside opaque elements have fields, by their paths; None if not all are known.

    They have one if they have it in all tables, and SQL can tell it from the others.
    """
    ways: dict[str, bool] = {}
    for slot in slots:
        if not slot.indexed:
            return None
        for way in slot.ways:
            ways[way.path] = way.kept and ways.get(way.path, True)
    alike = Counter(map(str.lower, ways))
    return {path: kept and alike[path.lower()] == 1 for path, kept in ways.items()}


@dataclass(frozen=True, slots=True)
class Window:
    """The interval that a node was projected to; its bounds are instants, never NULL."""

    begin: Scalar
    end: Scalar


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree that a projection made; without one, nodes are those of the stream itself.

    Of several `tops` each is a tree by itself, and they are in the order of projected nodes.
    """

    number: int
    tops: bool


@dataclass(frozen=True, slots=True)
class Item:
    pass


@dataclass(frozen=True, slots=True)
class Atomic(Item):
    """An atomic value of a type such as `xs:integer`; data without a type is `xs:untypedAtomic`.

    Dates and times are instants in UTC; `zone` is how they were written (`''`, `'Z'`, `'+02:00'`).
    Times of day are microseconds since midnight, as they read. Durations are numbers of
    microseconds or of months.
    """

    scalar: Scalar
    type: str
    zone: Scalar | None = None


@dataclass(frozen=True, slots=True)
class StreamDocument(Item):
    """The document node of a stream."""

    stream: str
    window: Window | None = None
    tree: Tree | None = None


@dataclass(frozen=True, slots=True)
class StreamElement(Item):
    """An element of a stream: a struct somewhere in the row of a filler.

    `table` are the tags of the fillers in the row's table, `path` leads to it there. `is_filler`
    says that it is the filler's own element; `alone` that no other element of the row can be at
    that path. `above` is the element or document it was reached from, if that is its parent, and
    None where that is not known. A projected element that nothing is above of has `is_top`; a copy
    in a constructed element `is_copy`.
    """

    stream: str
    row: str
    table: tuple[str, ...]
    tags: tuple[str, ...]
    shape: Shape
    path: tuple[str, ...]
    struct: Scalar
    is_filler: bool
    alone: bool
    above: StreamElement | StreamDocument | None = None
    window: Window | None = None
    # what a projection made of the lifespan of the element itself
    lifespan: tuple[Scalar, Scalar] | None = None
    is_top: bool = False
    is_copy: bool = False
    # the lifespan of the nearest constructed element around a copy that has its own
    around: tuple[Scalar, Scalar] | None = None
    tree: Tree | None = None

    def column(self, name: str) -> Scalar:
        return row_column(self.row, name)


@dataclass(frozen=True, slots=True)
class Attribute(Item):
    """An attribute: its expanded name, its name as written, and its value (NULL: not there).

    `made_of` is the type of the one value that a constructed attribute was made of. `within` is an
    element that it stands in, at whatever depth, where the owner is not known.
    """

    name: str
    scalar: Scalar
    owner: StreamElement | Element | Inner | None = None
    made_of: str = "xs:untypedAtomic"
    within: StreamElement | None = None


@dataclass(frozen=True, slots=True)
class Text(Item):
    """A text node; `place` is where it begins in the owner's bytes, if there may be others.

    `within` is as for attributes.
    """

    scalar: Scalar
    owner: StreamElement | Element | Inner | None = None
    place: Scalar | None = None
    within: StreamElement | None = None


@dataclass(frozen=True, slots=True)
class Inner(Item):
    """An element inside of one that is not shredded, which is the `owner`.

    `struct` has its name, its XML text, and where it and its parent start in the text that it was
    found in; `start` is where it starts in the owner's bytes. `tags` are those it can have. `above`
    is its parent, None where that is not known. `way` leads to it from the owner.
    """

    owner: StreamElement
    struct: Scalar
    start: Scalar
    tags: tuple[str, ...]
    above: Inner | StreamElement | None = None
    way: Way | None = field(default=None, hash=False, compare=False)

    @property
    def stream(self) -> str:
        return self.owner.stream

    @property
    def text(self) -> Scalar:
        return struct_field(self.struct, "text")


@dataclass(frozen=True, slots=True)
class Way:
    """A way to inner elements by names alone: an XPath from the owner says the same.

    The plan `after` has a tuple for each of them, `before` one for each owner. `names` are those
    of the elements on the way, in which each stands inside of the one before.
    """

    before: Plan
    after: Plan
    xpath: str
    names: tuple[str, ...]

    @property
    def path(self) -> str | None:
        """The names with `/` between them, if each element is a child of the one before."""
        path = "/".join(self.names)
        return path if self.xpath == f"/*/{path}" else None


@dataclass(frozen=True, slots=True)
class Element(Item):
    """An element or document that the query constructs; attributes have expanded names."""

    name: str
    attributes: tuple[Attribute, ...]
    content: tuple[Value, ...]
    namespaces: tuple[tuple[str, str], ...] = ()
    is_document: bool = False
    # the lifespan of the nearest constructed element around it that has its own
    around: tuple[Scalar, Scalar] | None = None


@dataclass(frozen=True, slots=True)
class Markup(Item):
    """A comment or processing instruction that the query constructs: text as it is written."""

    kind: Literal["comment", "processing-instruction"]
    text: Scalar
    value: Scalar


@dataclass(frozen=True, slots=True)
class Dynamic(Item):
    """An item that the evaluator gave: a struct of `kind` and serialised `value`.

    `reason` says why it had to.
    """

    scalar: Scalar
    reason: str


@dataclass(frozen=True, slots=True)
class Failure(Item):
    """What stands where there can be no item: whoever asks for it fails."""

    scalar: Scalar


@dataclass(frozen=True, slots=True)
class Function(Item):
    """A function written in place, with the scope it was written in."""

    code: InlineFunction
    scope: Scope = field(hash=False, compare=False)


@dataclass(frozen=True, slots=True)
class MapItem(Item):
    """A map with keys that are known; the values are in the order of the keys."""

    keys: tuple[Atomic, ...]
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ArrayItem(Item):
    """An array whose members are known."""

    members: tuple[Value, ...]


NODES = (StreamDocument, StreamElement, Attribute, Text, Inner, Element, Markup)


def is_node(item: Item) -> bool:
    return isinstance(item, NODES)
