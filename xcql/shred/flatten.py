"""From plainly read fillers to rows: like `Shredder`, for all fillers of a text at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from xcql.arrays import Ints, Numbers, borders_of, column_of, offsets_of, slices, taken
from xcql.history.arrivals import HOLES
from xcql.model.tags import Tag, TagStructure
from xcql.shred.columns import FlatSlot, nest
from xcql.shred.normal import edited, moved
from xcql.shred.plain import PlainText, distinct
from xcql.shred.shape import MAX_WAY_LENGTH, Attribute, Slot, Way, widen
from xcql.shred.shredder import MAX_PLACES_INSIDE, is_opaque_by_tag
from xcql.shred.tables import staged_rows


@dataclass(frozen=True, slots=True)
class PlainTable:
    """The plain fillers of one tsid as rows, and the shape of their elements."""

    tsid: str
    shape: Slot
    rows: pa.RecordBatch


@dataclass(slots=True)
class _Node:
    """A slot: the numbers of its elements, of their attributes by name, and the child slots.

    `ways` has the numbers of the texts inside, and `places` is the number of paths, with or without
    texts.
    """

    tag: Tag
    is_leaf: bool
    opaque: bool
    elements: Ints
    attributes: dict[str, Ints] = field(default_factory=dict)
    children: list[_Node] = field(default_factory=list)
    indexed: bool = True
    strays: bool = False
    timed: bool = False
    ways: dict[Way, Ints] = field(default_factory=dict)
    places: int = 0


@dataclass(frozen=True, slots=True)
class _Place:
    """A path inside the elements of an opaque slot."""

    node: _Node
    names: tuple[str, ...]


def plain_tables(
    text: PlainText, structure: TagStructure, declarations: str, skipped: int
) -> Iterator[PlainTable]:
    """The rows of the plain fillers of a text, one table after another.

    `declarations` is the text of the namespaces around it; `skipped` is the offset of the text in
    its file.
    """
    text = _in_normal_form(text)
    for root in _slots(text, structure):
        fillers = text.fragment_of[root.elements]
        begins, ends = _spans(text, root.elements)
        shape = widen(None, _shape(text, root))
        yield PlainTable(
            root.tag.id,
            shape,
            staged_rows(
                filler=_as_text(taken(text.ids, fillers)),
                operation=taken(text.operations, fillers),
                validTime=taken(text.times, fillers),
                digest=_digests(text.data, begins, ends, declarations.encode()),
                holes=_holes(text, fillers, begins),
                namespaces=pa.repeat(declarations, len(fillers)),
                raw=slices(text.data, begins, ends),
                offset=column_of(text.begins[fillers] + skipped),
                element=nest(shape, _flat(text, root, begins, None), ()),
            ),
        )


def _in_normal_form(text: PlainText) -> PlainText:
    """The text as the serialiser would write it; the start offsets of fragments do not change."""
    tokens = text.tokens
    begins, ends = moved(tokens.begins, tokens.edits), moved(tokens.ends, tokens.edits)
    data = edited(text.data, tokens.edits)
    return replace(text, data=data, tokens=replace(tokens, begins=begins, ends=ends))


def digest_of(content: bytes | memoryview, declarations: bytes) -> bytes:
    """A digest that identifies a filler's element and the namespaces declared around it."""
    digest = blake2b(content, digest_size=16)
    if declarations:
        digest.update(declarations)
    return digest.digest()


def _digests(data: bytes, begins: Ints, ends: Ints, declarations: bytes) -> pa.Array:
    view = memoryview(data)
    spans = zip(begins.tolist(), ends.tolist(), strict=True)
    return pa.array([digest_of(view[b:e], declarations) for b, e in spans], pa.binary(16))


