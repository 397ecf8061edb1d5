"""Reading from a node's own row or attributes: its key, bytes, attributes, lifespan."""

from __future__ import annotations

from collections.abc import Collection

from xcql.algebra.scalars import (
    NOW,
    NULL,
    TRUE,
    Call,
    Constant,
    Scalar,
    call,
    case,
    conjunction,
    field,
)
from xcql.compile.node_paths import NodePath
from xcql.compile.result import NotNative
from xcql.compile.terms import items
from xcql.compile.terms.scope import Scope
from xcql.model.time import START as START_OF_TIME
from xcql.shred.shape import walk
from xcql.source import Span

START = Constant(START_OF_TIME)

Lifespan = tuple[Scalar, Scalar]
ALWAYS: Lifespan = (NULL, NULL)


def has_holes(
    node: items.StreamElement | items.StreamDocument | items.Inner | items.AnyNode, scope: Scope
) -> bool:
    """Whether there can be fillers below the node."""
    graph = scope.compilation.graphs[node.stream]
    if isinstance(node, items.StreamDocument):
        return True
    return bool(graph.fragmented_below(*node.tags))


def is_written_whole(node: items.StreamElement | items.Inner, scope: Scope) -> bool:
    """Whether the bytes of an element are the same as in its view: they contain no hole."""
    element = node.owner if isinstance(node, items.Inner) else node
    return not has_holes(node, scope) and not element.shape.strays


def is_fragmented(node: items.StreamElement, scope: Scope) -> bool:
    graph = scope.compilation.graphs[node.stream]
    return node.is_filler and all(graph.is_fragmented(tag) for tag in node.tags)


def span_of(
    node: items.StreamElement | items.Inner | items.AnyNode, scope: Scope
) -> tuple[Scalar, Scalar]:
    """The position of the element in the filler's bytes: start and length."""
    if isinstance(node, items.AnyNode):
        return node.start, node.length
    if isinstance(node, items.Inner):
        start, _ = span_of(node.owner, scope)
        return call("+", start, node.start), call("octet_length", node.text)
    if node.is_filler:
        return Constant(0), call("bytes_length", node.column("raw"))
    scope.compilation.demand(node, "_start")
    scope.compilation.demand(node, "_length")
    return field(node.struct, "_start"), field(node.struct, "_length")


def node_key(item: items.Item, scope: Scope) -> Scalar | None:
    """A key that identifies a node and sorts in document order; None if there is none."""
    match item:
        case items.StreamDocument():
            return Constant(b"")
        case items.StreamElement(is_filler=True):
            return item.column("key")
        case items.StreamElement():
            scope.compilation.demand(item, "_start")
            return call("node_key", item.column("key"), field(item.struct, "_start"))
        case items.Inner():
            return call("node_key", item.owner.column("key"), span_of(item, scope)[0])
        case items.AnyNode(filler=filler):
            key = filler.column("key")
            return _top_or_inside(item, key, call("node_key", key, item.start))
        case items.AttributeItem(name=name, owner=items.AnyNode() as any_node):
            above = node_key(any_node, scope)
            assert above is not None
            return call("key_below", above, Constant(f"\0\0\0\0{name}"))
        case items.TextItem(
            owner=items.StreamElement() | items.Inner() as owner, place=Scalar() as place
        ):
            row = owner.owner if isinstance(owner, items.Inner) else owner
            start = call("+", span_of(owner, scope)[0], place)
            return call("node_key", row.column("key"), start)
        case items.AttributeItem(name=name, owner=items.Inner() as inner):
            above = node_key(inner, scope)
            assert above is not None
            return call("key_below", above, Constant(f"\0\0\0\0{name}"))
        case items.AttributeItem(name=name, owner=items.StreamElement() as owner):
            above = node_key(owner, scope)
            assert above is not None

            number = attribute_names(owner, scope).index(name)
            # after the element, but before everything at a byte offset inside it
            return call("key_below", above, Constant(f"\0\0\0\0{number:04}"))
        case items.TextItem(owner=items.StreamElement() as owner):
            above = node_key(owner, scope)
            assert above is not None
            return call("key_below", above, Constant("\0text"))
    return None


def _top_or_inside(node: items.AnyNode, top: Scalar, inside: Scalar) -> Scalar:
    """One of two scalars: for a filler's own element, or for a node inside it."""
    tops = {path.is_top for path in node.paths}
    if len(tops) == 1:
        return top if tops == {True} else inside
    return case((call("=", node.start, Constant(0)), top), otherwise=inside)


def end_key(node: items.StreamElement | items.Inner | items.AnyNode, scope: Scope) -> Scalar:
    """A key greater than those of all nodes in an element, but not than those that follow."""
    if isinstance(node, items.AnyNode):
        key = node.filler.column("key")
        end = call("node_key", key, call("+", node.start, node.length))
        return _top_or_inside(node, call("key_after", key), end)
    if isinstance(node, items.StreamElement) and node.is_filler:
        # no offset in a filler starts with this byte
        return call("key_after", node.column("key"))
    start, length = span_of(node, scope)
    row = node.owner if isinstance(node, items.Inner) else node
    return call("node_key", row.column("key"), call("+", start, length))


