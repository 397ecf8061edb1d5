"""The lifespan of a node: section 4 of the language, for trees of the data model."""

from __future__ import annotations

from datetime import datetime

from xcql.history.predicates import Interval
from xcql.model.time import START, parse_time
from xcql.xdm.nodes import DocumentNode, ElementNode, Node

FROM = "vtFrom"
TO = "vtTo"


def own_lifespan(element: ElementNode, now: datetime) -> Interval | None:
    """The lifespan from an element's attributes `vtFrom` and `vtTo`, or None."""
    begin, end = element.attribute_value(FROM), element.attribute_value(TO)
    if begin is None or end is None:
        return None
    return Interval(parse_time(begin, now), parse_time(end, now))


def lifespan(node: Node, now: datetime) -> Interval:
    """The lifespan of a node.

    An element or document has its own lifespan, or else the one that covers its child elements.
    Any other node has the one of the nearest ancestor element with its own. If there is none, the
    lifespan is from `start` to `now`.

    >>> from xcql.xdm.parse import parse_xml
    >>> document = parse_xml('<a><b vtFrom="2003-01-01" vtTo="2004-01-01"/></a>')
    >>> lifespan(document, datetime(2010, 1, 1)).end.year
    2004
    """
    if not isinstance(node, (ElementNode, DocumentNode)):
        return _lifespan_above(node, now)
    always = Interval(START, now)
    begin: datetime | None = None
    end: datetime | None = None
    pending: list[ElementNode | DocumentNode] = [node]
    while pending:
        here = pending.pop()
        found = own_lifespan(here, now) if isinstance(here, ElementNode) else None
        if found is None:
            below = [child for child in here.children if isinstance(child, ElementNode)]
            if below:
                pending += below
                continue
            found = always
        begin = found.begin if begin is None else min(begin, found.begin)
        end = found.end if end is None else max(end, found.end)
    assert begin is not None
    assert end is not None
    return Interval(begin, end)


def _lifespan_above(node: Node, now: datetime) -> Interval:
    for above in node.ancestors():
        own = own_lifespan(above, now) if isinstance(above, ElementNode) else None
        if own is not None:
            return own
    return Interval(START, now)
