"""Items as the compiler sees them: how each is built from the columns of a tuple.

An item is symbolic: it says which scalars give its value, its text, its lifespan. A constructed
element is not text but a tree of items, so that a path into it is resolved at compile time, and
nothing is built that the query does not need.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from xcql.algebra.operators import Plan, SortKey, identity, order, row_column
from xcql.algebra.scalars import NULL, Call, Constant, Scalar
from xcql.algebra.scalars import field as struct_field
from xcql.compile.node_paths import NodePath
from xcql.shred.node_paths import NodeKind
from xcql.shred.shape import Slot
from xcql.syntax.functions import InlineFunction

if TYPE_CHECKING:
    from xcql.compile.terms.scope import Scope
    from xcql.compile.terms.values import Value


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known about elements at one place of a row: the `Slot`s of several tags, combined.

    `column` is the field that holds them; `strays` says that some of them contain holes, at any
    depth, where no filler can be; `attributes` maps expanded names to fields. `ways` maps the paths
    of the texts inside to whether they have fields, if all paths are known.
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


def shape_of(slots: Mapping[str, Slot], *, as_arrays: bool) -> Shape | None:
    """The shape of elements of several tags, by tag id; None if their layouts differ.

    With `as_arrays`, elements that repeat in one table are read as arrays from all.
    """
    found = list(slots.values())
    first = found[0]
    if any(
        (slot.column, slot.is_leaf, slot.opaque) != (first.column, first.is_leaf, first.opaque)
        or (slot.repeats != first.repeats and not as_arrays)
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
    children = [shape_of(below, as_arrays=as_arrays) for below in by_column.values()]
    if any(child is None for child in children):
        return None
    return Shape(
        tuple(slots),
        first.column,
        first.column,
        first.is_leaf,
        first.opaque,
        any(slot.repeats for slot in found),
        any(slot.commented for slot in found),
        any(slot.strays for slot in found),
        attributes,
        _ways_of(found) if first.opaque else None,
        tuple(child for child in children if child is not None),
    )


def _ways_of(slots: Iterable[Slot]) -> Mapping[str, bool] | None:
    """By path, whether texts inside opaque elements have fields; None if not all paths are known.

    A text has a field if it has one in all tables and SQL can distinguish its name from the others.
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
class ProjectionWindow:
    """The interval that a node was projected to; its bounds are instants, never NULL."""

    begin: Scalar
    end: Scalar


@dataclass(frozen=True, slots=True)
class Turns:
    """The times that something is evaluated: once for each of some tuples, in their order.

    `identity` tells the times apart, and `order` sorts them.
    """

    identity: tuple[Scalar, ...] = ()
    order: tuple[SortKey, ...] = ()

    def then(self, inner: Turns) -> Turns:
        return Turns((*self.identity, *inner.identity), (*self.order, *inner.order))


ONCE = Turns()


def turns_of(*plans: Plan) -> Turns:
    """One time for each tuple of a plan, for each tuple of the plan before."""
    turns = ONCE
    for plan in plans:
        keys = order(plan)
        # which of several concatenated plans it is
        which = (key.scalar for key in keys if isinstance(key.scalar, Constant))
        turns = turns.then(Turns((*which, *identity(plan)), keys))
    return turns


@dataclass(frozen=True, slots=True)
class Tree:
    """Trees that a projection or a constructor makes; without one, nodes are the stream's own.

    Each evaluation makes new trees. `loop` are the evaluations, `each` the trees of one: a
    projection makes a tree for each node, and a constructor copies each node of its content. It is
    None if they cannot be told apart. With `tops`, projected elements are the roots of trees.
    """

    number: int
    tops: bool
    loop: Turns = ONCE
    each: Turns | None = ONCE
    # whether it is a whole document, projected
    is_document: bool = False

    def below(self, inner: Turns | None) -> Tree:
        """The trees of several nodes for each tree."""
        each = None if self.each is None or inner is None else self.each.then(inner)
        return replace(self, each=each)


@dataclass(frozen=True, slots=True)
class Root:
    """The root of the projected tree that a node is in: its key in the stream.

    `lifespan` is its own lifespan if that is not clipped to the window of the tree.
    """

    key: Scalar
    lifespan: tuple[Scalar, Scalar] | None = None