# text


def element_text(node: items.StreamElement, scope: Scope) -> Scalar:
    """The string value of an element that has it in a column."""
    scope.compilation.demand(node, "_text")
    return field(node.struct, "_text")


def attribute_of(node: items.StreamElement, name: str, scope: Scope) -> Scalar | None:
    """The value of an attribute, NULL for elements without it; None if no element has it."""
    if name in ("vtFrom", "vtTo") and is_fragmented(node, scope):
        begin, end = own_lifespan(node, scope)
        if name == "vtFrom":
            return call("coalesce", call("time_text", begin), Constant("start"))
        return call("coalesce", call("time_text", end), Constant("now"))
    column = node.shape.attributes.get(name)
    if column is None:
        return None
    scope.compilation.demand(node, column)
    return field(node.struct, column)


def attribute_names(node: items.StreamElement, scope: Scope) -> list[str]:
    """The attributes that elements at this place may have."""
    names = [name for name in node.shape.attributes if name not in ("vtFrom", "vtTo")]
    graph = scope.compilation.graphs[node.stream]
    if node.is_filler and any(graph.is_fragmented(tag) for tag in node.tags):
        return [*names, "vtFrom", "vtTo"]
    return list(node.shape.attributes)


def inner_xml(node: items.StreamElement | items.Inner, scope: Scope) -> Scalar:
    """The bytes of an element as text, unchanged."""
    if isinstance(node, items.Inner):
        if not is_written_whole(node, scope):
            raise NotNative("the text of elements with holes inside mixed content")
        return node.text
    if node.is_filler:
        return call("text_of_bytes", node.column("raw"))
    start, length = span_of(node, scope)
    return call("text_of_span", node.column("raw"), start, length)


def uses_namespaces(node: items.StreamElement | items.Inner, scope: Scope) -> bool:
    """Whether any name in the stream is in a namespace."""
    tags = scope.compilation.catalog.streams[node.stream]
    if any(tag.name.uri for tag in tags.tags):
        return True
    return any(
        attribute.name.startswith("Q{")
        for slot in tags.slots.values()
        for one in walk(slot)
        for attribute in one.attributes
    )


# lifespans: start and end, NULL for `start` and `now`


def own_lifespan(node: items.StreamElement, scope: Scope) -> Lifespan:
    """The lifespan of a filler's element, clipped to its projection."""
    if node.lifespan is not None:
        return node.lifespan
    begin, end = node.column("vtFrom"), node.column("vtTo")
    return (begin, end) if node.window is None else clipped((begin, end), node.window)


def clipped(lifespan: Lifespan, window: items.ProjectionWindow) -> Lifespan:
    begin, end = lifespan
    clipped_begin = call("greatest", call("coalesce", begin, START), window.begin)
    return (
        call("nullif", clipped_begin, START),
        call("least", call("coalesce", end, NOW), window.end),
    )


def timed_element(
    paths: Collection[NodePath], start: Scalar, filler: items.StreamElement, scope: Scope
) -> Scalar | None:
    """Whether a node on some paths is an element with a lifespan; None if it never is.

    These are the own elements of fillers, except the root's if that is no temporal one.
    """
    graph = scope.compilation.graphs[filler.stream]
    tops = {path.table for path in paths if path.is_top}
    timed = sorted(table for table in tops if graph.is_fragmented(table))
    if not timed:
        return None
    is_top: Scalar = TRUE
    if not all(path.is_top for path in paths):
        is_top = call("=", start, Constant(0))
    if len(timed) == len(tops):
        return is_top
    is_one = Call("one_of", (filler.column("tag"), *map(Constant, timed)))
    return conjunction(is_top, is_one)


def check_lifespans(stream: str, scope: Scope, span: Span | None = None) -> None:
    """Refuse temporal operations on a stream in which not only fillers have lifespans."""
    if scope.compilation.catalog.streams[stream].has_lifespans_inside:
        raise NotNative("lifespans in the data, on elements inside fillers", span)


def constructed_lifespan(element: items.Element) -> Lifespan | None:
    """The lifespan that a constructed element's attributes give it."""
    own = {attribute.name: attribute.scalar for attribute in element.attributes}
    if "vtFrom" not in own or "vtTo" not in own:
        return None
    return (
        call("lifespan_bound", own["vtFrom"], Constant("start")),
        call("lifespan_bound", own["vtTo"], Constant("now")),
    )


def meets_window(node: items.StreamElement, window: items.ProjectionWindow, scope: Scope) -> Scalar:
    """Whether the lifespan of a filler's element overlaps an interval."""
    begin, end = own_lifespan(node, scope)
    return call("overlaps", begin, end, window.begin, window.end)
