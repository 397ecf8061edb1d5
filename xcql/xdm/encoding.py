"""From the bytes of an XML document to its text."""

from __future__ import annotations

import codecs
import re

from xcql.diagnostics import error
from xcql.source import Source, Span

# longest first: the marks of UTF-32 begin like those of UTF-16
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(rb"""<\?xml\s[^>]*?\bencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']""")


def decode_xml(data: bytes, source_name: str) -> str:
    """Decode an XML document: by its byte order mark, else its declaration, else as UTF-8.

    >>> decode_xml('<?xml version="1.0" encoding="latin1"?><a>é</a>'.encode("latin1"), "a.xml")[-5:]
    'é</a>'
    """
    encoding, mark = encoding_of(data)
    try:
        return data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as problem:
        raise error(
            "FODC0006",
            f"'{source_name}' is not {encoding} text: byte {problem.start + len(mark)} is"
            f" {data[problem.start + len(mark)]:#04x}",
            Span(Source("", source_name), 0, 0),
            hints=["declare the encoding: <?xml version='1.0' encoding='…'?>"],
        ) from None


def encoding_of(data: bytes) -> tuple[str, bytes]:
    """Python's name of the encoding, and the byte order mark, if there is one."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding, mark
    if data.startswith(b"<\0"):
        return "utf-16-le", b""
    if data.startswith(b"\0<"):
        return "utf-16-be", b""
    declared = _DECLARED.match(data)
    if declared is None:
        return "utf-8", b""
    try:
        codec = codecs.lookup(declared[1].decode("ascii"))
        # a codec such as `rot13` or `hex` is not a character encoding, and UTF-16 would
        # be visible in the bytes of the declaration
        if "<".encode(codec.name) == b"<":
            return codec.name, b""
    except (LookupError, UnicodeError, TypeError, ValueError):
        pass
    return "utf-8", b""
