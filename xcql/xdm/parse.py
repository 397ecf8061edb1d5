"""XML text to a tree, with expat. Nothing outside the text is ever read.

Entities that the document itself declares are expanded up to a limit; a reference to an external
one is an error. Attributes have the types that the DTD declares, for `fn:id`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import lru_cache
from xml.parsers import expat

from xcql.diagnostics import XcqlError, error
from xcql.source import Source, Span
from xcql.xdm.builder import TreeBuilder
from xcql.xdm.encoding import decode_xml, encoding_of
from xcql.xdm.names import XML_NAMESPACE, QName
from xcql.xdm.nodes import DocumentNode, ElementNode
from xcql.xdm.serialize import escape_attribute

# expat joins namespace, local name and prefix with this; XML never allows it
NAME_SEPARATOR = "\x1f"

# How large entities can make a document. Real entities stand for a character or a phrase.
_MAX_GROWTH = 10
_MAX_EXPANDED = 1_000_000


def parse_xml(
    text: str | bytes, source_name: str = "<xml>", document_uri: str | None = None
) -> DocumentNode:
    """Parse an XML text into a document.

    >>> parse_xml("<a>x<!-- y --></a>").string_value()
    'x'
    """
    return _Parser(utf8_bytes(text, source_name), source_name).document(document_uri)


def parse_element(
    data: bytes,
    namespaces: Mapping[str, str],
    not_inherited: Container[str] = (),
    source_name: str = "<xml>",
) -> ElementNode:
    """Parse a part of a document into an element, given the namespaces around it.

    They are in scope, except the prefixes in `not_inherited`, which only its names can use.

    >>> parse_element(b"<p:a/>", {"p": "urn:p"}).name.uri
    'urn:p'
    """
    lead, trail = in_context(namespaces)
    around = parse_xml(lead + data + trail, source_name).document_element
    assert around is not None
    element = next(child for child in around.children if isinstance(child, ElementNode))
    element.parent = None
    inherited = {p: uri for p, uri in around.declarations.items() if p not in not_inherited}
    used = {element.name.prefix: element.name.uri} if element.name.prefix in not_inherited else {}
    element.declarations = inherited | used | dict(element.declarations)
    return element


def in_context(namespaces: Mapping[str, str]) -> tuple[bytes, bytes]:
    """The text before and after a part of a document that declares its namespaces."""
    declarations = "".join(
        f' xmlns{":" if prefix else ""}{prefix}="{escape_attribute(uri)}"'
        for prefix, uri in namespaces.items()
        if prefix != "xml"
    )
    return f"<context{declarations}>".encode(), b"</context>"


def utf8_bytes(text: str | bytes, source_name: str) -> bytes:
    """An XML text in UTF-8, whatever its encoding."""
    if isinstance(text, bytes):
        encoding, mark = encoding_of(text)
        if encoding in ("utf-8", "ascii"):
            return text[len(mark) :]
        text = decode_xml(text, source_name)
    # pass on a lone surrogate, so that expat reports its position
    return text.removeprefix("\ufeff").encode("utf-8", "surrogatepass")


@lru_cache(maxsize=10_000)
def expanded_name(name: str) -> QName:
    """The name in expat's string of namespace, local name and prefix."""
    parts = name.split(NAME_SEPARATOR)
    if len(parts) == 1:
        return QName("", name)
    return QName(parts[0], parts[1], parts[2] if len(parts) == 3 else "")


def malformed(data: bytes, source_name: str, byte: int, message: str) -> XcqlError:
    """The error for a problem at a byte of an XML text."""
    source = Source(data.decode("utf-8", "replace"), source_name)
    start = len(data[: max(byte, 0)].decode("utf-8", "replace"))
    return error("FODC0006", message, Span(source, start, min(start + 1, len(source.text))))