@dataclass(frozen=True, slots=True)
class Item:
    pass


@dataclass(frozen=True, slots=True)
class Atomic(Item):
    """An atomic value of a type such as `xs:integer`; untyped data is `xs:untypedAtomic`.

    Dates and times are instants in UTC; `zone` is how they were written (`''`, `'Z'`, `'+02:00'`).
    Times of day are microseconds since midnight, in local time. Durations are numbers of
    microseconds or of months.
    """

    scalar: Scalar
    type: str
    zone: Scalar | None = None


@dataclass(frozen=True, slots=True)
class StreamDocument(Item):
    """The document node of a stream."""

    stream: str
    window: ProjectionWindow | None = None
    tree: Tree | None = None


@dataclass(frozen=True, slots=True)
class StreamElement(Item):
    """An element of a stream: a struct somewhere in the row of a filler.

    `table` are the tags of the fillers in the row's table, `path` leads to the element in the row.
    `is_filler` says that it is the filler's own element; `alone` that no other element of the row
    can be at that path. `above` is the element or document it was reached from, if that is its
    parent; None if the parent is not known. `is_top` marks a projected element without a parent,
    `is_copy` a copy in a constructed element.
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
    window: ProjectionWindow | None = None
    # the lifespan of the element itself after a projection
    lifespan: tuple[Scalar, Scalar] | None = None
    is_top: bool = False
    is_copy: bool = False
    # the lifespan of the copy's nearest constructed ancestor that has its own
    ancestor_lifespan: tuple[Scalar, Scalar] | None = None
    tree: Tree | None = None

    def column(self, name: str) -> Scalar:
        return row_column(self.row, name)


@dataclass(frozen=True, slots=True)
class AttributeItem(Item):
    """An attribute: its expanded name and its value (NULL if it is absent).

    `made_of` is the type of the only value that a constructed attribute was made from. `within` is
    an ancestor element, at any distance, where the owner is not known. `prefix` is that of a
    constructed attribute.
    """

    name: str
    scalar: Scalar
    owner: StreamElement | Element | Inner | AnyNode | None = None
    made_of: str = "xs:untypedAtomic"
    within: StreamElement | None = None
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class TextItem(Item):
    """A text node; `place` is its offset in the owner's bytes, if there may be others.

    `within` is as for attributes.
    """

    scalar: Scalar
    owner: StreamElement | Element | Inner | None = None
    place: Scalar | None = None
    within: StreamElement | None = None


@dataclass(frozen=True, slots=True)
class Inner(Item):
    """An element inside an element that is not shredded, its `owner`.

    `struct` has its name, its XML text, and the offsets of the element and its parent in the text
    that it was found in; `start` is its offset in the owner's bytes. `tags` are the tags it can
    have. `above` is its parent, or None if it is not known. `inner_path` leads from `owner` to it.
    """

    owner: StreamElement
    struct: Scalar
    start: Scalar
    tags: tuple[str, ...]
    above: Inner | StreamElement | None = None
    inner_path: InnerPath | None = field(default=None, hash=False, compare=False)

    @property
    def stream(self) -> str:
        return self.owner.stream

    @property
    def text(self) -> Scalar:
        return struct_field(self.struct, "text")


@dataclass(frozen=True, slots=True)
class AnyNode(Item):
    """A node of a stream, of any kind and name: a row of the table of nodes.

    `filler` is the element of the filler that it is in, of which only the row is known, and the
    projection. `paths` are those that it can be on. `kind` is a number, see `node_paths.KINDS`;
    `value` is NULL for some nodes on paths that are not valued. `root` is that of its projected
    tree, None if it is not known; `is_top` marks nodes that are the roots themselves.
    """

    filler: StreamElement
    kind: Scalar
    name: Scalar
    path: Scalar
    start: Scalar
    length: Scalar
    parent: Scalar
    value: Scalar
    paths: frozenset[NodePath]
    seq: Scalar
    root: Root | None = None
    is_top: bool = False

    @property
    def stream(self) -> str:
        return self.filler.stream

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the elements that it can be."""
        return tuple(sorted({path.tag for path in self.paths if path.kind == "element"}))

    @property
    def kinds(self) -> frozenset[NodeKind]:
        return frozenset(path.kind for path in self.paths)

    @property
    def above(self) -> None:
        """Its parent has to be looked up."""
        return None


