"""Steps from nodes of streams to their parents, and keys that identify a parent."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from xcql.algebra.operators import Plan, Rise, Select, Unit
from xcql.algebra.scalars import NULL, Call, Column, Constant, Nested, Scalar, call
from xcql.analysis.types import DOCUMENT
from xcql.compile.library.access import span_of
from xcql.compile.library.any_axes import general_axis
from xcql.compile.library.document_order import key_of
from xcql.compile.library.inner import inline_below, inner_ancestors, parent_start
from xcql.compile.library.node_lookup import generalised, paths_of
from xcql.compile.library.stream_rows import filler, inline, new_row
from xcql.compile.result import NotNative
from xcql.compile.terms.items import AnyNode, Inner, StreamDocument, StreamElement
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf
from xcql.model.tags import Tag
from xcql.shred.shape import walk
from xcql.source import Span
from xcql.syntax.path import Wildcard


def parents(leaf: Leaf, scope: Scope, span: Span) -> list[Leaf]:
    """The parent of a node, once for each kind of node that it can be."""
    node = leaf.item
    if isinstance(node, StreamDocument):
        return []
    if isinstance(node, Inner):
        return _parents_of_inner(leaf, node, scope, span)
    assert isinstance(node, StreamElement)
    _check_no_copy(node, span)
    if node.is_top:
        return []
    if node.above is not None:
        return [Leaf(leaf.plan, node.above)]
    assert node.is_filler
    return _rise(leaf, node, scope, span)


def _check_no_copy(node: StreamElement, span: Span) -> None:
    if node.is_copy:
        raise NotNative("upwards from a copy in a constructed element", span)


def _parents_of_inner(leaf: Leaf, node: Inner, scope: Scope, span: Span) -> list[Leaf]:
    _check_no_copy(node.owner, span)
    if node.above is not None:
        return [Leaf(leaf.plan, node.above)]
    found = inner_ancestors(leaf, _tags_above(node, scope), True, scope, span)
    plan = Select(leaf.plan, call("=", parent_start(node), Constant(0)))
    return [*found, Leaf(plan, node.owner)]


def up_to_owner(
    leaf: Leaf, node: Inner, passes: Callable[[Tag], bool] | None, scope: Scope, span: Span
) -> list[Leaf]:
    """The ancestors of an inner element that pass a test, and last its owner."""
    _check_no_copy(node.owner, span)
    graph = scope.compilation.graphs[node.stream]
    tags = [id for id in _tags_above(node, scope) if passes is None or passes(graph.tag(id))]
    return [*inner_ancestors(leaf, tags, False, scope, span), Leaf(leaf.plan, node.owner)]


def _tags_above(node: Inner, scope: Scope) -> list[str]:
    """The tags that the ancestors of an inner element can have, below its owner."""
    graph = scope.compilation.graphs[node.stream]
    inside = inline_below(graph, node.owner.tags)
    return [id for id in inside if graph.below(id) & set(node.tags)]


def _rise(leaf: Leaf, node: StreamElement, scope: Scope, span: Span) -> list[Leaf]:
    """The element that contains the hole of a filler."""
    graph = scope.compilation.graphs[node.stream]
    if node.window is not None and (node.tree is None or node.tree.tops):
        # it is not known where the projected node is
        raise NotNative("upwards in a projection", span)
    if len(node.tags) != 1:
        if paths_of(node.stream, scope) is not None:
            raise NotNative("upwards from several tags", span)
        return [
            one
            for tag in node.tags
            for one in _rise(
                Leaf(Select(leaf.plan, call("=", node.column("tag"), Constant(tag))), node),
                replace(node, tags=(tag,)),
                scope,
                span,
            )
        ]
    stream = scope.compilation.catalog.streams[node.stream]
    if not stream.placed and graph.nest(graph.above(node.tags) & graph.fragmented):
        raise NotNative("nested fillers of unknown depth", span)
    found: list[Leaf] = []
    for parent in sorted(graph.parents(node.tags[0])):
        if parent == DOCUMENT:
            found.append(Leaf(leaf.plan, StreamDocument(node.stream, node.window, node.tree)))
            continue
        path = [parent]
        while not graph.is_fragmented(path[0]) and path[0] != graph.structure.root.id:
            above = sorted(graph.parents(path[0]))
            if len(above) != 1:
                raise NotNative("upwards along several paths", span)
            path.insert(0, above[0])
        found += _rise_to(leaf, node, path, scope, span)
    return found


def _rise_to(
    leaf: Leaf, node: StreamElement, path: list[str], scope: Scope, span: Span
) -> list[Leaf]:
    """The element with a filler's hole; the tags on the path lead from its own filler to it."""
    top = (path[0],)
    shape = scope.compilation.shape(node.stream, top)
    if shape is None:
        return []
    row = new_row(node.stream, top, shape, scope)
    plan: Plan = Rise(leaf.plan, node.stream, node.row, top, row, span=span)
    here = filler(plan, node, row, top, shape, scope, is_child=False)
    for id in path[1:]:
        above = here.item
        assert isinstance(above, StreamElement)
        if above.shape.opaque:
            raise NotNative("upwards from holes in mixed content", span)
        child = above.shape.child(id)
        if child is None:
            return []
        here = inline(here.plan, above, child, scope, span)
        if child.repeats:
            start, length = span_of(here.item, scope)  # type: ignore[arg-type]
            offset = Column(f"{node.row}.offset")
            inside = Call(
                "and", (call(">=", offset, start), call("<", offset, call("+", start, length)))
            )
            here = replace(here, plan=Select(here.plan, inside))
    return [here]


