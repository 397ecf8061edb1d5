"""What a worker is given to evaluate over: views of streams, and rows of DataFrames, from text."""

from __future__ import annotations

from collections.abc import Iterable

from xcql.model.lifespan import FROM, TO
from xcql.xdm.names import QName
from xcql.xdm.nodes import DocumentNode, ElementNode, descendants
from xcql.xdm.parse import parse_xml
from xcql_runtime.items import unwrapped

_LIFESPANS = "urn:xcql:lifespan"


def parse_view(pieces: Iterable[str], prefix: str) -> DocumentNode:
    """The temporal view that pieces of text make, one after the other.

    The lifespan of a filler's element is written with a prefix that no data can know, and comes
    to stand where the reference evaluator has it: after the other attributes, in place of any
    lifespan that came with the data.
    """
    text = "".join((f'<view xmlns:{prefix}="{_LIFESPANS}">', *pieces, "</view>"))
    document = unwrapped(parse_xml(text, "<view>"))
    for node in descendants(document):
        if isinstance(node, ElementNode) and node.attributes:
            first = node.attributes[0].name
            if first.uri == _LIFESPANS and first.prefix == prefix:
                _move_lifespan(node)
    return document


def parse_rows(pieces: Iterable[str]) -> list[ElementNode]:
    """The elements that pieces of text make, each a tree of its own."""
    rows = []
    for child in unwrapped(parse_xml("".join(("<rows>", *pieces, "</rows>")))).children:
        assert isinstance(child, ElementNode)
        child.parent = None
        rows.append(child)
    return rows


def _move_lifespan(element: ElementNode) -> None:
    lifespan, others = element.attributes[:2], element.attributes[2:]
    orders = [attribute.order for attribute in element.attributes]
    for attribute in lifespan:
        attribute.name = QName("", attribute.name.local)
    kept = [one for one in others if one.name.uri or one.name.local not in (FROM, TO)]
    element.attributes = [*kept, *lifespan]
    for attribute, order in zip(element.attributes, orders, strict=False):
        attribute.order = order
