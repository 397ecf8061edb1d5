"""Shredding: one expat pass over a filler's element fills the columns of its tag's table.

The elements of one tag at one place (a `Slot`) go into flat columns: the number of the parent
element, the byte range inside the filler's element, attributes, and the string value if the
element is a leaf or opaque; inside an opaque one, only texts. `columns.py` nests them. Only values
are copied: a byte range and the filler's bytes restore every node, byte for byte.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from xcql.model.fragments import Hole
from xcql.model.tags import Tag, TagStructure
from xcql.shred.namespaces import context
from xcql.shred.shape import MAX_WAY_LENGTH, MAX_WAYS, Attribute, Slot, Way
from xcql.xdm.parse import NAME_SEPARATOR, expanded_name

# Deeper elements are kept unshredded, like recursive ones: nested columns cost more with depth
MAX_SHREDDED_DEPTH = 12

# Elements may have no texts; hostile ones are on an unlimited number of paths
MAX_PLACES_INSIDE = 4 * MAX_WAYS

# Real streams have a handful of namespace sets; hostile ones have one per filler
_MAX_PARSERS = 16

# the rest of a tag after its `<`; quoted values may contain a `>`
_REST_OF_TAG = re.compile(rb"""(?:[^"'>]|"[^"]*"|'[^']*')*>""")
_NOT_BLANK = re.compile(r"[^ \t\r\n]")


def is_opaque_by_tag(structure: TagStructure, tag: Tag, depth: int) -> bool:
    """Whether elements of the tag are never shredded, whatever they contain.

    `depth` is their depth below the filler's element.
    """
    if depth > MAX_SHREDDED_DEPTH:
        return True
    return depth > 0 and any(below.id == tag.id for below in structure.descendants(tag))


class NotShreddable(Exception):
    """The input is not one valid element of the tag; `model.check` can say why."""


class _TurnsOpaque(Exception):
    """An element assumed to have no text of its own has some: read it again."""


@dataclass(slots=True)
class WayColumns:
    """The texts on one path inside opaque elements, with the numbers of these elements.

    `below` are the longer paths, by names as reported by expat.
    """

    path: str = ""
    length: int = 0
    numbers: array[int] = field(default_factory=lambda: array("i"))
    values: list[str] = field(default_factory=list)
    below: dict[str, WayColumns] = field(default_factory=dict)

    def with_texts(self) -> Iterator[WayColumns]:
        """The ways that have texts: this one and those below it."""
        if self.values:
            yield self
        for way in self.below.values():
            yield from way.with_texts()

    def truncate(self, size: int) -> None:
        kept = bisect_left(self.numbers, size)
        del self.numbers[kept:], self.values[kept:]
        for way in self.below.values():
            way.truncate(size)


@dataclass(slots=True)
class SlotColumns:
    """The elements of one slot, in document order of their fillers, as flat columns."""

    tag: Tag
    depth: int
    opaque: bool
    is_leaf: bool
    # whether its elements may contain fillers
    holds_fillers: bool = True
    parents: array[int] = field(default_factory=lambda: array("i"))
    starts: array[int] = field(default_factory=lambda: array("i"))
    lengths: array[int] = field(default_factory=lambda: array("i"))
    texts: list[str | None] = field(default_factory=list)
    # name as reported by expat -> the numbers of the elements that have it, and its values; names
    # that differ in their prefixes share them
    attributes: dict[str, tuple[array[int], list[str]]] = field(default_factory=dict)
    children: dict[str, SlotColumns] = field(default_factory=dict)
    # names as reported by expat -> slot, filled as names occur; None: a hole
    by_name: dict[str, SlotColumns | None] = field(default_factory=dict)
    spaced: bool = False
    commented: bool = False
    indexed: bool = True
    strays: bool = False
    timed: bool = False
    # of an opaque slot: the paths inside, and their number
    inside: WayColumns = field(default_factory=WayColumns)
    places: int = 0

    def attribute(self, raw_name: str) -> tuple[array[int], list[str]]:
        """The numbers and values of an attribute: those of another prefix, or new ones."""
        name = expanded_name(raw_name)
        for known, found in self.attributes.items():
            if expanded_name(known) == name:
                return found
        return array("i"), []

    def step(self, way: WayColumns, raw_name: str, most: int) -> WayColumns | None:
        """The way extended by a name; None if the name is in a namespace or there are too many."""
        is_plain = NAME_SEPARATOR not in raw_name
        if not is_plain or way.length == MAX_WAY_LENGTH or self.places >= most:
            return None
        path = f"{way.path}/{raw_name}" if way.path else raw_name
        further = way.below[raw_name] = WayColumns(path, way.length + 1)
        self.places += 1
        return further

    def truncate(self, size: int) -> None:
        """Drop every element from the given number on, and everything below them."""
        del self.parents[size:], self.starts[size:], self.lengths[size:], self.texts[size:]
        for numbers, values in self.attributes.values():
            kept = bisect_left(numbers, size)
            del numbers[kept:], values[kept:]
        self.inside.truncate(size)
        for child in self.children.values():
            child.truncate(bisect_left(child.parents, size))

    def shape(self) -> Slot:
        """The shape of the slot, as seen in these elements."""
        names = [expanded_name(name) for name, (numbers, _) in self.attributes.items() if numbers]
        below = [child for child in self.children.values() if len(child.starts)]
        children = tuple(child.shape() for child in below)
        return Slot(
            self.tag.id,
            self.tag.name.local,
            is_leaf=self.is_leaf,
            opaque=self.opaque,
            repeats=self.depth > 0 and any(map(int.__eq__, self.parents, self.parents[1:])),
            spaced=self.spaced,
            commented=self.commented,
            indexed=self.indexed
            and all(child.indexed for child in children)
            and not any(child.tag.name.uri for child in below),
            strays=self.strays,
            timed=self.timed,
            attributes=tuple(
                Attribute(name.clark if name.uri else name.local, f"@{name.local}")
                for name in dict.fromkeys(names)
            ),
            children=children,
            ways=tuple(
                Way.of_texts(way.path, len(way.values), sum(map(len, way.values)))
                for way in self.inside.with_texts()
            ),
        )


class Shredder:
    """Fills the columns of one tag's table, filler by filler.

    At most `places` paths are distinguished inside the elements of each slot.

    >>> from xcql.model.tags import parse_tags
    >>> tags = parse_tags('<structure><tag type="snapshot" id="1" name="price"/></structure>')
    >>> shredder = Shredder(tags, tags.root)
    >>> shredder.add(b"<price>12</price>")
    ()
    >>> shredder.root.texts
    ['12']
    """

    def __init__(self, structure: TagStructure, tag: Tag, places: int = MAX_PLACES_INSIDE) -> None:
        self._structure = structure
        self._places = places
        self._inside_opaque: dict[str, SlotColumns] = {}
        self._names: dict[str, str] = {}  # expat's own, shared by the parsers
        # one parser for each set of namespaces around the elements
        self._parsers: dict[str, Callable[[bytes], list[Hole]]] = {}
        self.root = self._slot(tag, 0)
        # a parent for the root, so that the root is handled like any other element
        self._outside = SlotColumns(tag, -1, opaque=False, is_leaf=False)

    def add(self, element: bytes, declarations: str = "") -> tuple[Hole, ...]:
        """Shred one filler's element and return its holes, in document order.

        `declarations` are the namespaces around it, as text. If the input is not one valid element
        of the tag, nothing is added and `NotShreddable` is raised.
        """
        size = len(self.root.starts)
        while True:
            feed = self._parsers.pop(declarations, None) or self._parser(declarations)
            try:
                holes = feed(element)
                break
            except _TurnsOpaque:  # once per slot
                self.root.truncate(size)
            except (NotShreddable, expat.ExpatError) as problem:
                self.root.truncate(size)
                raise NotShreddable(*problem.args) from None
        # a parser that has raised an error is unusable; keep any other
        if len(self._parsers) >= _MAX_PARSERS:
            self._parsers.clear()
        self._parsers[declarations] = feed
        return tuple(holes)

    def _slot(self, tag: Tag, depth: int) -> SlotColumns:
        children = self._structure.children(tag)
        opaque = is_opaque_by_tag(self._structure, tag, depth)
        holds_fillers = any(child.is_fragmented for child in children)
        return SlotColumns(tag, depth, opaque, not children, holds_fillers)

    def _find(self, slot: SlotColumns, raw_name: str) -> SlotColumns | None:
        """The slot of a child element with a name as reported by expat, or None for a hole."""
        name = expanded_name(raw_name)
        if slot is self._outside:
            if name != self.root.tag.name:
                raise NotShreddable(f"<{self.root.tag.name}> was expected, not <{name}>")
            return self.root
        if name.local == "hole" and (name.prefix == "stream" or not name.uri):
            return None
        tag = self._structure.child(slot.tag, name.uri, name.local)
        if tag is None:
            raise NotShreddable(f"<{name}> is not declared inside <{slot.tag.name}>")
        if tag.is_fragmented:
            raise NotShreddable(f"<{tag.name}> is {tag.kind}, and stands inline")
        # elements inside an opaque element have no columns: only their names are looked up
        siblings = self._inside_opaque if slot.opaque else slot.children
        if tag.id not in siblings:
            depth = MAX_SHREDDED_DEPTH if slot.opaque else slot.depth
            siblings[tag.id] = self._slot(tag, depth + 1)
        return siblings[tag.id]

    def _parser(self, declarations: str) -> Callable[[bytes], list[Hole]]:
        """Return a function that parses elements one after another as parts of one document.

        (A new parser for each would cost more than parsing a small element.)
        """
        lead, _ = context(declarations)
        parser = expat.ParserCreate("utf-8", NAME_SEPARATOR, self._names)
        parser.namespace_prefixes = True
        parser.ordered_attributes = True
        parser.buffer_text = True

        element = b""
        shift = len(lead)  # where the element begins in the document
        root, find = self.root, self._find
        holes: list[Hole] = []
        stack: list[SlotColumns] = []  # of the open elements
        text: list[str] = []  # since the last tag, or since the opaque element began
        opaque_depth = 0  # the depth of the open opaque element; 0: none is open
        ways: list[WayColumns | None] = []  # to the open elements in it, and first to itself
        read = 0  # how much of `text` belongs to text nodes that have ended
        unknown: list[SlotColumns] = []  # slots in which not all paths can be known
        strays: list[SlotColumns] = []  # those with holes that cannot contain a filler
        timed: list[SlotColumns] = []  # those with lifespans inside

        def start_outside(raw_name: str, attributes: list[str]) -> None:
            nonlocal opaque_depth
            if text:
                raise NotShreddable("text stands before the element")
            stack.append(self._outside)
            parser.StartElementHandler = start
            parser.EndElementHandler = end_element
            start(raw_name, attributes)
            del stack[0]
            opaque_depth = opaque_depth and 1

        def start(raw_name: str, attributes: list[str]) -> None:
            nonlocal opaque_depth
            above = stack[-1]
            if text:
                note_text(above)
            slot = above.by_name.get(raw_name, above)
            if slot is above:
                slot = above.by_name[raw_name] = find(above, raw_name)
            at = parser.CurrentByteIndex - shift
            if slot is None:
                start_hole(at, attributes)
                return
            stack.append(slot)
            starts = slot.starts
            if attributes:
                columns = slot.attributes
                values = iter(attributes)
                for key in values:
                    try:
                        numbers, column = columns[key]
                    except KeyError:
                        numbers, column = columns[key] = slot.attribute(key)
                    numbers.append(len(starts))
                    column.append(next(values))
            slot.parents.append(len(above.starts) - 1)
            starts.append(at)
            if slot.opaque:
                opaque_depth = len(stack)
                ways.append(slot.inside if slot.indexed else None)
                parser.StartElementHandler = start_inside_opaque
                parser.EndElementHandler = end_inside_opaque

        def end_element(raw_name: str) -> None:
            slot = stack.pop()
            begin = slot.starts[-1]
            slot.lengths.append(end_of(begin) - begin)
            if slot.is_leaf:
                slot.texts.append("".join(text))
                text.clear()
            else:
                slot.texts.append(None)
                if text:
                    note_text(slot)
            if not stack:
                finish()

        def finish() -> None:
            parser.StartElementHandler = start_beside
            parser.EndElementHandler = None

        def start_beside(raw_name: str, attributes: list[str]) -> None:
            raise NotShreddable("a filler holds one element")

        def start_inside_opaque(raw_name: str, attributes: list[str]) -> None:
            if len(text) > read:
                end_text()
            above = stack[-1]
            try:
                slot = above.by_name[raw_name]
            except KeyError:
                slot = above.by_name[raw_name] = find(above, raw_name)
            if slot is None:
                start_hole(parser.CurrentByteIndex - shift, attributes)
                return
            stack.append(slot)
            way = ways[-1]
            if way is not None:
                top = stack[opaque_depth - 1]
                way = way.below.get(raw_name) or top.step(way, raw_name, self._places)
                if way is None:
                    unknown.append(top)
            ways.append(way)
            # this also matches attribute values, which does no harm
            if "vtFrom" in attributes and "vtTo" in attributes:
                timed.append(stack[opaque_depth - 1])

        def end_text() -> None:
            nonlocal read
            way = ways[-1]
            if way is not None and way.path:
                way.numbers.append(len(stack[opaque_depth - 1].starts) - 1)
                way.values.append("".join(text[read:]))
            read = len(text)

        def end_inside_opaque(raw_name: str) -> None:
            nonlocal opaque_depth, read
            if len(text) > read:
                end_text()
            ways.pop()
            if len(stack) > opaque_depth:
                stack.pop()
                return
            slot = stack.pop()
            begin = slot.starts[-1]
            slot.lengths.append(end_of(begin) - begin)
            slot.texts.append("".join(text))
            text.clear()
            opaque_depth = read = 0
            if stack:
                parser.StartElementHandler = start
                parser.EndElementHandler = end_element
            else:
                finish()

        def start_hole(at: int, attributes: list[str]) -> None:
            text_before = len(text)
            unknown.extend(stack)
            if not stack[-1].holds_fillers:
                strays.extend(stack)

            def start_inside_hole(raw_name: str, attributes: list[str]) -> None:
                raise NotShreddable("a hole has content")

            def end_hole(raw_name: str) -> None:
                end = end_of(at)
                # white space alone is not content, unless it was written as a reference or CDATA
                inside = element[at:end]
                if any(map(_NOT_BLANK.search, text[text_before:])) or (
                    len(text) > text_before and (b"&" in inside or b"<![" in inside)
                ):
                    raise NotShreddable("a hole has content")
                del text[text_before:]
                holes.append(Hole(id, at, end, stack[-1].tag.id))
                parser.StartElementHandler = start_inside_opaque if opaque_depth else start
                parser.EndElementHandler = end_inside_opaque if opaque_depth else end_element

            id = _id_of_hole(attributes)
            parser.StartElementHandler = start_inside_hole
            parser.EndElementHandler = end_hole

        def end_of(begin: int) -> int:
            at = parser.CurrentByteIndex - shift
            if element[at - 2 : at] == b"/>":
                # expat reports the end of `<x/>` after it, where another's end tag may begin
                tag = _REST_OF_TAG.match(element, begin)
                if tag is not None and tag.end() == at:
                    return at
            return element.index(b">", at) + 1

        def note_text(slot: SlotColumns) -> None:
            if slot.is_leaf:
                return
            if "".join(text).strip(" \t\r\n"):
                # from now on; `columns.py` fills in the texts of earlier elements
                slot.opaque = True
                slot.by_name.clear()
                raise _TurnsOpaque
            slot.spaced = True
            text.clear()

        def comment(*_: str) -> None:
            if opaque_depth and len(text) > read:
                end_text()
            for slot in stack:
                slot.commented = True

        def feed(given: bytes) -> list[Hole]:
            nonlocal element, shift, holes
            element, holes = given, []
            size = len(root.starts)
            parser.StartElementHandler = start_outside
            parser.Parse(element, False)
            if stack or text or len(root.starts) == size or root.lengths[-1] != len(element):
                raise NotShreddable("a filler holds one element")
            shift += len(element)
            for slot in unknown:
                slot.indexed = False
            for slot in strays:
                slot.strays = True
            for slot in timed:
                slot.timed = True
            for noted in (unknown, strays, timed):
                noted.clear()
            return holes

        parser.Parse(lead, False)
        parser.CharacterDataHandler = text.append
        parser.CommentHandler = comment
        parser.ProcessingInstructionHandler = comment
        return feed


def _id_of_hole(attributes: list[str]) -> str:
    for index in range(0, len(attributes), 2):
        if attributes[index] == "id" and (id := attributes[index + 1].strip()):
            return id
    raise NotShreddable("a hole has no id")
