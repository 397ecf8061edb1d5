"""The shape of a filler's content: what is needed to compare two states of a document.

Content is compared by meaning, not by spelling: the order of attributes, the kind of quotes and
the like make no difference.

Tests: tests/history/test_changes.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import groupby
from xml.parsers import expat
from zlib import crc32

from xcql.model.fragments import Fragment
from xcql.model.keys import (
    ATTRIBUTE,
    COMMENT,
    END,
    HOLE,
    INSTRUCTION,
    START,
    VALUE,
    Key,
    default_attributes,
    key_value,
)
from xcql.model.tags import Tag, TagStructure
from xcql.xdm.parse import NAME_SEPARATOR, expanded_name, in_context

# an element among its siblings: its tag, its key if any, and its position among those with both
Identity = tuple[str, str | None, int]
# from a filler's element down to the element that contains a hole
Path = tuple[Identity, ...]

# the number of hashes in a sketch
_SKETCH = 8


@dataclass(slots=True)
class HoleSlot:
    """An element that may have holes: their ids, and its position in the content.

    `end` is the offset where its end tag begins, or for `<a/>` where the tag ends.
    """

    start: int
    in_default_namespace: bool
    holes: list[str] = field(default_factory=list)
    end: int = 0


@dataclass(frozen=True, slots=True)
class ContentShape:
    """A filler's content: its key, a digest of everything except the ids of holes, and the holes.

    The outline, for content without versions, is a digest without holes and without the white space
    between elements, which changes when holes are added or removed. The sketch has the smallest
    hashes of texts and attributes: similar contents have many of them in common.
    """

    key: str | None
    digest: bytes
    outline: bytes
    slots: Mapping[Path, HoleSlot]
    sketch: tuple[int, ...] = ()

    @property
    def holes(self) -> list[str]:
        return [id for slot in self.slots.values() for id in slot.holes]

    def with_holes(self, ids: Mapping[str, str]) -> ContentShape:
        """The same content with other ids in its holes."""
        slots = {
            path: replace(slot, holes=[ids[hole] for hole in slot.holes])
            for path, slot in self.slots.items()
        }
        return replace(self, slots=slots)

    def has_same_content_as(
        self, other: ContentShape, ids: Mapping[str, str] | None = None
    ) -> bool:
        """Whether two contents are equal; `ids` translates the ids of this one's holes."""
        if self.digest != other.digest or self.slots.keys() != other.slots.keys():
            return False
        return all(
            (slot.holes if ids is None else [ids[hole] for hole in slot.holes])
            == other.slots[path].holes
            for path, slot in self.slots.items()
        )


ShapeReader = Callable[[Fragment], ContentShape]


def shape_reader(structure: TagStructure, keys: Mapping[str, Key]) -> ShapeReader:
    """Return a function that computes the shape of a fragment's content.

    `keys` maps tag ids to the keys that are used instead of the default.
    """
    spots = _Spots(structure, keys)
    return lambda fragment: _Reading(fragment, spots).shape()


class _Spot(dict[str, "_Spot"]):
    """A tag, with the spots of its child elements by name as reported by the parser.

    The first of `attributes` that an element has is its key; `key` is one inside the element.
    """

    __slots__ = ("_spots", "attributes", "key", "leads_to_holes", "may_have_holes", "tag")

    def __init__(self, tag: Tag | None, spots: _Spots, key: Key | None = None) -> None:
        super().__init__()
        self._spots = spots
        self.tag = tag
        self.key = key if key is not None and key.steps else None
        self.attributes: tuple[str, ...] = ()
        if key is not None and not key.steps and key.attribute is not None:
            self.attributes = (key.attribute,)
        elif key is None and tag is not None:
            self.attributes = default_attributes(tag)
        self.may_have_holes = False
        self.leads_to_holes = tag is None

    def __missing__(self, told: str) -> _Spot:
        name = expanded_name(told)
        found = self._spots.hole
        if name.local != "hole" or (name.uri and name.prefix != "stream"):
            assert self.tag is not None
            tag = self._spots.structure.child(self.tag, name.uri, name.local)
            assert tag is not None
            found = self._spots.by_tag[tag.id]
        self[told] = found
        return found


class _Spots:
    """The spots of all tags; the spot of a hole has no tag."""

    def __init__(self, structure: TagStructure, keys: Mapping[str, Key]) -> None:
        self.structure = structure
        self.hole = _Spot(None, self)
        self.by_tag = {tag.id: _Spot(tag, self, keys.get(tag.id)) for tag in structure}
        above: dict[str, list[Tag]] = {}
        for tag in structure:
            for child in structure.children(tag):
                above.setdefault(child.id, []).append(tag)
        pending = [tag for tag in structure if tag.is_fragmented]
        for tag in pending:
            for parent in above.get(tag.id, ()):
                self.by_tag[parent.id].may_have_holes |= tag.is_fragmented
                if not self.by_tag[parent.id].leads_to_holes:
                    self.by_tag[parent.id].leads_to_holes = True
                    # inside a filler, a path to a hole passes only through snapshot elements
                    if not parent.is_fragmented:
                        pending.append(parent)


