"""What a filler's content is, as far as comparing two states of a document needs to know.

Content is compared by what it says, not by how it is written: the order of attributes, the kind of
quotes and the like make no difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from xml.parsers import expat

from xcql.model.fragments import Fragment
from xcql.model.tags import Tag, TagStructure
from xcql.xdm.parse import NAME_SEPARATOR, expanded_name, in_context

# an element among its siblings: its tag, its key if it has one, and the how-manieth it is of those
Identity = tuple[str, str | None, int]
# from a filler's element down to the element that a hole stands in
Path = tuple[Identity, ...]


@dataclass(slots=True)
class Slot:
    """An element that may have holes: their ids, and its place in the content.

    `end` is the byte where its end tag begins, or for `<a/>` where that ends.
    """

    start: int
    in_default_namespace: bool
    holes: list[str] = field(default_factory=list)
    end: int = 0


@dataclass(frozen=True, slots=True)
class Shape:
    """A filler's content: its key, a digest of all but the ids of the holes, and the holes.

    The outline is a digest without holes and without the white space between elements, which
    changes when holes come and go.
    """

    key: str | None
    digest: bytes
    outline: bytes
    slots: Mapping[Path, Slot]

    @property
    def holes(self) -> list[str]:
        return [id for slot in self.slots.values() for id in slot.holes]

    def says_the_same_as(self, other: Shape) -> bool:
        return self.digest == other.digest and {
            path: slot.holes for path, slot in self.slots.items()
        } == {path: slot.holes for path, slot in other.slots.items()}


def shape_of(fragment: Fragment, structure: TagStructure, keys: Mapping[str, str]) -> Shape:
    """The shape of a fragment's content. `keys` has, by tag, key attributes other than `id`."""
    return _Reader(fragment, structure, keys).read()


@dataclass(slots=True)
class _Open:
    """An element whose end has not come; a hole has no tag."""

    tag: Tag | None
    path: Path
    slot: Slot | None
    siblings: dict[tuple[str, str | None], int] = field(default_factory=dict)


class _Reader:
    """One filler's parse; holds what expat's handlers share.

    The digests are made of what the parser tells, with signs between that XML has no use for.
    """

    def __init__(
        self, fragment: Fragment, structure: TagStructure, keys: Mapping[str, str]
    ) -> None:
        self._structure = structure
        self._keys = keys
        tag = structure.by_id(fragment.tsid or "")
        assert tag is not None
        self._tag = tag
        self._key: str | None = None
        self._digest = blake2b(digest_size=16)
        self._outline = blake2b(digest_size=16)
        self._text: list[str] = []
        self._slots: dict[Path, Slot] = {}
        self._open: list[_Open] = []
        self._default_namespaces = [""]
        lead, trail = in_context(dict(fragment.namespaces))
        self._before = len(lead)
        self._whole = lead + fragment.content + trail
        self._parser = expat.ParserCreate("utf-8", NAME_SEPARATOR)

    def read(self) -> Shape:
        parser = self._parser
        parser.namespace_prefixes = True
        parser.buffer_text = True
        parser.StartElementHandler = self._start_context
        parser.StartNamespaceDeclHandler = self._declare
        parser.EndNamespaceDeclHandler = self._undeclare
        parser.Parse(self._whole, True)
        return Shape(self._key, self._digest.digest(), self._outline.digest(), self._slots)

    def _start_context(self, name: str, attributes: dict[str, str]) -> None:
        parser = self._parser
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        parser.CommentHandler = lambda data: self._say(f"\x06{data}")
        parser.ProcessingInstructionHandler = lambda target, data: self._say(f"\x07{target} {data}")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        full = expanded_name(name)
        if full.local == "hole" and (not full.uri or full.prefix == "stream"):
            parent = self._open[-1]
            if parent.slot is not None:
                parent.slot.holes.append(attributes["id"].strip())
            self._say_text()
            self._digest.update(b"\x08")
            self._open.append(_Open(None, (), None))
            return
        said = "".join(f"\x02{key}\x03{attributes[key]}" for key in sorted(attributes))
        self._say(f"\x01{name}{said}")
        tag = self._tag
        path: Path = ()
        if not self._open:
            self._key = attributes.get(self._keys.get(tag.id, "id"))
        else:
            tag, path = self._child(full.uri, full.local, attributes)
        slot = None
        if any(child.is_fragmented for child in self._structure.children(tag)):
            start = self._parser.CurrentByteIndex - self._before
            slot = self._slots[path] = Slot(start, bool(self._default_namespaces[-1]))
        self._open.append(_Open(tag, path, slot))

    def _child(self, uri: str, local: str, attributes: dict[str, str]) -> tuple[Tag, Path]:
        """The tag of an element in the one that is open, and the way to it."""
        parent = self._open[-1]
        assert parent.tag is not None
        tag = self._structure.child(parent.tag, uri, local)
        assert tag is not None
        key = attributes.get(self._keys.get(tag.id, "id"))
        number = parent.siblings[tag.id, key] = parent.siblings.get((tag.id, key), 0) + 1
        return tag, (*parent.path, (tag.id, key, number))

    def _end(self, name: str) -> None:
        if not self._open:
            return
        ended = self._open.pop()
        if ended.tag is not None:
            self._say("\x04")
        if ended.slot is not None:
            ended.slot.end = self._parser.CurrentByteIndex - self._before

    def _declare(self, prefix: str | None, uri: str | None) -> None:
        if not prefix:
            self._default_namespaces.append(uri or "")

    def _undeclare(self, prefix: str | None) -> None:
        if not prefix:
            self._default_namespaces.pop()

    def _say(self, token: str) -> None:
        self._say_text()
        said = token.encode()
        self._digest.update(said)
        self._outline.update(said)

    def _say_text(self) -> None:
        if self._text:
            text = "".join(self._text)
            self._text.clear()
            self._digest.update(text.encode())
            if not text.isspace():
                self._outline.update(text.encode())
