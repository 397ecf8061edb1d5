"""Whether two engines gave the same answer.

Answers are XML texts one after the other. They are compared by their XML meaning, with white space
normalised and without lifespans, because an engine without history does not write them.

>>> digest('<a y="1" x="2"> b </a>') == digest('<a x="2" y="1">b</a>')
True
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from xml.parsers import expat

_LIFESPAN = ("vtFrom", "vtTo")
_PIECE = 1 << 20
_DECLARATION = re.compile(rb"^\s*<\?xml[^>]*\?>")


@dataclass(frozen=True, slots=True)
class Digest:
    """The digest of an answer: of its ordered content, and of its unordered content."""

    ordered: str
    unordered: str
    items: int

    def says_the_same(self, other: Digest, any_order: bool = False) -> bool:
        if any_order:
            return self.unordered == other.unordered
        return self.ordered == other.ordered


def digest(answer: str | Path) -> Digest:
    """The digest of an answer, which can be a large file: memory does not grow with its size."""
    reader = _Reader()
    parser = expat.ParserCreate("UTF-8")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.Parse(b"<answer>", False)
    with answer.open("rb") if isinstance(answer, Path) else BytesIO(answer.encode()) as file:
        piece = _DECLARATION.sub(b"", file.read(_PIECE), count=1)
        while piece:
            parser.Parse(piece, False)
            piece = file.read(_PIECE)
    parser.Parse(b"</answer>", True)
    return reader.digest()


class _Reader:
    """Collects the digests of the top-level parts of an answer: elements, and words of text."""

    def __init__(self) -> None:
        self._depth = 0
        self._text: list[str] = []
        self._item = hashlib.sha1()
        self._items: list[bytes] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._flush()
        self._depth += 1
        if self._depth == 1:
            return
        said = sorted(pair for pair in attributes.items() if pair[0] not in _LIFESPAN)
        self._item.update(repr((name, said)).encode())

    def end(self, name: str) -> None:
        self._flush()
        self._depth -= 1
        if self._depth == 0:
            return
        self._item.update(b"/")
        if self._depth == 1:
            self._items.append(self._item.digest())
            self._item = hashlib.sha1()

    def text(self, text: str) -> None:
        self._text.append(text)

    def _flush(self) -> None:
        words = "".join(self._text).split()
        self._text.clear()
        if self._depth == 1:
            # engines separate items differently: with a space, a line end, or not at all
            self._items.extend(word.encode() for word in words)
        elif words:
            self._item.update(" ".join(words).encode())

    def digest(self) -> Digest:
        return Digest(_hash(self._items), _hash(sorted(self._items)), len(self._items))


def _hash(items: list[bytes]) -> str:
    whole = hashlib.sha1()
    for item in items:
        whole.update(len(item).to_bytes(4, "big") + item)
    return whole.hexdigest()
