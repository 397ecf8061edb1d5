"""The shape of a filler's content: what is needed to compare two states of a document.

Content is compared by meaning, not by spelling: the order of attributes, the kind of quotes and
the like make no difference.

Tests: tests/history/test_changes.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby
from xml.parsers import expat

from xcql.model.fragments import Fragment
from xcql.model.tags import Tag, TagStructure
from xcql.xdm.parse import NAME_SEPARATOR, expanded_name, in_context

# an element among its siblings: its tag, its key if any, and its position among those with both
Identity = tuple[str, str | None, int]
# from a filler's element down to the element that contains a hole
Path = tuple[Identity, ...]


_HOLE = "\x08"


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
    between elements, which changes when holes are added or removed.
    """

    key: str | None
    digest: bytes
    outline: bytes
    slots: Mapping[Path, HoleSlot]

    @property
    def holes(self) -> list[str]:
        return [id for slot in self.slots.values() for id in slot.holes]

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


def shape_reader(structure: TagStructure, keys: Mapping[str, str]) -> ShapeReader:
    """Return a function that computes the shape of a fragment's content.

    `keys` maps tag ids to the attributes that are keys instead of `id`.
    """
    spots = _Spots(structure)
    return lambda fragment: _Reading(fragment, spots, keys).shape()


class _Spot(dict[str, "_Spot"]):
    """A tag, with the spots of its child elements by name as reported by the parser."""

    __slots__ = ("_spots", "leads_to_holes", "may_have_holes", "tag")

    def __init__(self, tag: Tag | None, spots: _Spots) -> None:
        super().__init__()
        self._spots = spots
        self.tag = tag
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

    def __init__(self, structure: TagStructure) -> None:
        self.structure = structure
        self.hole = _Spot(None, self)
        self.by_tag = {tag.id: _Spot(tag, self) for tag in structure}
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

    def __init__(self, fragment: Fragment, spots: _Spots, keys: Mapping[str, str]) -> None:
        self._fragment = fragment
        self._root = spots.by_tag[fragment.tsid or ""]
        self._keys = keys
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
        return ContentShape(self._key, _digest(self._tokens), outline, self._slots)

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
                say(_HOLE)
            else:
                say(f"\x01{name}")
                for key in sorted(attributes):
                    say(f"\x02{key}\x03{attributes[key]}")
            if spot.leads_to_holes or len(outer) == 1:
                self._enter(spot, attributes)

        def end(name: str) -> None:
            nonlocal spot
            assert spot is not None
            if spot.tag is not None:
                say("\x04")
            if spot.leads_to_holes or len(outer) == 1:
                self._leave()
            spot = outer.pop()

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = say
        parser.CommentHandler = lambda data: say(f"\x06{data}")
        parser.ProcessingInstructionHandler = lambda target, data: say(f"\x07{target} {data}")

    def _enter(self, spot: _Spot, attributes: dict[str, str]) -> None:
        """Begin an element that may contain holes, a hole, or the filler's element itself."""
        if spot.tag is None:
            slot = self._open[-1].slot
            if slot is not None:
                slot.holes.append(attributes["id"].strip())
            self._open.append(_Open((), None))
            return
        key = attributes.get(self._keys.get(spot.tag.id, "id"))
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
    for is_text, group in groupby(tokens, key=lambda token: token[0] > _HOLE):
        if is_text:
            text = "".join(group)
            if not text.isspace():
                outlined.append(text)
        else:
            outlined += [token for token in group if token != _HOLE]
    return outlined


def _digest(tokens: Sequence[str]) -> bytes:
    return blake2b("".join(tokens).encode(), digest_size=16).digest()
