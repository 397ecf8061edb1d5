"""Documents assembled from the bytes of fillers; the inverse of shredding.

The input is all copies of fillers in a view, in document order. The output is the text in pieces,
as the serialiser writes it, because the bytes of each filler already are in that form (`normal`).
Only the fillers around the current position are held in memory.

CaQ assembles the text for the evaluator's parser, temporalize the text of a document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from xcql.history.lifespan import FROM, TO
from xcql.history.places import STEP
from xcql.model.time import START, format_begin, format_end
from xcql.shred.namespaces import declared_in, declaring, to_declare

# In normal form no `>` stands inside a tag, and `="` only follows the name of an attribute.
_MARKUP = re.compile(rb"<!--.*?-->|<\?.*?\?>|<[^>]*>", re.DOTALL)
_LIFESPAN = re.compile(rf' (?:{FROM}|{TO})="[^"]*"'.encode())


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a filler in the view: its place (see `xcql.history.places`) and its bytes.

    `key` ends with the number of the version. `starts` and `lengths` are the byte ranges of the
    holes, in order. `namespaces` are those in scope of the element, as text. `timed` is False for
    an element that gets no lifespan; `vt_to` is None if the version is still valid.
    """

    key: bytes
    raw: bytes
    starts: Sequence[int]
    lengths: Sequence[int]
    namespaces: str
    timed: bool
    vt_from: datetime | None
    vt_to: datetime | None


# the values of namespace declarations by prefix, as they are written
Scope = Mapping[str, str]
# Given a copy, its start tag without the closing `>`, and the namespaces in scope around it: the
# start tag to write, and the namespaces in scope inside it.
StartTag = Callable[[Copy, bytes, Scope], tuple[bytes, Scope]]


def document_text(copies: Iterable[Copy]) -> Iterator[bytes]:
    """The text of the document with these copies, which come in the order of their keys.

    A lifespan comes after the other attributes and replaces any in the data. A namespace that is
    in scope already is not declared again. An element that is left empty is written as `<a/>`.
    """
    return _empty_elements_closed(assembled(copies, _start_tag))


def assembled(copies: Iterable[Copy], start_tag: StartTag) -> Iterator[bytes]:
    """The copies with the holes filled; a copy without its parent is left out.

    A piece never ends inside a tag.
    """
    enclosing: list[_OpenCopy] = []
    for copy in copies:
        while enclosing and not copy.key.startswith(enclosing[-1].copy.key):
            yield from enclosing.pop().rest()
        if len(copy.key) != (len(enclosing[-1].copy.key) + STEP if enclosing else STEP // 2):
            continue
        scope: Scope = {}
        if enclosing:
            yield from enclosing[-1].up_to(int.from_bytes(copy.key[-STEP : -STEP // 2], "big"))
            scope = enclosing[-1].scopes[-1]
        enclosing.append(_opened(copy, start_tag, scope))
    while enclosing:
        yield from enclosing.pop().rest()


def lifespan_text(copy: Copy, prefix: str = "") -> str:
    """The attributes with the lifespan of a copy."""
    begin, end = format_begin(copy.vt_from or START), format_end(copy.vt_to)
    return f' {prefix}{FROM}="{begin}" {prefix}{TO}="{end}"'


@dataclass(slots=True)
class _OpenCopy:
    """A copy that is not completely written.

    `lead` is its new start tag, until that is written; `written` and `hole` are the numbers of
    bytes and of holes that are done. `scopes` are the namespaces in scope of the elements around
    the current position, innermost last; only its own element's if `declares_inside` is False.
    """

    copy: Copy
    lead: bytes
    written: int
    scopes: list[Scope]
    declares_inside: bool
    hole: int = 0

    def up_to(self, offset: int) -> Iterator[bytes]:
        """The text that is not yet written, up to and without the hole at an offset."""
        starts, lengths = self.copy.starts, self.copy.lengths
        while self.hole < len(starts) and starts[self.hole] <= offset:
            yield self._piece(starts[self.hole])
            self.written += lengths[self.hole]
            self.hole += 1

    def rest(self) -> Iterator[bytes]:
        """The text that is not yet written."""
        yield from self.up_to(len(self.copy.raw))
        yield self._piece(len(self.copy.raw))

    def _piece(self, end: int) -> bytes:
        piece = self.copy.raw[self.written : end]
        if self.declares_inside:
            piece = _MARKUP.sub(self._in_scope, piece)
        lead, self.lead, self.written = self.lead, b"", end
        return lead + piece

    def _in_scope(self, markup: re.Match[bytes]) -> bytes:
        """A tag without the declarations that are in scope there; this enters or leaves a scope."""
        tag = markup[0]
        if tag.startswith(b"</"):
            self.scopes.pop()
        elif not tag.startswith((b"<!", b"<?")):
            scope, declared = self.scopes[-1], declared_in(tag.decode())
            new = {one: value for one, value in declared.items() if scope.get(one, "") != value}
            tag = tag.replace(declaring(declared).encode(), declaring(new).encode(), 1)
            if not tag.endswith(b"/>"):
                self.scopes.append({**scope, **new})
        return tag


def _opened(copy: Copy, start_tag: StartTag, scope: Scope) -> _OpenCopy:
    end = copy.raw.index(b">")
    if copy.raw[end - 1] == ord("/"):
        end -= 1
    lead, inner = start_tag(copy, copy.raw[:end], scope)
    return _OpenCopy(copy, lead, end, [inner], b" xmlns" in copy.raw)


def _start_tag(copy: Copy, tag: bytes, scope: Scope) -> tuple[bytes, Scope]:
    name, space, rest = tag.partition(b" ")
    attributes = space + rest
    if copy.timed:
        attributes = _LIFESPAN.sub(b"", attributes) + lifespan_text(copy).encode()
    if not copy.namespaces and not scope:
        return name + attributes, scope
    new = to_declare(copy.namespaces, scope)
    return name + declaring(new).encode() + attributes, {**scope, **new}


def _empty_elements_closed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Replace `<a></a>` by `<a/>` where the start and the end tag are in different pieces."""
    held = b""
    for piece in filter(None, pieces):
        if piece.startswith(b"</") and held.endswith(b">"):
            name, _, after = piece[2:].partition(b">")
            if _ends_with_start_tag(held, name):
                held, piece = held[:-1], b"/>" + after
        yield held
        held = piece
    yield held


def _ends_with_start_tag(piece: bytes, name: bytes) -> bool:
    tag = piece[piece.rfind(b"<") :]
    if tag != b"<%b>" % name and not tag.startswith(b"<%b " % name):
        return False
    # neither a tag of an element without content, nor the end of a comment that looks like a tag
    return not tag.endswith(b"/>") and bool(_MARKUP.findall(piece)[-1] == tag)