@dataclass(slots=True)
class _Open:
    """An open element that may contain holes."""

    path: Path
    slot: HoleSlot | None
    siblings: dict[tuple[str, str | None], int] = field(default_factory=dict)


class _Reading:
    """The parse of one content; holds the state shared by expat's handlers.

    The parser's events become tokens. All except text begin with control characters that XML does
    not allow. The digests are computed from the tokens.
    """

    def __init__(self, fragment: Fragment, spots: _Spots) -> None:
        self._fragment = fragment
        self._root = spots.by_tag[fragment.tsid or ""]
        self._key: str | None = None
        self._tokens: list[str] = []
        self._slots: dict[Path, HoleSlot] = {}
        self._open: list[_Open] = []
        self._default_namespaces = [""]
        self._before = 0
        self._parser = expat.ParserCreate("utf-8", NAME_SEPARATOR)

    def shape(self) -> ContentShape:
        lead, trail = in_context(dict(self._fragment.namespaces))
        self._before = len(lead)
        parser = self._parser
        parser.namespace_prefixes = True
        parser.buffer_text = True
        parser.StartNamespaceDeclHandler = self._declare
        parser.EndNamespaceDeclHandler = self._undeclare
        parser.Parse(lead, False)
        self._walk()
        parser.Parse(self._fragment.content, False)
        parser.EndElementHandler = None
        parser.Parse(trail, True)
        outline = b""
        if self._root.tag is not None and self._root.tag.kind != "temporal":
            outline = _digest(_outlined(self._tokens))
        key = self._key
        if self._root.key is not None:
            key = key_value(self._tokens, self._root.key)
        sketch = _sketch(self._tokens)
        return ContentShape(key, _digest(self._tokens), outline, self._slots, sketch)

    def _walk(self) -> None:
        """Set the handlers; `start` and `end` contain what is done for every element."""
        parser = self._parser
        say = self._tokens.append
        spot: _Spot | None = None
        outer: list[_Spot | None] = []

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal spot
            outer.append(spot)
            spot = self._root if spot is None else spot[name]
            if spot.tag is None:
                say(HOLE)
            else:
                say(f"{START}{name}")
                for key in sorted(attributes):
                    say(f"{ATTRIBUTE}{key}{VALUE}{attributes[key]}")
            if spot.leads_to_holes or len(outer) == 1:
                self._enter(spot, attributes)

        def end(name: str) -> None:
            nonlocal spot
            assert spot is not None
            if spot.tag is not None:
                say(END)
            if spot.leads_to_holes or len(outer) == 1:
                self._leave()
            spot = outer.pop()

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = say
        parser.CommentHandler = lambda data: say(f"{COMMENT}{data}")
        parser.ProcessingInstructionHandler = lambda target, data: say(
            f"{INSTRUCTION}{target} {data}"
        )

    def _enter(self, spot: _Spot, attributes: dict[str, str]) -> None:
        """Begin an element that may contain holes, a hole, or the filler's element itself."""
        if spot.tag is None:
            slot = self._open[-1].slot
            if slot is not None:
                slot.holes.append(attributes["id"].strip())
            self._open.append(_Open((), None))
            return
        key = next((attributes[one] for one in spot.attributes if one in attributes), None)
        path: Path = ()
        if self._open:
            parent = self._open[-1]
            number = parent.siblings.get((spot.tag.id, key), 0) + 1
            parent.siblings[spot.tag.id, key] = number
            path = (*parent.path, (spot.tag.id, key, number))
        else:
            self._key = key
        slot = None
        if spot.may_have_holes:
            start = self._parser.CurrentByteIndex - self._before
            slot = self._slots[path] = HoleSlot(start, bool(self._default_namespaces[-1]))
        self._open.append(_Open(path, slot))

    def _leave(self) -> None:
        slot = self._open.pop().slot
        if slot is not None:
            slot.end = self._parser.CurrentByteIndex - self._before

    def _declare(self, prefix: str | None, uri: str | None) -> None:
        if not prefix:
            self._default_namespaces.append(uri or "")

    def _undeclare(self, prefix: str | None) -> None:
        if not prefix:
            self._default_namespaces.pop()


def _outlined(tokens: Sequence[str]) -> list[str]:
    """The tokens without holes and without text that is only white space."""
    outlined = []
    for is_text, group in groupby(tokens, key=lambda token: token[0] > HOLE):
        if is_text:
            text = "".join(group)
            if not text.isspace():
                outlined.append(text)
        else:
            outlined += [token for token in group if token != HOLE]
    return outlined


def _sketch(tokens: Sequence[str]) -> tuple[int, ...]:
    """The smallest hashes of an element's attributes and texts, with the names they belong to."""
    hashes = set()
    name = ""
    for token in tokens:
        mark = token[0]
        if mark == START:
            name = token
        elif mark == ATTRIBUTE or (mark > HOLE and not token.isspace()):
            hashes.add(crc32((name + token).encode()))
    return tuple(sorted(hashes)[:_SKETCH])


def _digest(tokens: Sequence[str]) -> bytes:
    return blake2b("".join(tokens).encode(), digest_size=16).digest()
