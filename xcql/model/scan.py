"""Finds fragments in bytes without parsing their content.

The functions are pure and work on any part of a file, so that many workers can share one file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.parsers import expat

from xcql.model.fragments import Namespaces, Rejected
from xcql.model.tags import STREAM_NAMESPACE
from xcql.xdm.parse import NAME_SEPARATOR, in_context

# If a comment or CDATA section contains what looks like a fragment and has not ended after this
# many bytes, its end is missing; and no fragment nests this many elements of its own name. (Without
# such limits, a file of many fragments without an end would take forever.)
LOOKAHEAD = 1 << 16
MAX_NESTING = 64

# in scope without a declaration
UNDECLARED: Namespaces = (("stream", STREAM_NAMESPACE),)

_NAMES = rb"(?:stream:)?(?:filler|repeat|replace|remove|eos)"
FRAGMENT_START = re.compile(rb"<" + _NAMES + rb"(?=[\s/>])")
# finds quickly where `_MARKUP` may match, because it is tried at every `<` of a file
_CANDIDATE = re.compile(rb"<[!?]|</?(?:stream:|filler|re(?:peat|place|move)|eos)")
_MARKUP = re.compile(rb"<(?:(!--|!\[CDATA\[|\?)|(/?)(" + _NAMES + rb")(?=[\s/>]))")
_CLOSING = {b"!--": b"--", b"![CDATA[": b"]]>", b"?": b"?>"}
# a whole start tag; a quoted value may contain a `>`
START_TAG = re.compile(rb"""<([^\s<>/!?][^\s<>/]*+)(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+>""")
# allowed around a filler's element and between fragments, without meaning
_MEANINGLESS = rb"(?:\s++|<!--(?:(?!--).)*+-->|<\?(?:(?!\?>).)*+\?>)*+"
MEANINGLESS = re.compile(_MEANINGLESS, re.DOTALL)
_XML_DECLARATION = re.compile(rb"\s*<\?xml\s[^>]*\?>")
_DOCTYPE = re.compile(
    rb"""<!DOCTYPE(?:[^\[\]<>"']++|"[^"]*+"|'[^']*+')*+"""
    rb"""(?:\[(?:[^\]<"']++|<!--(?:(?!--).)*+-->|<\?(?:(?!\?>).)*+\?>"""
    rb"""|<!(?!--)(?:[^<>"']++|"[^"]*+"|'[^']*+')*+>|"[^"]*+"|'[^']*+')*+\]\s*+)?>""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Slice:
    """The position of a fragment, from its first byte up to but not including `end`.

    If `closed` is false, its end is missing, and `end` is where the next fragment begins.
    """

    start: int
    end: int
    closed: bool


@dataclass(frozen=True, slots=True)
class FileHead:
    """What the beginning of a fragment file declares.

    `begin` is where fragments may begin, `namespaces` are those declared on the root, and
    `root_end` is the expected end tag, empty for a sequence without a root.
    """

    begin: int
    namespaces: Namespaces
    root_end: bytes = b""
    rejected: tuple[Rejected, ...] = ()


def file_head(data: bytes, file: str, skipped: int = 0) -> FileHead:
    """Read what precedes the first fragment: XML declaration, DTD (refused), root start tag."""
    rejected: list[Rejected] = []
    position = _past_meaningless(data, 0)
    if data.startswith(b"<!DOCTYPE", position):
        doctype = _DOCTYPE.match(data, position)
        following = FRAGMENT_START.search(data, position)
        end = doctype.end() if doctype else following.start() if following else len(data)
        reason = "a DTD is not read: its declarations, such as entities, have no effect"
        rejected.append(
            Rejected(file, skipped + position, "not a fragment", reason, data[position:end])
        )
        position = _past_meaningless(data, end)
    root = START_TAG.match(data, position)
    if root is None or FRAGMENT_START.match(data, position):
        return FileHead(position, UNDECLARED, b"", tuple(rejected))
    root_end = b"" if root[0].endswith(b"/>") else b"</" + root[1] + b">"
    declared: dict[str, str] = {}

    def declare(prefix: str | None, uri: str | None) -> None:
        declared[prefix or ""] = uri or ""

    parser = expat.ParserCreate("utf-8", NAME_SEPARATOR, {})
    parser.StartNamespaceDeclHandler = declare
    lead, trail = in_context(dict(UNDECLARED))
    try:
        parser.Parse(lead + root[0] + root_end + trail, True)
    except expat.ExpatError as problem:
        reason = f"the root's start tag is not well-formed: {expat.ErrorString(problem.code)}"
        rejected.append(Rejected(file, skipped + position, "malformed", reason, root[0]))
    namespaces = tuple(sorted((dict(UNDECLARED) | declared).items()))
    return FileHead(root.end(), namespaces, root_end, tuple(rejected))


def without_prolog(document: bytes) -> bytes:
    """A document without its XML declaration and its document type declaration.

    >>> without_prolog(b"<?xml version='1.0'?><!DOCTYPE a SYSTEM 'a.dtd'><!-- x --><a/>")
    b'<!-- x --><a/>'
    """
    declaration = _XML_DECLARATION.match(document)
    document = document[declaration.end() :] if declaration else document
    position = _past_meaningless(document, 0)
    doctype = _DOCTYPE.match(document, position)
    return document[:position] + document[doctype.end() :] if doctype else document


def is_file_end(rest: bytes, head: FileHead) -> bool:
    """Whether the rest of a file is only the end of its root."""
    root_end = re.escape(head.root_end[:-1]) + rb"\s*+>" if head.root_end else b""
    return re.fullmatch(_MEANINGLESS + root_end + _MEANINGLESS, rest, re.DOTALL) is not None


def scan(data: bytes, begin: int = 0, end: int | None = None) -> Iterator[Slice]:
    """The positions of the fragments that begin between `begin` and `end`; the last may end later.

    Comments, CDATA sections and processing instructions are skipped, along with anything in them
    that looks like a fragment. Fragments may contain elements of their own names.

    >>> data = b'<f><filler id="1"><a/></filler><!--<filler>--><eos/></f>'
    >>> [(found.start, found.end) for found in scan(data)]
    [(3, 31), (46, 52)]
    """
    stop = len(data) if end is None else end
    position = begin
    while (start := _next_start(data, position)) is not None:
        for found in _slices_from(data, start):
            if found.start >= stop:
                return
            yield found
            position = found.end


def _next_markup(data: bytes, position: int) -> re.Match[bytes] | None:
    while (candidate := _CANDIDATE.search(data, position)) is not None:
        markup = _MARKUP.match(data, candidate.start())
        if markup is not None:
            return markup
        position = candidate.end()
    return None


def _next_start(data: bytes, position: int) -> re.Match[bytes] | None:
    """The next start tag of a fragment outside comments and similar markup."""
    while (markup := _next_markup(data, position)) is not None:
        if not markup[1] and not markup[2]:
            return markup
        position = _end_of(data, markup) if markup[1] else markup.end()
    return None


def _slices_from(data: bytes, start: re.Match[bytes]) -> Iterator[Slice]:
    """The fragment that begins here; if it has no end, also those after it, up to the end."""
    # offset of every start tag; offset of its end, if found; and the open ones
    starts: list[int] = []
    ends: list[int | None] = []
    open: list[tuple[int, bytes]] = []
    markup: re.Match[bytes] | None = start
    while markup is not None:
        position = markup.end()
        if markup[1]:
            position = _end_of(data, markup)
        elif not markup[2]:
            tag = START_TAG.match(data, markup.start())
            is_empty = tag is not None and tag[0].endswith(b"/>")
            starts.append(markup.start())
            ends.append(tag.end() if tag and is_empty else None)
            if not is_empty:
                open.append((len(starts) - 1, markup[3]))
                del open[:-MAX_NESTING]
        elif any(name == markup[3] for _, name in open):
            closing = data.find(b">", position)
            if closing >= 0:
                while open[-1][1] != markup[3]:
                    open.pop()
                ends[open.pop()[0]] = closing + 1
        if not open:
            break
        markup = _next_markup(data, position)
    position = starts[0]
    for index, begin in enumerate(starts):
        if begin >= position:
            end = ends[index]
            following = starts[index + 1] if index + 1 < len(starts) else len(data)
            yield Slice(begin, following if end is None else end, end is not None)
            position = following if end is None else end


def _past_meaningless(data: bytes, position: int) -> int:
    match = MEANINGLESS.match(data, position)
    return match.end() if match else position


def _end_of(data: bytes, markup: re.Match[bytes]) -> int:
    """The end of the comment, CDATA section or instruction; just after its start if it has none."""
    begin, closing = markup.end(), _CLOSING[markup[1]]
    near = begin + LOOKAHEAD
    found = data.find(closing, begin, near)
    if found < 0 and near < len(data) and not FRAGMENT_START.search(data, begin, near):
        found = data.find(closing, near - len(closing))
    if found < 0:
        return begin
    if closing == b"--":
        # `--` is not allowed in a comment: if this is not its end, the comment has none
        return found + 3 if data[found + 2 : found + 3] == b">" else begin
    return found + len(closing)