def with_parent_key(leaf: Leaf, scope: Scope, span: Span) -> tuple[Leaf, Scalar]:
    """The leaf, and a scalar that identifies the parent of its element."""
    node = leaf.item
    if isinstance(node, Inner):
        # the byte offset of the parent in the filler
        place = call("+", span_of(node.owner, scope)[0], parent_start(node))
        return leaf, call("node_key", node.owner.column("key"), place)
    if isinstance(node, AnyNode):
        return leaf, _parent_of_any(node, scope, span)
    assert isinstance(node, StreamElement)
    if node.above is not None:
        return leaf, key_of(node.above, scope, span)
    if node.is_filler and row_has_parent(node, scope):
        if len(node.tags) == 1:
            return leaf, node.column("parent")
        # one row may hold the parents of several tags
        return leaf, call("struct", node.column("parent"), node.column("tag"))
    with suppress(NotNative):
        above = parents(leaf, scope, span)
        if len(above) == 1:
            return Leaf(above[0].plan, node), key_of(above[0].item, scope, span)
    general = generalised(leaf, scope, span)
    assert isinstance(general.item, AnyNode)
    return Leaf(general.plan, node), _parent_of_any(general.item, scope, span)


def _parent_of_any(node: AnyNode, scope: Scope, span: Span) -> Scalar:
    if not any(path.is_top for path in node.paths):
        return call("node_key", node.filler.column("key"), node.parent)
    # the root's parent, the document, is NULL
    here, test = Leaf(Unit(), node), Wildcard(span=span)
    found = [
        Nested(one.plan, "first", key_of(one.item, scope, span))
        for one in general_axis(here, "parent", test, scope, span)
    ]
    return Call("coalesce", (*found, NULL))


def row_has_parent(node: StreamElement, scope: Scope) -> bool:
    """Whether the row with a filler's hole also determines the element with the hole."""
    graph = scope.compilation.graphs[node.stream]
    fillers = graph.fragmented | {graph.structure.root.id}
    for tag in node.tags:
        above = graph.parents(tag)
        if not above <= fillers and (
            len(above) > 1 or not _is_alone(node.stream, *above, scope=scope)
        ):
            return False
    return True


def _is_alone(stream: str, tag: str, *, scope: Scope) -> bool:
    """Whether no filler has two elements of a tag."""
    graph = scope.compilation.graphs[stream]
    slots = scope.compilation.catalog.streams[stream].slots
    if graph.is_fragmented(tag) or tag == graph.structure.root.id:
        return True
    above = graph.parents(tag)
    if len(above) != 1:
        return False
    repeats = [one.repeats for slot in slots.values() for one in walk(slot) if one.tag == tag]
    # nothing is known about elements in mixed content
    return bool(repeats) and not any(repeats) and _is_alone(stream, *above, scope=scope)