def _slots(text: PlainText, structure: TagStructure) -> list[_Node]:
    """The slots of all plain fillers' elements, as one tree per tag that has fillers."""
    elements, tags = text.elements, text.tags
    nodes: list[_Node] = []
    roots: list[_Node] = []
    slot_of = np.full(len(elements.names), -1)  # the slot of every element, if it has one
    open_slot = np.full(len(elements.names), -1)  # the same, if its children have slots, too
    plain = np.flatnonzero(~text.needs_slow_path)
    level = np.sort(text.bodies[plain])
    keys = text.element_tags[level]
    for depth in range(len(elements.levels)):
        for key, numbers in _grouped(keys, max(1, len(nodes)) * len(tags)):
            those = level[numbers]
            tag = tags[key % len(tags)]
            is_leaf = not structure.children(tag)
            opaque = is_opaque_by_tag(structure, tag, depth) or bool(text.is_mixed[those].any())
            node = _Node(tag, is_leaf, opaque, those)
            siblings = nodes[key // len(tags)].children if depth else roots
            siblings.append(node)
            slot_of[those] = len(nodes)
            if not opaque:
                open_slot[those] = len(nodes)
            nodes.append(node)
        if depth + 2 >= len(elements.levels):
            break
        level = elements.levels[depth + 2]
        above = open_slot[elements.parents[level]]
        kept = (above >= 0) & (text.element_tags[level] >= 0)
        level = level[kept]
        keys = above[kept] * len(tags) + text.element_tags[level]
    _give_attributes(text, nodes, slot_of)
    _give_ways(text, nodes)
    for number in _nearest(text, slot_of, _holders_of_strays(text, structure)):
        nodes[number].strays = True
    with_lifespan = _with_lifespan(text)
    for number in _nearest(text, slot_of, with_lifespan[slot_of[with_lifespan] < 0]):
        nodes[number].timed = True
    # in the order in which a reader meets them
    for node in nodes:
        node.children.sort(key=lambda child: int(child.elements[0]))
    return roots


def _holders_of_strays(text: PlainText, structure: TagStructure) -> Ints:
    """The elements that contain holes but cannot contain a filler."""
    holders = text.elements.parents[text.holes]
    holders = holders[text.element_tags[holders] >= 0]
    holds = [any(one.is_fragmented for one in structure.children(tag)) for tag in text.tags]
    return holders[~np.array(holds, np.bool_)[text.element_tags[holders]]]


def _with_lifespan(text: PlainText) -> Ints:
    """The elements that have both `vtFrom` and `vtTo`."""
    names, of = text.tokens.attribute_list, text.attribute_elements
    if "vtFrom" not in names or "vtTo" not in names:
        return np.empty(0, np.int64)
    begin, end = (
        of[text.tokens.attribute_names == names.index(name)] for name in ("vtFrom", "vtTo")
    )
    both: Ints = np.intersect1d(begin, end)
    return both


def _nearest(text: PlainText, slot_of: Ints, elements: Ints) -> list[int]:
    """The slots of the elements in plain fillers, or of their nearest ancestors with a slot."""
    parents = text.elements.parents
    here = elements[~text.needs_slow_path[text.fragment_of[elements]] & (parents[elements] >= 0)]
    while (slot_of[here] < 0).any():
        here = np.where(slot_of[here] < 0, parents[here], here)
    return [int(number) for number in np.unique(slot_of[here])]


def _give_attributes(text: PlainText, nodes: list[_Node], slot_of: Ints) -> None:
    names = text.tokens.attribute_list
    slots = slot_of[text.attribute_elements]
    having_slot = np.flatnonzero(slots >= 0)
    keys = slots[having_slot] * len(names) + text.tokens.attribute_names[having_slot]
    found = [
        (having_slot[numbers], nodes[key // len(names)], names[key % len(names)])
        for key, numbers in _grouped(keys, len(nodes) * len(names))
    ]
    for numbers, node, name in sorted(found, key=lambda one: int(one[0][0])):
        node.attributes[name] = numbers


def _give_ways(text: PlainText, nodes: list[_Node]) -> None:
    """Group the texts inside opaque elements by path, for all slots at once."""
    elements = text.elements
    places, place_of = _places(text, nodes)
    has_hole = np.zeros(len(elements.names), np.bool_)
    has_hole[elements.parents[text.holes]] = True
    for node in nodes:
        node.indexed &= not has_hole[node.elements].any()
    for number in np.unique(place_of[has_hole]).tolist():
        if number >= 0:
            places[number].node.indexed = False
    borders = offsets_of(text.tokens.texts)
    texts = np.flatnonzero((borders[1:] > borders[:-1]) & (elements.owners >= 0))
    text_places = place_of[elements.owners[texts]]
    texts, text_places = texts[text_places >= 0], text_places[text_places >= 0]
    for number, numbers in _grouped(text_places, len(places)):
        place, those = places[number], texts[numbers]
        if place.names and place.node.indexed:
            size = int((borders[those + 1] - borders[those]).sum())
            place.node.ways[Way.of_texts("/".join(place.names), len(those), size)] = those


def _places(text: PlainText, nodes: list[_Node]) -> tuple[list[_Place], Ints]:
    """The paths inside opaque elements, and for each element the one that leads to it, or -1.

    It is determined by the path to the parent and the element's own tag.
    """
    elements, tags = text.elements, text.tags
    places = [_Place(node, ()) for node in nodes if node.opaque]
    place_of = np.full(len(elements.names), -1)
    for number, place in enumerate(places):
        place_of[place.node.elements] = number
    for level in elements.levels[2:]:
        above = place_of[elements.parents[level]]
        kept = (above >= 0) & (text.element_tags[level] >= 0)
        level = level[kept]
        pairs = above[kept] * len(tags) + text.element_tags[level]
        different, numbers = np.unique(pairs, return_inverse=True)
        below = np.full(len(different), -1)
        for at, pair in enumerate(different.tolist()):
            further = _further(places[pair // len(tags)], tags[pair % len(tags)])
            if further is not None:
                below[at] = len(places)
                places.append(further)
        place_of[level] = below[numbers]
    return places, place_of


def _further(place: _Place, tag: Tag) -> _Place | None:
    """The path extended to elements of a tag; None if there are too many paths to keep."""
    node = place.node
    if len(place.names) == MAX_WAY_LENGTH or node.places == MAX_PLACES_INSIDE:
        node.indexed = False
    if not node.indexed:
        return None
    node.places += 1
    return _Place(node, (*place.names, tag.name.local))


def _grouped(keys: Ints, bound: int) -> Iterator[tuple[int, Ints]]:
    """The distinct keys below a bound, each with its positions."""
    if not len(keys):
        return
    different = list(distinct(keys, bound))
    if len(different) == 1:
        yield different[0], np.arange(len(keys))
        return
    small = np.zeros(bound, np.int16 if len(different) < 1 << 15 else np.int64)
    small[different] = np.arange(len(different))
    codes = small[keys]
    order = np.argsort(codes, kind="stable")
    borders = np.searchsorted(codes[order], np.arange(1, len(different)))
    yield from zip(different, np.split(order, borders), strict=True)


def _shape(text: PlainText, node: _Node) -> Slot:
    parents = text.elements.parents[node.elements]
    children = tuple(_shape(text, child) for child in node.children)
    return Slot(
        node.tag.id,
        node.tag.name.local,
        is_leaf=node.is_leaf,
        opaque=node.opaque,
        repeats=bool((parents[1:] == parents[:-1]).any()),
        spaced=bool(text.is_spaced[node.elements].any()),
        indexed=node.indexed and all(child.indexed for child in children),
        strays=node.strays or any(child.strays for child in children),
        timed=node.timed,
        attributes=tuple(Attribute(name, f"@{name}") for name in node.attributes),
        children=children,
        ways=tuple(node.ways),
    )


def _flat(text: PlainText, node: _Node, bases: Ints, parent: _Node | None) -> FlatSlot:
    """The columns of a slot; `bases` are the offsets of the fillers' elements, one per element."""
    begins, ends = _spans(text, node.elements)
    if parent is None:
        parents = np.zeros(len(begins), np.int32)
    else:
        above = text.elements.parents[node.elements]
        parents = np.searchsorted(parent.elements, above).astype(np.int32)
        bases = bases[parents]
    attributes = {}
    for name, numbers in node.attributes.items():
        owners = np.searchsorted(node.elements, text.attribute_elements[numbers])
        values = _as_text(taken(text.tokens.attribute_values, numbers))
        attributes[name] = owners.astype(np.int32), values
    return FlatSlot(
        parents,
        (begins - bases).astype(np.int32),
        (ends - begins).astype(np.int32),
        _string_values(text, node.elements) if node.is_leaf or node.opaque else None,
        attributes,
        {child.tag.id: _flat(text, child, bases, node) for child in node.children},
        {
            way.path: _texts_inside(text, node, texts)
            for way, texts in node.ways.items()
            if way.kept
        },
    )


def _spans(text: PlainText, elements: Ints) -> tuple[Ints, Ints]:
    return (
        text.tokens.begins[text.elements.first_tags[elements]],
        text.tokens.ends[text.elements.last_tags[elements]],
    )


def _string_values(text: PlainText, elements: Ints) -> pa.StringArray:
    """The string values of elements: the texts inside them, which are contiguous."""
    texts = text.tokens.texts
    borders = offsets_of(texts)
    begins = borders[text.elements.first_tags[elements]]
    ends = borders[text.elements.last_tags[elements]]
    return _as_text(slices(texts.buffers()[2], begins, ends))


def _texts_inside(text: PlainText, node: _Node, texts: Ints) -> tuple[Numbers, pa.StringArray]:
    """The texts inside a slot's elements, with the numbers of these elements."""
    owners = text.elements.owners[texts]
    numbers = np.searchsorted(node.elements, owners, "right") - 1
    return numbers.astype(np.int32), _as_text(taken(text.tokens.texts, texts))


def _holes(text: PlainText, fillers: Ints, bases: Ints) -> pa.ListArray:
    """The holes of each filler."""
    holes_in = text.fragment_of[text.holes]
    is_here = np.zeros(len(text.needs_slow_path), np.bool_)
    is_here[fillers] = True
    those = np.flatnonzero(is_here[holes_in])
    elements = text.holes[those]
    rows = np.searchsorted(fillers, holes_in[those])
    begins, ends = _spans(text, elements)
    tag_ids = pa.array([tag.id for tag in text.tags])
    above = text.element_tags[text.elements.parents[elements]]
    values = pa.StructArray.from_arrays(
        [
            _as_text(taken(text.hole_ids, those)),
            column_of((begins - bases[rows]).astype(np.int32)),
            column_of((ends - begins).astype(np.int32)),
            taken(tag_ids, above),
        ],
        fields=list(HOLES.value_type),
    )
    borders = borders_of(np.bincount(rows, minlength=len(fillers)))
    return pa.ListArray.from_arrays(column_of(borders), values, type=HOLES)


def _as_text(array: pa.BinaryArray) -> pa.StringArray:
    """View bytes as text; they are known to be UTF-8 because a parser has read them."""
    return array.view(pa.string())
