"""Reads a whole XML document as a stream of bytes: any size, any encoding, compressed or not.

The output is UTF-8 without a document type declaration: entities are expanded, and attributes
that the document's own DTD supplies are written out. Nothing is ever fetched.
"""

from __future__ import annotations

import codecs
import gzip
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO, NoReturn, cast
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from xcql.diagnostics import Diagnostic, error, warning
from xcql.source import Source, Span
from xcql.xdm.encoding import encoding_of

CHUNK = 1 << 18

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\0"
_XML_DECLARATION = re.compile(rb"<\?xml\s[^>]*\?>")
_EXCERPT = 120


@dataclass(slots=True)
class Document:
    """A document that is read once, from start to end.

    `attribute_types` are the types that its DTD declares, by element name and attribute name; they
    are available once the content is being read.
    """

    name: str
    chunks: Iterator[bytes]
    warnings: list[Diagnostic] = field(default_factory=list)
    attribute_types: dict[tuple[str, str], str] = field(default_factory=dict)


def read_document(file: BinaryIO, name: str) -> Document:
    """The document in a binary file; gzip and xz are detected by the first bytes and unpacked.

    >>> import io
    >>> document = read_document(io.BytesIO(b"<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>"), "a.xml")
    >>> b"".join(document.chunks)
    b'<a>x</a>'
    """
    chunks = _as_utf8(_unpacked(file, name), name)
    seen, doctype = _read_prolog(chunks)
    document = Document(name, chain(seen, chunks))
    if doctype is None:
        return document
    if doctype.system_id is not None and not doctype.standalone:
        document.warnings.append(
            warning(
                "XCQL0253",
                f"'{name}' refers to the DTD '{doctype.system_id}', which is not read",
                hints=["default attributes that it may declare are not in the result"],
            )
        )
    seen[0] = _standalone(seen[0])
    if doctype.has_internal_subset:
        document.chunks = _without_doctype(document.chunks, name, document.attribute_types)
    return document


def parse_chunk(
    parser: expat.XMLParserType, chunk: bytes, is_last: bool, name: str, window: bytes, base: int
) -> None:
    """Feed a parser, and turn an XML error into one with its position.

    `window` holds the bytes around the chunk, starting at the byte offset `base`.
    """
    try:
        parser.Parse(chunk, is_last)
    except expat.ExpatError as problem:
        hints = []
        if problem.code == expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]:
            hints = ["only entities that the document itself declares are known"]
        raise error(
            "FODC0006",
            f"'{name}' is not well-formed XML: {expat.ErrorString(problem.code)}",
            place_in(
                name, window, parser.ErrorByteIndex - base, problem.lineno, problem.offset + 1
            ),
            hints=hints,
        ) from None


def place_in(name: str, window: bytes, at: int, line: int, column: int) -> Span:
    """The span at an offset in a window of a document, with the text around it."""
    at = max(0, min(at, len(window)))
    before = window[max(0, at - _EXCERPT) : at].decode("utf-8", "ignore").rpartition("\n")[2]
    after = window[at : at + _EXCERPT].decode("utf-8", "ignore").partition("\n")[0]
    markup = re.match(r"<[^>]*>?", after)
    source = Source(before + after, name, line, max(1, column - len(before)))
    return Span(source, len(before), len(before) + (markup.end() if markup else 1))


class _Rejoined:
    """A file whose first bytes have already been read to detect its format."""

    def __init__(self, first: bytes, file: BinaryIO) -> None:
        self._first = first
        self._file = file

    def read(self, size: int) -> bytes:
        first, self._first = self._first[:size], self._first[size:]
        return first or self._file.read(size)


def _unpacked(file: BinaryIO, name: str) -> Iterator[bytes]:
    try:
        first = file.read(len(_XZ))
        unpacked = cast(BinaryIO, _Rejoined(first, file))
        if first.startswith(_GZIP):
            unpacked = cast(BinaryIO, gzip.GzipFile(fileobj=unpacked))
        elif first.startswith(_XZ):
            unpacked = cast(BinaryIO, lzma.LZMAFile(unpacked))  # noqa: SIM115 - not ours to close
        while chunk := unpacked.read(CHUNK):
            yield chunk
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as problem:
        raise error("FODC0002", f"'{name}' cannot be read: {problem}") from None


