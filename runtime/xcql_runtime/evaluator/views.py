"""The evaluator's input in a worker, parsed from text: views of streams, rows of DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from xcql.history.lifespan import FROM, TO
from xcql.history.places import STEP
from xcql.history.predicates import known_end
from xcql.model.time import START, format_begin, format_end
from xcql.xdm.names import QName
from xcql.xdm.nodes import DocumentNode, ElementNode, descendants
from xcql.xdm.parse import parse_xml
from xcql_runtime.evaluator.items import unwrapped

_MARKS = "urn:xcql:marks"
_FILLER = "filler"


@dataclass(slots=True)
class Copy:
    """A copy of a filler in the view: its place (see `xcql.history.places`) and its bytes.

    `key` ends with the number of the version. `holes` are the byte spans of the holes, in order;
    `declarations` are the namespaces in scope of the element, as text. `timed` is False for a
    filler without its own lifespan.
    """

    key: bytes
    raw: bytes
    holes: list[tuple[int, int]]
    declarations: str
    timed: bool
    vt_from: datetime | None
    vt_to: datetime | None
    written: int = 0  # how many of the bytes are already in the text


def parse_view(copies: Iterable[Copy], now: datetime, prefix: str) -> DocumentNode:
    """The temporal view assembled from the copies, which come in the order of their keys.

    A filler's element is marked with attributes whose prefix cannot occur in the data. Its lifespan
    is placed as in the reference evaluator: after the other attributes, replacing any lifespan in
    the data. The element does not inherit namespaces of the enclosing fillers.
    """
    start = f'<view xmlns:{prefix}="{_MARKS}">'.encode()
    text = b"".join((start, *_assembled(copies, now, prefix), b"</view>"))
    document = unwrapped(parse_xml(text, "<view>"))
    for node in descendants(document):
        if isinstance(node, ElementNode) and node.attributes:
            first = node.attributes[0].name
            if first.uri == _MARKS and first.prefix == prefix:
                _take_marks(node)
    return document


def parse_rows(copies: Iterable[Copy]) -> list[ElementNode]:
    """Parse elements whose text comes as copies without holes; each becomes a tree of its own."""
    text = b"".join((b"<rows>", *(copy.raw for copy in copies), b"</rows>"))
    rows = []
    for child in unwrapped(parse_xml(text, "<rows>")).children:
        assert isinstance(child, ElementNode)
        child.parent = None
        rows.append(child)
    return rows


def _assembled(copies: Iterable[Copy], now: datetime, prefix: str) -> Iterator[bytes]:
    """The text of the view: the fillers of a hole go between the text before and after it."""
    around: list[Copy] = []  # the copies that are not completely written, outermost first
    for copy in copies:
        while around and not copy.key.startswith(around[-1].key):
            yield from _up_to(around.pop(), None)
        if around:
            parent = around[-1]
            hole = int.from_bytes(copy.key[len(parent.key) : len(parent.key) + STEP // 2], "big")
            yield from _up_to(parent, hole)
        copy.written = _end_of_name(copy.raw)
        yield copy.raw[: copy.written]
        yield f'{copy.declarations} {prefix}:{_FILLER}=""'.encode()
        if copy.timed:
            begin = format_begin(copy.vt_from or START)
            end = format_end(known_end(copy.vt_to, now))
            yield f' {prefix}:{FROM}="{begin}" {prefix}:{TO}="{end}"'.encode()
        around.append(copy)
    while around:
        yield from _up_to(around.pop(), None)


def _up_to(copy: Copy, position: int | None) -> Iterator[bytes]:
    """The unwritten text of a copy before the hole at a position, or to its end."""
    for start, length in copy.holes:
        if start >= copy.written:
            yield copy.raw[copy.written : start]
            copy.written = start + length
        if start == position:
            return
    yield copy.raw[copy.written :]
    copy.written = len(copy.raw)


def _end_of_name(raw: bytes) -> int:
    """The byte offset at which the name in an element's start tag ends."""
    end = 1
    while raw[end] not in b" \t\r\n/>":
        end += 1
    return end


def _take_marks(element: ElementNode) -> None:
    """Remove the marks from a filler's element, and apply them."""
    marks = [one for one in element.attributes if one.name.uri == _MARKS]
    others = element.attributes[len(marks) :]
    orders = [attribute.order for attribute in element.attributes]
    lifespan = marks[1:]
    for attribute in lifespan:
        attribute.name = QName("", attribute.name.local)
    if lifespan:
        others = [one for one in others if one.name.uri or one.name.local not in (FROM, TO)]
    element.attributes = [*others, *lifespan]
    for attribute, order in zip(element.attributes, orders, strict=False):
        attribute.order = order
    if isinstance(element.parent, ElementNode):
        around = element.parent.namespaces()
        if len(around) > 1:  # `xml` is always in scope
            unseen = around.keys() - element.declarations.keys() - {"xml"}
            element.declarations = {**element.declarations, **dict.fromkeys(sorted(unseen), "")}
