"""Interval and version projection of trees: new trees with the parts that are valid in an interval.

A projection applies to trees of the temporal view, or to anything else with `vtFrom` and `vtTo`
attributes; their holes are filled already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from xcql.history.lifespan import FROM, TO, lifespan, own_lifespan
from xcql.history.predicates import Interval, overlap
from xcql.model.time import format_begin, format_time
from xcql.xdm.builder import TreeBuilder, copy, copy_into
from xcql.xdm.nodes import AttributeNode, DocumentNode, ElementNode, Node, TextNode


def project_interval(item: Any, interval: Interval, now: datetime) -> Any | None:
    """The part of an item that is valid in the interval, as a new tree; None if nothing is.

    An attribute or a text is valid as long as its element; other items pass through.
    """
    if isinstance(item, DocumentNode):
        builder = _document(item)
        _project_below(builder, item.children, interval, now)
        return _ended(builder, item)
    if isinstance(item, (AttributeNode, TextNode)):
        return copy(item) if overlap(lifespan(item, now), interval) is not None else None
    if not isinstance(item, ElementNode):
        return item
    builder = TreeBuilder()
    if not _start(builder, item, interval, now, _namespaces(item)):
        return None
    _project_below(builder, item.children, interval, now)
    builder.end()
    return builder.result()


def project_version(item: Any, now: datetime) -> Any:
    """An item with its content projected to its own lifespan, as a new tree."""
    if isinstance(item, (AttributeNode, TextNode)):
        return copy(item)
    if not isinstance(item, (ElementNode, DocumentNode)):
        return item
    span = lifespan(item, now)
    if isinstance(item, DocumentNode):
        builder = _document(item)
    else:
        builder = TreeBuilder()
        builder.start_element(item.name, _namespaces(item), item.base_uri)
        for attribute in item.attributes:
            builder.attribute(attribute.name, attribute.value, attribute.declared_type)
    _project_below(builder, item.children, span, now)
    if isinstance(item, DocumentNode):
        return _ended(builder, item)
    builder.end()
    return builder.result()


def _document(item: DocumentNode) -> TreeBuilder:
    builder = TreeBuilder()
    builder.start_document(base_uri=item.base_uri)
    return builder


def _ended(builder: TreeBuilder, item: DocumentNode) -> DocumentNode:
    """The new document; it is a temporal view if the original is."""
    builder.end()
    document = builder.document()
    document.is_view = item.is_view
    return document


def _namespaces(top: ElementNode) -> dict[str, str]:
    """The declarations of the root of a new tree: everything that was in scope."""
    return {prefix: uri for prefix, uri in top.namespaces().items() if prefix != "xml"}


def _project_below(
    builder: TreeBuilder, children: Iterable[Node], interval: Interval, now: datetime
) -> None:
    """Add the children that are valid in the interval, recursively."""
    pending = [iter(children)]
    while pending:
        for child in pending[-1]:
            if not isinstance(child, ElementNode):
                copy_into(builder, child)
            elif _start(builder, child, interval, now, child.declarations):
                pending.append(iter(child.children))
                break
        else:
            pending.pop()
            if pending:
                builder.end()


def _start(
    builder: TreeBuilder,
    element: ElementNode,
    interval: Interval,
    now: datetime,
    declarations: Mapping[str, str],
) -> bool:
    """Open an element, its lifespan clipped; False if it is not valid in the interval.

    An element without a lifespan of its own stays, even if its content is dropped.
    """
    own = own_lifespan(element, now)
    clipped = None
    if own is not None:
        clipped = overlap(own, interval)
        if clipped is None:
            return False
    builder.start_element(element.name, declarations)
    for attribute in element.attributes:
        value = attribute.value
        if clipped is not None and not attribute.name.uri:
            if attribute.name.local == FROM:
                value = format_begin(clipped.begin)
            elif attribute.name.local == TO:
                value = format_time(clipped.end)
        builder.attribute(attribute.name, value, attribute.declared_type)
    return True