@dataclass(frozen=True, slots=True)
class InnerPath:
    """A path to inner elements by names alone, so that an XPath from the owner finds the same ones.

    The plan `after` has one tuple for each of them, `before` one for each owner. `names` are the
    names of the elements on the path, each nested in the one before.
    """

    before: Plan
    after: Plan
    xpath: str
    names: tuple[str, ...]

    @property
    def child_path(self) -> str | None:
        """The names joined by `/`, if each element is a child of the one before."""
        path = "/".join(self.names)
        return path if self.xpath == f"/*/{path}" else None


@dataclass(frozen=True, slots=True)
class Element(Item):
    """An element or document that the query constructs; attributes have expanded names."""

    name: str
    attributes: tuple[AttributeItem, ...]
    content: tuple[Value, ...]
    # what it declares: the prefixes and their namespaces
    namespaces: tuple[tuple[str, str], ...] = ()
    prefix: str = ""
    is_document: bool = False
    # the lifespan of the nearest constructed ancestor that has its own
    ancestor_lifespan: tuple[Scalar, Scalar] | None = None
    tree: Tree | None = None


@dataclass(frozen=True, slots=True)
class Markup(Item):
    """A comment or processing instruction that the query constructs: text as it is written."""

    kind: Literal["comment", "processing-instruction"]
    text: Scalar
    value: Scalar


@dataclass(frozen=True, slots=True)
class Dynamic(Item):
    """An item that the evaluator returned: `kind`, serialised `value`, `vtFrom` and `vtTo`.

    `reason` says why the evaluator was needed. `is_complete` says that the lifespans of attributes
    and texts are known, too: they depend on ancestors, which copies of nodes do not have.
    `attribute` are the name and the value of an attribute that the query constructs, if only the
    data tell its name.
    """

    scalar: Scalar
    reason: str
    is_complete: bool = True
    attribute: tuple[Scalar, Scalar] | None = None

    @property
    def known_kind(self) -> str | None:
        """The kind of the item if it is the same for all tuples."""
        kind = self.part("kind")
        return str(kind.value) if isinstance(kind, Constant) else None

    def part(self, name: str) -> Scalar:
        """A field of the item."""
        match self.scalar:
            case Call(function="evaluator_item", arguments=arguments):
                found = dict(zip(("kind", "value", "vtFrom", "vtTo"), arguments, strict=False))
                return found.get(name, NULL)
        return struct_field(self.scalar, name)


@dataclass(frozen=True, slots=True)
class Failure(Item):
    """A placeholder where there can be no item: reading it fails."""

    scalar: Scalar


@dataclass(frozen=True, slots=True)
class Function(Item):
    """An inline function, with the scope in which it was written."""

    code: InlineFunction
    scope: Scope = field(hash=False, compare=False)


@dataclass(frozen=True, slots=True)
class MapItem(Item):
    """A map whose keys are known; the values are in the order of the keys."""

    keys: tuple[Atomic, ...]
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ArrayItem(Item):
    """An array whose members are known."""

    members: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class KeyedValue(Item):
    """A key and its value: an entry of an `EntryMap`."""

    key: Atomic
    value: Value


@dataclass(frozen=True, slots=True)
class EntryMap(Item):
    """A map whose keys are known only when the query runs.

    `keys` has a `KeyedValue` for each key, in order. `entries` has those with the values: the value
    of a key is that of all its entries, in order. Often the two are the same.
    """

    keys: Value
    entries: Value


@dataclass(frozen=True, slots=True)
class ItemArray(Item):
    """An array of single items, whose number is known only when the query runs."""

    items: Value


COLLECTIONS = (MapItem, ArrayItem, EntryMap, ItemArray)
NODES = (StreamDocument, StreamElement, AttributeItem, TextItem, Inner, AnyNode, Element, Markup)


def is_node(item: Item) -> bool:
    return isinstance(item, NODES)


def is_attribute_of_any_name(item: Item) -> bool:
    """Whether an item may be an attribute whose name is known only when the query runs."""
    return isinstance(item, AnyNode) and "attribute" in item.kinds
