"""The evaluator's input in a worker, parsed from text: views of streams, rows of DataFrames."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from xcql.history.lifespan import FROM, TO
from xcql.shred.assembly import Copy, Scope, assembled, lifespan_text
from xcql.shred.namespaces import declared_in
from xcql.xdm.names import QName
from xcql.xdm.nodes import DocumentNode, ElementNode, descendants
from xcql.xdm.parse import parse_xml
from xcql_runtime.evaluator.items import unwrapped

_MARKS = "urn:xcql:marks"
_FILLER = "filler"


def parse_view(copies: Iterable[Copy], prefix: str) -> DocumentNode:
    """The temporal view assembled from the copies, which come in the order of their keys.

    A filler's element is marked with attributes whose prefix cannot occur in the data. Its lifespan
    is placed as in the reference evaluator: after the other attributes, replacing any lifespan in
    the data. The element does not inherit namespaces of the enclosing fillers.
    """
    start = f'<view xmlns:{prefix}="{_MARKS}">'.encode()
    text = b"".join((start, *assembled(copies, partial(_marked, prefix)), b"</view>"))
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


def _marked(prefix: str, copy: Copy, tag: bytes, scope: Scope) -> tuple[bytes, Scope]:
    """The start tag of a filler's element with marks before its attributes."""
    name, space, attributes = tag.partition(b" ")
    marks = f'{copy.namespaces} {prefix}:{_FILLER}=""'
    if copy.timed:
        marks += lifespan_text(copy, f"{prefix}:")
    # its own namespaces only: it does not inherit those of the enclosing fillers
    return name + marks.encode() + space + attributes, declared_in(copy.namespaces)


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
