"""Steps to the children of nodes of streams: elements, texts and attributes."""

from __future__ import annotations

from collections.abc import Iterable

from xcql.algebra.operators import Select, Unit
from xcql.algebra.scalars import Constant, call
from xcql.analysis.types import DOCUMENT
from xcql.compile.library.access import attribute_names, attribute_of, element_text, is_fragmented
from xcql.compile.library.inner import (
    attributes_inside,
    elements_inside,
    inline_below,
    texts_inside,
)
from xcql.compile.library.node_tests import attribute_test, is_any_node, is_text_test
from xcql.compile.library.stream_rows import follow, inline, root_filler
from xcql.compile.result import NotNative
from xcql.compile.terms.items import AttributeItem, Inner, StreamDocument, StreamElement, TextItem
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf
from xcql.model.tags import Tag
from xcql.source import Span
from xcql.syntax.node import SyntaxNode
from xcql.syntax.path import Wildcard


def child_elements(node: StreamElement | StreamDocument, scope: Scope) -> list[Leaf]:
    """The child elements of a node, whatever their names."""
    span = scope.compilation.module.span
    return children(Leaf(Unit(), node), Wildcard(span=span), scope, span)


def children(leaf: Leaf, test: SyntaxNode, scope: Scope, span: Span) -> list[Leaf]:
    node = leaf.item
    assert isinstance(node, StreamElement | StreamDocument | Inner)
    passes = scope.names.element_test(test)
    if passes is None and not is_text_test(test):
        return _markup(node, span)
    found: list[Leaf] = []
    if is_text_test(test) or is_any_node(test):
        found += _texts(leaf, node, test, scope, span)
    if passes is not None:
        ids = tuple(dict.fromkeys(tag.id for tag in _child_tags(node, scope) if passes(tag)))
        if isinstance(node, Inner) or (isinstance(node, StreamElement) and node.shape.opaque):
            found += _mixed_children(leaf, node, ids, test, scope, span)
        else:
            found += _with_tags(leaf, node, ids, scope, span)
    return found


def _markup(node: StreamElement | StreamDocument | Inner, span: Span) -> list[Leaf]:
    """Comments and processing instructions; native only if there are none."""
    if isinstance(node, Inner) or (
        isinstance(node, StreamElement) and (node.shape.commented or node.shape.opaque)
    ):
        raise NotNative("comments or processing instructions", span)
    return []


def _child_tags(node: StreamElement | StreamDocument | Inner, scope: Scope) -> Iterable[Tag]:
    graph = scope.compilation.graphs[node.stream]
    if isinstance(node, StreamDocument):
        return graph.children(DOCUMENT)
    return [tag for id in node.tags for tag in graph.children(id)]


def _mixed_children(
    leaf: Leaf,
    node: StreamElement | Inner,
    ids: tuple[str, ...],
    test: SyntaxNode,
    scope: Scope,
    span: Span,
) -> list[Leaf]:
    """The children with some tags of an element with mixed content."""
    graph = scope.compilation.graphs[node.stream]
    inside = [id for id in ids if not graph.is_fragmented(id)]
    fillers = tuple(id for id in ids if graph.is_fragmented(id))
    found = elements_inside(leaf, inside, True, test, scope, span)
    if not fillers:
        return found
    below = inline_below(graph, node.tags)
    if isinstance(node, Inner) or graph.fragmented_children(*below) & set(fillers):
        # it is not known whether the hole is in the element itself or in one inside it
        raise NotNative("a step through holes in mixed content", span)
    return found + follow(leaf, fillers, scope, span)


def _with_tags(
    leaf: Leaf, node: StreamElement | StreamDocument, ids: tuple[str, ...], scope: Scope, span: Span
) -> list[Leaf]:
    """The children with some tags."""
    graph = scope.compilation.graphs[node.stream]
    if isinstance(node, StreamDocument):
        return [one for id in ids for one in root_filler(leaf, node, id, scope, span)]
    found: list[Leaf] = []
    inside = [id for id in ids if not graph.is_fragmented(id)]
    for shape in node.shape.children:
        tags = tuple(tag for tag in shape.tags if tag in inside)
        if tags:
            if len(tags) < len(shape.tags):
                raise NotNative("a step that only some of these tags have", span)
            found.append(inline(leaf.plan, node, shape, scope, span))
    fillers = tuple(id for id in ids if graph.is_fragmented(id))
    if graph.fragmented_children(*inline_below(graph, node.tags)) & set(fillers):
        # elements of one tag have them as children, those of another one further down
        raise NotNative("a step through holes that are not all in the element itself", span)
    return found + follow(leaf, fillers, scope, span)


def attributes(leaf: Leaf, test: SyntaxNode, scope: Scope, span: Span) -> list[Leaf]:
    node = leaf.item
    if isinstance(node, StreamDocument):
        return []
    names = attribute_test(test, scope)
    if isinstance(node, Inner):
        return attributes_inside(leaf, names, scope, span)
    assert isinstance(node, StreamElement)
    found = []
    known = attribute_names(node, scope)
    wanted = [name for name in known if names is None or name in names]
    if len([name for name in wanted if name not in ("vtFrom", "vtTo")]) > 1:
        # columns do not say in which order an element has its attributes
        raise NotNative("all attributes, in the order of the data", span)
    for name in wanted:
        scalar = attribute_of(node, name, scope)
        if scalar is not None:
            plan = leaf.plan
            if not (name in ("vtFrom", "vtTo") and is_fragmented(node, scope)):
                plan = Select(plan, call("is_not_null", scalar))
            found.append(Leaf(plan, AttributeItem(name, scalar, node)))
    return found


def _texts(
    leaf: Leaf,
    node: StreamElement | StreamDocument | Inner,
    test: SyntaxNode,
    scope: Scope,
    span: Span,
) -> list[Leaf]:
    """The text nodes that are children of an element."""
    if isinstance(node, StreamDocument):
        return []
    if is_any_node(test) and (isinstance(node, Inner) or not node.shape.is_leaf):
        raise NotNative("all nodes below an element with elements", span)
    if isinstance(node, Inner):
        return texts_inside(leaf, scope, span)
    if not node.shape.has_text:
        if node.shape.commented or _may_have_space(node, scope):
            raise NotNative("white space between elements as text", span)
        return []
    if node.shape.opaque and not node.shape.is_leaf:
        if is_any_node(test):
            raise NotNative("all nodes of mixed content", span)
        return texts_inside(leaf, scope, span)
    if node.shape.commented:
        raise NotNative("text with comments in it", span)
    text = element_text(node, scope)
    return [Leaf(Select(leaf.plan, call("<>", text, Constant(""))), TextItem(text, node))]


def _may_have_space(node: StreamElement, scope: Scope) -> bool:
    slots = scope.compilation.catalog.streams[node.stream].slots
    for tag in node.table:
        slot = slots.get(tag)
        for column in node.path[1:]:
            below = slot.children if slot else ()
            slot = next((one for one in below if one.column == column), None)
        if slot is not None and (slot.spaced or slot.commented):
            return True
    return False
