"""Documents and texts: from local files and strings. Nothing is ever fetched from a network."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.functions.strings import is_xml_character
from xcql.evaluate.registry import CallContext, function
from xcql.xdm.builder import TreeBuilder, copy_into
from xcql.xdm.functions import Item
from xcql.xdm.nodes import DocumentNode, Node
from xcql.xdm.parse import parse_xml as read_xml

_TEXT_DECLARATION = re.compile(
    r"<\?xml(?:\s+version\s*=\s*(?:'1\.[0-9]+'|\"1\.[0-9]+\"))?"
    r"\s+encoding\s*=\s*(?:'[A-Za-z][\w.-]*'|\"[A-Za-z][\w.-]*\")\s*\?>"
)
_VERSION_ONLY = re.compile(r"<\?xml\s+version\s*=\s*(?:'1\.[0-9]+'|\"1\.[0-9]+\")\s*\?>")
_LINE_END = re.compile("\r\n|\r|\n")


@function("fn:doc(xs:string?) as document-node()?")
def doc(call: CallContext, uri: str | None) -> DocumentNode | None:
    return None if uri is None else _document(call, uri)


@function("fn:doc-available(xs:string?) as xs:boolean")
def doc_available(call: CallContext, uri: str | None) -> bool:
    if uri is None:
        return False
    try:
        _document(call, uri)
    except XcqlError:
        return False
    return True


def _document(call: CallContext, uri: str) -> DocumentNode:
    """The document of a URI: the same node for each call."""
    known = call.context.evaluation.documents
    if uri in known:
        return known[uri]
    absolute = _absolute(call, uri, "FODC0005")
    if absolute not in known:
        path = _local_path(absolute, "FODC0002")
        known[absolute] = read_xml(_bytes(path, "FODC0002"), str(path), absolute)
    return known[absolute]


def _absolute(call: CallContext, uri: str, code: str) -> str:
    """The absolute form of a URI or of a path, relative to the base URI or the working folder."""
    base = call.static.base_uri or Path.cwd().as_uri() + "/"
    try:
        if "#" in uri or re.search(r"%(?![0-9A-Fa-f]{2})", uri):
            raise ValueError(uri)
        return urljoin(base, uri)
    except ValueError:
        raise error(code, f'"{uri}" is not the URI of a document') from None


def _local_path(uri: str, code: str) -> Path:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise error(
            code,
            f'"{uri}" is not a local file, and XCQL fetches nothing from elsewhere',
            hints=["download the document first, and give the path of the file"],
        )
    return Path(unquote(parts.path))


def _bytes(path: Path, code: str) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise error(code, f"the file '{path}' cannot be read: {reason}") from None


@function("fn:collection([xs:string?]) as item()*")
@function("fn:uri-collection([xs:string?]) as xs:anyURI*")
def collection(call: CallContext, uri: str | None = None) -> list[Item]:
    if uri is None:
        raise error("FODC0002", "there is no default collection")
    raise error(
        "FODC0002",
        f'there is no collection "{uri}"',
        hints=["stream(…) returns the view of a stream, doc(…) reads one file"],
    )


@function("fn:unparsed-text(xs:string?, [xs:string]) as xs:string?")
def unparsed_text(call: CallContext, uri: str | None, encoding: str | None = None) -> str | None:
    return None if uri is None else read_text(call, uri, encoding)


@function("fn:unparsed-text-available(xs:string?, [xs:string]) as xs:boolean")
def unparsed_text_available(
    call: CallContext, uri: str | None, encoding: str | None = None
) -> bool:
    if uri is None:
        return False
    try:
        read_text(call, uri, encoding)
    except XcqlError:
        return False
    return True


@function("fn:unparsed-text-lines(xs:string?, [xs:string]) as xs:string*")
def unparsed_text_lines(
    call: CallContext, uri: str | None, encoding: str | None = None
) -> Iterator[str]:
    if uri is None:
        return iter(())
    lines = _LINE_END.split(read_text(call, uri, encoding))
    return iter(lines[:-1] if lines[-1] == "" else lines)


def read_text(call: CallContext, uri: str, encoding: str | None = None) -> str:
    """The text of a local file."""
    data = _bytes(_local_path(_absolute(call, uri, "FOUT1170"), "FOUT1170"), "FOUT1170")
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            data, encoding = data[len(mark) :], name
            break
    try:
        text = data.decode(encoding or "utf-8")
    except (LookupError, UnicodeError):
        code = "FOUT1190" if encoding else "FOUT1200"
        raise error(code, f'"{uri}" cannot be read as {encoding or "utf-8"} text') from None
    if not all(is_xml_character(ord(sign)) for sign in set(text)):
        raise error("FOUT1190", f'"{uri}" contains characters that XML does not allow')
    return text


@function("fn:parse-xml(xs:string?) as document-node()?")
def parse_xml(call: CallContext, text: str | None) -> DocumentNode | None:
    if text is None:
        return None
    document = read_xml(text, "the text of parse-xml()")
    document._base_uri = call.static.base_uri
    return document


@function("fn:parse-xml-fragment(xs:string?) as document-node()?")
def parse_xml_fragment(call: CallContext, text: str | None) -> Node | None:
    if text is None:
        return None
    declaration = _TEXT_DECLARATION.match(text)
    content = text[declaration.end() :] if declaration else text
    if content.lstrip().startswith("<!DOCTYPE") or _VERSION_ONLY.match(content):
        raise error("FODC0006", "a fragment has no document type and no XML declaration")
    wrapper = read_xml(f"<fragment>{content}</fragment>", "the text of parse-xml-fragment()")
    builder = TreeBuilder()
    builder.start_document(base_uri=call.static.base_uri)
    assert wrapper.document_element is not None
    for child in wrapper.document_element.children:
        copy_into(builder, child)
    builder.end()
    return builder.result()