class _Parser:
    """One parse; holds the state that expat's handlers share."""

    def __init__(self, data: bytes, source_name: str) -> None:
        self._data = data
        self._source_name = source_name
        self._builder = TreeBuilder()
        self._declarations: dict[str, str] = {}
        # (element, attribute) as the DTD writes them -> the attribute's type, if it is not CDATA
        self._types: dict[tuple[str, str], str] = {}
        self._in_doctype = False
        self._expanded = 0

        parser = self._expat = expat.ParserCreate("utf-8", NAME_SEPARATOR, {})
        parser.namespace_prefixes = True
        parser.ordered_attributes = True
        parser.buffer_text = True
        parser.buffer_size = 1 << 16
        parser.StartElementHandler = self._start_element
        parser.EndElementHandler = self._end_element
        parser.CharacterDataHandler = self._builder.text
        parser.CommentHandler = self._comment
        parser.ProcessingInstructionHandler = self._processing_instruction
        parser.StartNamespaceDeclHandler = self._declare_namespace
        parser.StartDoctypeDeclHandler = self._start_doctype
        parser.EndDoctypeDeclHandler = self._end_doctype
        parser.AttlistDeclHandler = self._declare_attribute
        parser.EntityDeclHandler = self._declare_entity
        parser.ExternalEntityRefHandler = self._external_entity
        parser.SkippedEntityHandler = self._skipped_entity

    def document(self, document_uri: str | None) -> DocumentNode:
        self._builder.start_document(document_uri)
        self._parse()
        self._builder.end()
        return self._builder.document()

    def _parse(self) -> None:
        try:
            self._expat.Parse(self._data, True)
        except expat.ExpatError as problem:
            raise malformed(
                self._data,
                self._source_name,
                self._expat.ErrorByteIndex,
                f"this is not well-formed XML: {expat.ErrorString(problem.code)}",
            ) from None

    def _start_element(self, raw_name: str, raw_attributes: list[str]) -> None:
        declarations, self._declarations = self._declarations, {}
        name = expanded_name(raw_name)
        self._builder.start_element(name, declarations)
        for index in range(0, len(raw_attributes), 2):
            attribute, value = expanded_name(raw_attributes[index]), raw_attributes[index + 1]
            declared = "CDATA"
            if self._types:
                declared = self._types.get((str(name), str(attribute)), "CDATA")
            if attribute.uri == XML_NAMESPACE and attribute.local == "id":
                value = " ".join(value.split())
            self._builder.attribute(attribute, value, declared)

    def _end_element(self, raw_name: str) -> None:
        self._builder.end()

    def _comment(self, value: str) -> None:
        if not self._in_doctype:
            self._builder.comment(value)

    def _processing_instruction(self, target: str, value: str) -> None:
        if not self._in_doctype:
            self._builder.processing_instruction(target, value)

    def _declare_namespace(self, prefix: str | None, uri: str | None) -> None:
        self._declarations[prefix or ""] = uri or ""

    def _start_doctype(self, *doctype: object) -> None:
        self._in_doctype = True

    def _end_doctype(self) -> None:
        self._in_doctype = False

    def _declare_attribute(
        self, element: str, attribute: str, type: str, default: str | None, required: bool
    ) -> None:
        if type != "CDATA":
            self._types.setdefault((element, attribute), type)

    def _declare_entity(self, name: str, is_parameter: bool, *rest: object) -> None:
        # counting takes time, and only a document that declares entities can grow
        self._expat.CharacterDataHandler = self._counted_text

    def _counted_text(self, value: str) -> None:
        self._expanded += len(value)
        if self._expanded > max(_MAX_EXPANDED, _MAX_GROWTH * len(self._data)):
            raise self._fault("its entities expand beyond the size limit")
        self._builder.text(value)

    def _external_entity(
        self, context: str, base: str | None, system_id: str | None, public_id: str | None
    ) -> int:
        raise self._fault(
            f"it refers to the external entity '{system_id or public_id}', which is never read"
        )

    def _skipped_entity(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            raise self._fault(
                f"the entity &{name}; is declared outside the document, which is never read"
            )

    def _fault(self, message: str) -> XcqlError:
        return malformed(
            self._data,
            self._source_name,
            self._expat.CurrentByteIndex,
            f"this document cannot be read: {message}",
        )
