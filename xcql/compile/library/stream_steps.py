"""Steps from nodes of streams, axis by axis, through the fields, arrays and holes of their rows."""

from __future__ import annotations

from contextlib import suppress

from xcql.algebra.operators import Select, Unit, columns, graft
from xcql.algebra.scalars import call
from xcql.compile.library.access import end_key, node_key
from xcql.compile.library.any_axes import general_axis
from xcql.compile.library.document_order import key_of, root_of
from xcql.compile.library.inner import of_tags
from xcql.compile.library.node_lookup import has_general_form
from xcql.compile.library.node_tests import is_any_node
from xcql.compile.library.stream_children import attributes, children
from xcql.compile.library.stream_descendants import descendants
from xcql.compile.library.stream_parents import parents, up_to_owner
from xcql.compile.library.stream_xml import are_declared_alike, has_form
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    AnyNode,
    Inner,
    Item,
    StreamDocument,
    StreamElement,
    TextItem,
)
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Each, Leaf, Single, apart, leaves
from xcql.source import Span
from xcql.syntax.node import SyntaxNode

# so many kinds of nodes are read from columns, each for itself
MOST_KINDS = 4


def stream_axis(leaf: Leaf, axis: str, test: SyntaxNode, scope: Scope, span: Span) -> list[Leaf]:
    """The nodes on an axis from a node of a stream that pass a test.

    They are read from the columns of their tags if these are known and few, else from the table of
    nodes.
    """
    if isinstance(leaf.item, AnyNode):
        return general_axis(leaf, axis, test, scope, span)
    if not has_general_form(leaf.item, scope):
        return _by_columns(leaf, axis, test, scope, span)
    try:
        found = _by_columns(leaf, axis, test, scope, span)
    except NotNative:
        return general_axis(leaf, axis, test, scope, span)
    if _are_better_in_general(found, leaf.item.stream, scope):  # type: ignore[attr-defined]
        with suppress(NotNative):
            return general_axis(leaf, axis, test, scope, span)
    return found


def _are_better_in_general(found: list[Leaf], stream: str, scope: Scope) -> bool:
    """Whether nodes are better read from the table of nodes: there are many kinds, or XML to parse.

    If namespaces differ between fillers, not all engines can write elements of any name.
    """
    if not are_declared_alike(stream, scope) and not has_form("namespaces_at", scope):
        return False
    return len(found) > MOST_KINDS or any(_is_parsed(one.item) for one in found)


def _is_parsed(item: Item) -> bool:
    """Whether the XML of mixed content is parsed to find a node; texts on a path are a column."""
    match item:
        case Inner(inner_path=path):
            return path is None or path.child_path is None
        case TextItem(owner=Inner()):
            return True
        case TextItem(owner=StreamElement() as owner, place=place):
            return place is not None and owner.shape.opaque
    return False


def _by_columns(leaf: Leaf, axis: str, test: SyntaxNode, scope: Scope, span: Span) -> list[Leaf]:
    """The nodes on an axis, each kind from its own columns."""
    match axis:
        case "self":
            return _self(leaf, test, scope, span)
        case "child":
            return children(leaf, test, scope, span)
        case "descendant":
            return descendants(leaf, test, scope, span)
        case "descendant-or-self":
            return _self(leaf, test, scope, span) + descendants(leaf, test, scope, span)
        case "attribute":
            return attributes(leaf, test, scope, span)
        case "parent":
            above = parents(leaf, scope, span)
            return [found for one in above for found in _self(one, test, scope, span)]
        case "ancestor":
            return _ancestors(leaf, test, scope, span)
        case "ancestor-or-self":
            return _self(leaf, test, scope, span) + _ancestors(leaf, test, scope, span)
        case "following-sibling" | "preceding-sibling":
            return _siblings(leaf, axis, test, scope, span)
        case "following" | "preceding":
            return _beyond(leaf, axis, test, scope, span)
    raise NotNative(f"the axis {axis}", span)


def _self(leaf: Leaf, test: SyntaxNode, scope: Scope, span: Span) -> list[Leaf]:
    node = leaf.item
    if is_any_node(test):
        return [leaf]
    passes = scope.names.element_test(test)
    if isinstance(node, StreamDocument) or passes is None:
        return []
    assert isinstance(node, StreamElement | Inner)
    graph = scope.compilation.graphs[node.stream]
    fitting = [tag for tag in node.tags if passes(graph.tag(tag))]
    if isinstance(node, Inner):
        return of_tags(leaf, fitting, scope, span)
    if len(fitting) == len(node.tags):
        return [leaf]
    if not fitting:
        return []
    raise NotNative("a test that only some of these tags pass", span)


def _ancestors(leaf: Leaf, test: SyntaxNode, scope: Scope, span: Span) -> list[Leaf]:
    found: list[Leaf] = []
    if isinstance(leaf.item, Inner):
        passes = scope.names.element_test(test)
        *inside, owner = up_to_owner(leaf, leaf.item, passes, scope, span)
        for above in (*inside, owner):
            found += _self(above, test, scope, span)
        return found + _ancestors(owner, test, scope, span)
    assert isinstance(leaf.item, StreamElement | StreamDocument)
    depths = scope.compilation.catalog.streams[leaf.item.stream].depths.values()
    # no node has more ancestor fillers than this
    lowest = max((depth for several in depths for depth in several), default=0)
    pending = [(leaf, 0)]
    while pending:
        here, rises = pending.pop(0)
        node = here.item
        if isinstance(node, StreamElement) and node.is_filler and node.above is None:
            rises += 1
        if rises > lowest and _recurs(node, scope):
            continue
        for above in parents(here, scope, span):
            found += _self(above, test, scope, span)
            pending.append((above, rises))
    return found


def _recurs(node: Item, scope: Scope) -> bool:
    """Whether an element can be nested in another one of its tag."""
    return isinstance(node, StreamElement) and scope.compilation.graphs[node.stream].nest(node.tags)


def _siblings(leaf: Leaf, axis: str, test: SyntaxNode, scope: Scope, span: Span) -> list[Leaf]:
    node = leaf.item
    if isinstance(node, StreamDocument):
        return []
    here = node_key(node, scope)
    assert here is not None
    found: list[Leaf] = []
    for above in parents(leaf, scope, span):
        for one in children(above, test, scope, span):
            key = node_key(one.item, scope)
            if key is None:
                raise NotNative("the document order of these nodes is not known", span)
            sign = ">" if axis == "following-sibling" else "<"
            found.append(Leaf(Select(one.plan, call(sign, key, here)), one.item))
    return found


def _beyond(leaf: Leaf, axis: str, test: SyntaxNode, scope: Scope, span: Span) -> list[Leaf]:
    """Elements that start after an element has ended, or end before it starts."""
    node = leaf.item
    if isinstance(node, StreamDocument):
        return []
    assert isinstance(node, StreamElement | Inner)
    root = root_of(node, span)
    if not isinstance(root, StreamDocument):
        raise NotNative(f"the axis {axis} in a projected element", span)
    found: list[Leaf] = []
    taken = columns(leaf.plan) | scope.taken
    for kind in descendants(Leaf(Unit(), root), test, scope, span):
        (other,) = leaves(apart(Each(kind.plan, Single(kind.item)), taken))
        if not isinstance(other.item, StreamElement | Inner):
            raise NotNative("the document order of these nodes is not known", span)
        first, last = (other.item, node) if axis == "preceding" else (node, other.item)
        apart_ = call("<=", end_key(first, scope), key_of(last, scope, span))
        found.append(Leaf(Select(graft(other.plan, leaf.plan), apart_), other.item))
    return found
