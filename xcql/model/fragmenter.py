"""Splits a document into fragments: temporal and event elements become fillers and leave holes.

This takes one pass over the document's bytes. The parser only reports where elements start and
end; the output consists of slices of the input, so every byte of the content is preserved. Memory
does not grow with the document: a long filler is spilled to a temporary file.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import IO
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from xcql.diagnostics import Diagnostic, XcqlError, error, warning
from xcql.model.documents import Document, parse_chunk, place_in
from xcql.model.paths import near_names
from xcql.model.scan import START_TAG
from xcql.model.tags import Tag, TagStructure
from xcql.source import Span
from xcql.xdm.names import QName
from xcql.xdm.parse import NAME_SEPARATOR, expanded_name

HEADER = b'<?xml version="1.0" encoding="UTF-8"?>\n<fragments>\n'
FOOTER = b"</fragments>\n"

# limits for what an open filler holds in memory
_MAX_BYTES = 1 << 20
_MAX_PARTS = 1 << 14

# enough for the name of an element, after which namespaces are declared
_HEAD = 1 << 16

_TAG_NAME = re.compile(rb"<[^\s/>]+")


@dataclass(frozen=True, slots=True)
class Fragmented:
    """The result of a run of the fragmenter."""

    fillers: int
    bytes_read: int
    bytes_written: int
    warnings: tuple[Diagnostic, ...]


class _Place(dict[str, "_Place"]):
    """A tag while parsing: maps names to the child elements that stay inline.

    Child elements that become fillers are in `cut`.
    """

    __slots__ = ("cut", "tag", "tsid")

    def __init__(self, tag: Tag) -> None:
        super().__init__()
        self.tag = tag
        self.tsid = quoteattr(tag.id)
        self.cut: dict[str, _Place] = {}


def fragment(
    document: Document, structure: TagStructure, valid_time: str, output: IO[bytes]
) -> Fragmented:
    """Write the fragments of a document: filler 0 is its root, ids follow document order.

    A filler is written when its element ends, so nested fillers come before it.

    >>> import io
    >>> from xcql.model.documents import read_document
    >>> from xcql.model.tags import parse_tags
    >>> tags = parse_tags('''<stream:structure><tag type="snapshot" id="1" name="a">
    ...   <tag type="temporal" id="2" name="b"/></tag></stream:structure>''')
    >>> document = read_document(io.BytesIO(b"<a>x<b n='1'/></a>"), "a.xml")
    >>> out = io.BytesIO()
    >>> fragment(document, tags, "2003-10-23", out).fillers
    2
    >>> print(out.getvalue().decode().partition("\\n")[2], end="")
    <fragments>
    <filler id="1" tsid="2" validTime="2003-10-23"><b n='1'/></filler>
    <filler id="0" tsid="1" validTime="2003-10-23"><a>x<hole id="1" tsid="2"/></a></filler>
    </fragments>
    """
    _check_no_hole(structure)
    cutter = _Cutter(document, structure, valid_time, output)
    output.write(HEADER)
    cutter.run()
    output.write(FOOTER)
    return Fragmented(
        cutter.opened,
        cutter.base,
        cutter.written + len(HEADER) + len(FOOTER),
        tuple(document.warnings + cutter.warnings()),
    )


def _places(structure: TagStructure) -> _Place:
    """The place above the root, from which all others can be reached (cyclic if recursive)."""
    places = {tag.id: _Place(tag) for tag in structure}
    for tag in structure:
        place = places[tag.id]
        for child in structure.children(tag):
            kept = place.cut if child.is_fragmented else place
            kept[_parser_name(child.name)] = places[child.id]
    above = _Place(structure.root)
    # the root is a filler regardless of its type
    above.cut[_parser_name(structure.root.name)] = places[structure.root.id]
    return above


def _parser_name(name: QName) -> str:
    """The name as reported by the parser, which does not return prefixes here."""
    return f"{name.uri}{NAME_SEPARATOR}{name.local}" if name.uri else name.local


@dataclass(slots=True)
class _Filler:
    """A filler whose element has not ended yet."""

    start: bytes
    hole: bytes
    inherited: tuple[tuple[str, str], ...]
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    spilled: IO[bytes] | None = None

    def spill(self) -> None:
        """Move the collected parts to a temporary file."""
        if self.spilled is None:
            self.spilled = tempfile.TemporaryFile()  # noqa: SIM115 - closed when written
        self.spilled.writelines(self.parts)
        self.parts.clear()
        self.size = 0


class _Cutter:
    """One run: the state shared by the parser's handlers."""

    def __init__(
        self, document: Document, structure: TagStructure, valid_time: str, output: IO[bytes]
    ) -> None:
        self.opened = 0
        self.written = 0
        self.base = 0
        self._window = b""
        # the bytes before this offset have been assigned to a filler
        self._taken = 0
        self._name = document.name
        self._chunks = document.chunks
        self._output = output
        self._valid_time = quoteattr(valid_time)
        self._open: list[_Filler] = []
        # prefix -> the offset and URI of each declaration, innermost last
        self._scope: dict[str, list[tuple[int, str]]] = {}
        self._outside = 0
        self._has_lifespans: Tag | None = None
        self._structure = structure
        self._namespaces_with_hole = {tag.name.uri for tag in structure if tag.name.local == "hole"}
        self._parser = expat.ParserCreate("UTF-8", NAME_SEPARATOR)
        self._walk(structure)

    def run(self) -> None:
        parser = self._parser
        try:
            for chunk in chain(filter(None, self._chunks), [b""]):
                self._window += chunk
                parse_chunk(parser, chunk, not chunk, self._name, self._window, self.base)
                self._flush(max(parser.CurrentByteIndex, self._taken))
        finally:
            for filler in self._open:
                if filler.spilled is not None:
                    filler.spilled.close()

    def warnings(self) -> list[Diagnostic]:
        found = []
        if self._outside:
            found.append(
                warning(
                    "XCQL0256",
                    f"{self._outside} comments or processing instructions outside the root"
                    f" element of '{self._name}' are dropped",
                    hints=["a stream only holds elements: move them into the root element"],
                )
            )
        if self._has_lifespans is not None:
            found.append(
                warning(
                    "XCQL0257",
                    f"{self._has_lifespans.name} elements of '{self._name}' have attributes vtFrom"
                    " or vtTo, which XCQL overwrites with its own",
                    hints=["rename them before fragmenting, if they are data"],
                )
            )
        return found

    def _walk(self, structure: TagStructure) -> None:
        """Set the handlers; `start` and `end` contain everything that is done for each element."""
        parser = self._parser
        place = _places(structure)
        # the enclosing places; `begun` is above the place that encloses a filler
        outer: list[_Place] = []
        begun = _Place(structure.root)
        push, pop = outer.append, outer.pop
        open_filler, close_filler = self._open_filler, self._close_filler

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal place
            push(place)
            try:
                place = place[name]
            except KeyError:
                place = open_filler(place, name, attributes)
                push(begun)

        def end(name: str) -> None:
            nonlocal place
            place = pop()
            if place is begun:
                close_filler()
                place = pop()

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.StartNamespaceDeclHandler = self._declare
        parser.EndNamespaceDeclHandler = lambda prefix: self._scope[prefix or ""].pop()
        self._watch_outside(True)

    def _watch_outside(self, is_outside: bool) -> None:
        """Count comments and processing instructions while outside the root element."""

        def count(*content: str) -> None:
            self._outside += 1

        handler = count if is_outside else None
        self._parser.CommentHandler = handler
        self._parser.ProcessingInstructionHandler = handler

    def _open_filler(self, outer: _Place, name: str, attributes: dict[str, str]) -> _Place:
        place = outer.cut.get(name)
        if place is None:
            raise self._undeclared(name, outer.tag)
        at = self._parser.CurrentByteIndex
        if self._open:
            self._open[-1].parts.append(self._window[self._taken - self.base : at - self.base])
        else:
            self._watch_outside(False)
        self._taken = at
        if attributes and ("vtFrom" in attributes or "vtTo" in attributes):
            self._has_lifespans = place.tag
        inherited, default = self._inherited(at) if self._scope else ((), False)
        # a hole belongs to no namespace
        undeclare = ' xmlns=""' if default else ""
        ids = f'id="{self.opened}" tsid={place.tsid}'
        self._open.append(
            _Filler(
                f"<filler {ids} validTime={self._valid_time}>".encode(),
                f"<hole {ids}{undeclare}/>".encode(),
                inherited,
            )
        )
        self.opened += 1
        return place

    def _close_filler(self) -> None:
        filler = self._open.pop()
        at = self._parser.CurrentByteIndex
        window, base = self._window, self.base
        last = window[self._taken - base : at - base]
        # when <a/> ends, the parser is after it; when <a></a> ends, it is before the end tag
        is_whole = not filler.parts and filler.spilled is None
        if not (is_whole and last.endswith(b"/>") and START_TAG.fullmatch(last)):
            at = window.index(b">", at - base) + 1 + base
            last = window[self._taken - base : at - base]
        filler.parts.append(last)
        self._taken = at
        self._write(filler)
        if self._open:
            self._open[-1].parts.append(filler.hole)
        else:
            self._watch_outside(True)

    def _write(self, filler: _Filler) -> None:
        if filler.spilled is None:
            body = b"".join(filler.parts)
            if filler.inherited:
                body = _declared(body, [pair for pair in filler.inherited if _may_need(body, pair)])
            self.written += self._output.write(b"%b%b</filler>\n" % (filler.start, body))
            return
        filler.spill()
        with filler.spilled as spilled:
            spilled.seek(0)
            head = spilled.read(_HEAD)
            self.written += self._output.write(filler.start + _declared(head, filler.inherited))
            self.written += max(0, spilled.seek(0, 2) - _HEAD)
            spilled.seek(_HEAD)
            shutil.copyfileobj(spilled, self._output)
            self.written += self._output.write(b"</filler>\n")

    def _flush(self, parsed: int) -> None:
        """Assign the bytes that the parser has finished to the innermost filler."""
        if self._open:
            innermost = self._open[-1]
            piece = self._window[self._taken - self.base : parsed - self.base]
            innermost.parts.append(piece)
            innermost.size += len(piece)
            for filler in self._open:
                if filler.size > _MAX_BYTES or len(filler.parts) > _MAX_PARTS:
                    filler.spill()
        self._taken = parsed
        self._window = self._window[parsed - self.base :]
        self.base = parsed

    def _declare(self, prefix: str | None, uri: str | None) -> None:
        if prefix == "stream" and uri in self._namespaces_with_hole:
            raise error(
                "XCQL0252",
                f"'{self._name}' has elements stream:hole, which would be read as holes",
                self._here(),
                hints=["use a prefix other than 'stream'"],
            )
        at = self._parser.CurrentByteIndex
        self._scope.setdefault(prefix or "", []).append((at, uri or ""))

    def _inherited(self, at: int) -> tuple[tuple[tuple[str, str], ...], bool]:
        """The inherited namespace declarations in scope for the element at a byte offset.

        Also returns whether there is a default namespace around the element.
        """
        inherited = []
        default = False
        for prefix, declared in self._scope.items():
            if not declared:
                continue
            is_own = declared[-1][0] == at
            outer = declared[-1 - is_own][1] if len(declared) > is_own else ""
            if outer and not prefix:
                default = True
            if outer and not is_own:
                inherited.append((prefix, outer))
        return tuple(inherited), default

    def _undeclared(self, name: str, parent: Tag) -> XcqlError:
        full = expanded_name(name)
        shown = full.clark if full.uri else full.local
        hints = ["'xcqlc infer-tags' makes a tag structure that fits a document"]
        if not self._open:
            message = f"the root element is {shown}; the tag structure is for {parent.name}"
        else:
            message = f"the tag structure does not declare {shown} in {parent.name}"
            known = [str(child.name) for child in self._structure.children(parent)]
            hints = near_names(full.local, known) + hints
        return error("XCQL0251", message, self._here(), hints=hints)

    def _here(self) -> Span:
        parser = self._parser
        return place_in(
            self._name,
            self._window,
            parser.CurrentByteIndex - self.base,
            parser.CurrentLineNumber,
            parser.CurrentColumnNumber + 1,
        )


def _may_need(body: bytes, declaration: tuple[str, str]) -> bool:
    """Whether names, text or attribute values in the body may use the prefix."""
    prefix = declaration[0]
    return not prefix or prefix.encode() + b":" in body or b"&#" in body


def _declared(element: bytes, declarations: Iterable[tuple[str, str]]) -> bytes:
    """The element, or its beginning, with namespace declarations added to its start tag."""
    text = "".join(
        f" xmlns{':' if prefix else ''}{prefix}={quoteattr(uri)}" for prefix, uri in declarations
    ).encode()
    name = _TAG_NAME.match(element)
    end = name.end() if name else 0
    return element[:end] + text + element[end:]


def _check_no_hole(structure: TagStructure) -> None:
    """Refuse a tag that looks like a hole, because its elements would be read as holes."""
    for tag in structure:
        if tag.name.local == "hole" and not tag.name.uri:
            raise error(
                "XCQL0252",
                f"the tag structure declares the element {tag.name}, which means a hole",
                tag.span,
                hints=["rename the element, or put it into a namespace"],
            )
