"""Cuts a file of fragments into self-contained texts.

A fragment in a file depends on its surroundings: on the namespaces that the root declares. It can
also contain line ends. A fragment that is sent has neither.

>>> file = b'<f xmlns:p="urn:p"><filler id="1" tsid="2"\\n><p:a>x\\ny</p:a></filler></f>'
>>> [one_line(found) for found in cut(file, "f.xml")]
[b'<filler xmlns:p="urn:p" id="1" tsid="2" ><p:a>x&#10;y</p:a></filler>']
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from xcql.diagnostics import Diagnostic, XcqlError
from xcql.model.check import fragment_checker
from xcql.model.fragments import EndOfStream, Namespaces, Rejected
from xcql.model.read import fragments_in
from xcql.model.scan import FRAGMENT_START, MEANINGLESS, START_TAG, UNDECLARED, Slice, file_head
from xcql.model.tags import parse_tags
from xcql.xdm.parse import utf8_bytes
from xcql.xdm.serialize import escape_attribute

_NAME = re.compile(rb"<[^\s/>]+")
_END_OF_STREAM = re.compile(rb"<(?:stream:)?eos[\s/>]")
_VALUES = re.compile(rb"""\"[^\"]*\"|'[^']*'""")
_OWN_NAMESPACE = re.compile(rb"\sxmlns(?::([^\s=]+))?\s*=")

_LINE_END = re.compile(rb"\r\n?|\n")
_TOKEN = re.compile(
    rb"""(?P<comment><!--.*?-->|<\?.*?\?>)|(?P<cdata><!\[CDATA\[.*?\]\]>)"""
    rb"""|(?P<tag><(?:[^<>"']++|"[^"]*+"|'[^']*+')*+>)|(?P<text>[^<]++|<)""",
    re.DOTALL,
)
_HOLE = re.compile(rb"<(?:stream:)?hole[\s>]")

# no tags are needed to check whether a fragment is well-formed and ends a stream
_NO_TAGS = parse_tags('<structure><tag type="snapshot" id="1" name="x"/></structure>')


def cut(data: str | bytes, file: str) -> Iterator[bytes | Diagnostic]:
    """The fragments of a file in their order, each with the namespaces that it needs.

    Anything that is not a fragment is returned unchanged: the receiver reports what is wrong with
    it. A `Diagnostic` is a warning. Nothing follows an `<eos/>`.
    """
    try:
        data = utf8_bytes(data, file)
    except XcqlError:
        yield data if isinstance(data, bytes) else data.encode("utf-8", "replace")
        return
    found: list[bytes] = []
    check = fragment_checker(_NO_TAGS)

    def keep(
        data: bytes, where: Slice, namespaces: Namespaces, file: str, skipped: int
    ) -> Rejected | EndOfStream | None:
        """Record the fragment; check its content only if its borders may be wrong."""
        raw = data[where.start : where.end]
        if (
            not where.closed
            or _END_OF_STREAM.match(raw)
            or FRAGMENT_START.search(data, where.start + 1, where.end)
        ):
            record = check(data, where, namespaces, file, skipped)
            if isinstance(record, Rejected) and record.kind == "malformed":
                return record
            found.append(_by_itself(raw, namespaces))
            return record if isinstance(record, EndOfStream) else None
        found.append(_by_itself(raw, namespaces))
        return None

    head = file_head(data, file)
    for refused in head.rejected:
        yield refused.raw
    for record in fragments_in(data, head, keep, file):
        yield from found
        found.clear()
        if isinstance(record, Rejected):
            if record.raw.strip():
                yield record.raw
        elif isinstance(record, Diagnostic):
            yield record
    yield from found


def as_text(fragment: bytes) -> str:
    """A fragment as text; if it is not UTF-8, the text is one that every parser rejects.

    >>> as_text(b"<a>\\xff</a>")
    '<a>\\uffff</a>'
    """
    try:
        return fragment.decode("utf-8")
    except UnicodeDecodeError:
        return fragment.decode("utf-8", "replace").replace("\ufffd", "\uffff")


def one_line(fragment: bytes) -> bytes:
    """The same fragment without a line feed; its meaning is unchanged.

    A line end in text becomes a character reference, which interrupts a CDATA section;
    one in a tag, or around the element, becomes a space. Comments, instructions and holes cannot
    have references: there it becomes a carriage return, which XML reads as a line feed.
    """
    if b"\n" not in fragment and b"\r" not in fragment:
        return fragment
    parts: list[bytes] = []
    level, is_hole = 0, False
    for token in _TOKEN.finditer(fragment):
        text = token[0]
        match token.lastgroup:
            case "tag":
                opens = not text.startswith(b"</") and not text.endswith(b"/>")
                level += opens - text.startswith(b"</")
                is_hole = opens and _HOLE.match(text) is not None
                text = _LINE_END.sub(b" ", text)
            case "cdata":
                text = _LINE_END.sub(b"]]>&#10;<![CDATA[", text)
            case "comment":
                text = _LINE_END.sub(b"\r", text)
            case _:
                # around a filler's element, and in a hole, a reference would be content
                is_blank = (level < 2 or is_hole) and MEANINGLESS.fullmatch(text)
                instead = b"&#10;" if not is_blank else b"\r" if is_hole else b" "
                text = _LINE_END.sub(instead, text)
        parts.append(text)
    return b"".join(parts)


def _by_itself(raw: bytes, namespaces: Namespaces) -> bytes:
    """The fragment with the namespace declarations that it gets from the root."""
    if namespaces == UNDECLARED:
        return raw
    name, start = _NAME.match(raw), START_TAG.match(raw)
    assert name is not None
    own = set()
    if start is not None:
        own = {
            (prefix or b"").decode("utf-8", "replace")
            for prefix in _OWN_NAMESPACE.findall(_VALUES.sub(b'""', start[0]))
        }
    needed = "".join(
        f' xmlns{":" if prefix else ""}{prefix}="{escape_attribute(uri)}"'
        for prefix, uri in namespaces
        if prefix not in own and prefix != "xml" and (prefix, uri) not in UNDECLARED
    )
    return name[0] + needed.encode() + raw[name.end() :]