def _as_utf8(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    first = b""
    for chunk in chunks:
        first += chunk
        if len(first) >= 1024:
            break
    encoding, mark = encoding_of(first)
    first = first[len(mark) :]
    if encoding == "utf-8":
        # expat itself detects bytes that are not UTF-8, with their position
        yield first
        yield from chunks
        return
    decode = codecs.getincrementaldecoder(encoding)().decode
    done = len(mark)
    try:
        for chunk in chain([first], chunks):
            yield decode(chunk).encode("utf-8")
            done += len(chunk)
        decode(b"", True)
    except UnicodeError as problem:
        at = done + getattr(problem, "start", 0)
        raise error(
            "FODC0006",
            f"'{name}' is not {encoding} text (byte {at})",
            hints=["declare the encoding: <?xml version='1.0' encoding='…'?>"],
        ) from None


@dataclass(slots=True)
class _Doctype:
    system_id: str | None
    has_internal_subset: bool
    standalone: bool


def _read_prolog(chunks: Iterator[bytes]) -> tuple[list[bytes], _Doctype | None]:
    """Read the chunks up to the root element, and the document type declaration if there is one.

    Errors in them are left to the parser that reads them next.
    """
    parser = expat.ParserCreate("UTF-8")
    found: list[_Doctype] = []
    standalone = False
    at_root = False

    def xml_declaration(version: str, encoding: str | None, declared: int) -> None:
        nonlocal standalone
        standalone = declared == 1

    def doctype(_: str, system_id: str | None, public_id: str | None, has_subset: int) -> None:
        found.append(_Doctype(system_id, bool(has_subset), standalone))

    def root(name: str, attributes: dict[str, str]) -> None:
        nonlocal at_root
        at_root = True
        parser.StartElementHandler = None

    parser.XmlDeclHandler = xml_declaration
    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = root
    seen = []
    for chunk in chunks:
        seen.append(chunk)
        try:
            parser.Parse(chunk, False)
        except expat.ExpatError:
            break
        if at_root:
            break
    return seen, found[0] if found else None


def _standalone(first: bytes) -> bytes:
    """Declare the document standalone, so that an entity declared elsewhere is an error.

    Otherwise expat silently drops references to it from attributes.
    """
    declaration = _XML_DECLARATION.match(first)
    rest = first[declaration.end() :] if declaration else first
    return b'<?xml version="1.0" standalone="yes"?>' + rest


def _without_doctype(
    chunks: Iterable[bytes], name: str, attribute_types: dict[tuple[str, str], str]
) -> Iterator[bytes]:
    """The same document without its internal DTD subset, whose declarations are applied."""
    parser = expat.ParserCreate("UTF-8")
    parser.ordered_attributes = True
    parser.buffer_text = True
    out: list[str] = []
    write = out.append
    in_cdata = in_root = in_doctype = False

    def start(element: str, attributes: list[str]) -> None:
        nonlocal in_root
        if not in_root:
            # keeps line numbers correct in messages about the content
            in_root = True
            write("\n" * (parser.CurrentLineNumber - 1 - sum(text.count("\n") for text in out)))
        write(f"<{element}")
        for i in range(0, len(attributes), 2):
            value = quoteattr(attributes[i + 1], {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"})
            write(f" {attributes[i]}={value}")
        write(">")

    def text(data: str) -> None:
        write(data if in_cdata else escape(data, {"\r": "&#13;"}))

    def cdata(is_start: bool) -> None:
        nonlocal in_cdata
        in_cdata = is_start
        write("<![CDATA[" if is_start else "]]>")

    def doctype(is_start: bool) -> None:
        nonlocal in_doctype
        in_doctype = is_start

    def aside(markup: str) -> None:
        if not in_doctype:
            write(markup)

    def external(context: str | None, *identifiers: str | None) -> NoReturn:
        raise error(
            "XCQL0253",
            f"'{name}' refers to an external entity, which XCQL does not fetch",
            Span(Source("", name, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1), 0, 0),
            hints=["put its text into the document"],
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda element: write(f"</{element}>")
    parser.CharacterDataHandler = text
    parser.StartCdataSectionHandler = lambda: cdata(True)
    parser.EndCdataSectionHandler = lambda: cdata(False)
    parser.CommentHandler = lambda data: aside(f"<!--{data}-->")
    parser.ProcessingInstructionHandler = lambda target, data: aside(f"<?{target} {data}?>")
    parser.StartDoctypeDeclHandler = lambda *_: doctype(True)
    parser.EndDoctypeDeclHandler = lambda: doctype(False)
    parser.ExternalEntityRefHandler = external
    parser.AttlistDeclHandler = lambda element, attribute, type_, *_: attribute_types.setdefault(
        (element, attribute), type_
    )

    window, base = b"", 0
    for chunk in chain(filter(None, chunks), [b""]):
        window += chunk
        parse_chunk(parser, chunk, not chunk, name, window, base)
        parsed = max(parser.CurrentByteIndex, base)
        window, base = window[parsed - base :], parsed
        if in_root:
            yield "".join(out).encode("utf-8")
            out.clear()
