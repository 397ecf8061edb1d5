"""The results of a step from an item: in a stream, in a constructed element, from a text."""

from __future__ import annotations

from dataclasses import replace

from xcql.algebra.operators import Select, SortKey, Unit, graft
from xcql.algebra.scalars import Constant, Scalar, call
from xcql.compile.library.access import constructed_lifespan
from xcql.compile.library.node_tests import attribute_test, is_any_node, is_text_test
from xcql.compile.library.serialisation import constructed_string, may_be_null
from xcql.compile.library.stream_steps import stream_axis
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    AnyNode,
    Atomic,
    AttributeItem,
    Dynamic,
    Element,
    Function,
    Inner,
    Markup,
    StreamDocument,
    StreamElement,
    TextItem,
    Tree,
    Turns,
    turns_of,
)
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf, constructed_items, leaves
from xcql.source import Span
from xcql.syntax.node import Name, SyntaxNode
from xcql.syntax.path import NameTest, Wildcard
from xcql.syntax.types import AttributeTest, ElementTest


def axis_from(leaf: Leaf, axis: str, test: SyntaxNode, scope: Scope, span: Span) -> list[Leaf]:
    """The nodes on an axis that pass a test."""
    match leaf.item:
        case StreamDocument() | StreamElement() | Inner() | AnyNode():
            return stream_axis(leaf, axis, test, scope, span)
        case Element():
            return constructed_axis(leaf, axis, test, scope, span)
        case (
            AttributeItem(owner=StreamElement() | Inner() | AnyNode() as owner)
            | TextItem(owner=StreamElement() | Inner() as owner)
        ):
            return _from_leaf_node(leaf, owner, axis, test, scope, span)
        case Atomic():
            raise NotNative("a path from an atomic value", span)
        case Dynamic(reason=reason):
            raise NotNative(reason, span)
        case Function():
            raise NotNative("a path from a function", span)
    if axis in ("child", "descendant", "attribute"):
        return []
    raise NotNative(f"the axis {axis} from here", span)


def _from_leaf_node(
    leaf: Leaf,
    owner: StreamElement | Inner | AnyNode,
    axis: str,
    test: SyntaxNode,
    scope: Scope,
    span: Span,
) -> list[Leaf]:
    """Steps from an attribute or text."""
    if axis in ("child", "descendant"):
        return []
    if axis == "attribute":
        return []
    if axis in ("following-sibling", "preceding-sibling") and isinstance(leaf.item, AttributeItem):
        return []
    itself: list[Leaf] = []
    if axis.endswith("self"):
        fits = is_any_node(test) or (is_text_test(test) and isinstance(leaf.item, TextItem))
        if isinstance(leaf.item, AttributeItem) and isinstance(test, AttributeTest):
            raise NotNative("a test of an attribute", span)
        itself = [leaf] if fits else []
    if axis in ("self", "descendant-or-self"):
        return itself
    above = Leaf(leaf.plan, owner)
    if axis == "parent":
        return stream_axis(above, "self", test, scope, span)
    if axis in ("ancestor", "ancestor-or-self"):
        return itself + stream_axis(above, "ancestor-or-self", test, scope, span)
    raise NotNative(f"the axis {axis} from a text or attribute", span)


def constructed_axis(
    leaf: Leaf, axis: str, test: SyntaxNode, scope: Scope, span: Span
) -> list[Leaf]:
    element = leaf.item
    assert isinstance(element, Element)
    match axis:
        case "self":
            if isinstance(test, Wildcard) and (test.prefix or test.uri is not None):
                raise NotNative("elements by their namespace", span)
            return [leaf] if _passes(element, test, scope) else []
        case "attribute":
            if isinstance(test, Wildcard) and (test.prefix or test.uri is not None):
                raise NotNative("attributes by their namespace", span)
            names = attribute_test(test, scope)
            inside = [one.item for value in element.content for one in leaves(value)]
            for item in inside:
                if isinstance(item, Dynamic):
                    # it may be an attribute
                    raise NotNative(item.reason, span)
            return [
                Leaf(_there(leaf, attribute.scalar), replace(attribute, owner=element))
                for attribute in element.attributes
                if names is None or attribute.name in names
            ]
        case "child" | "descendant" | "descendant-or-self":
            if element.namespaces:
                # what is inside inherits them
                raise NotNative("a path into an element with namespaces", span)
            if any(isinstance(item, Markup) for item in constructed_items(element)):
                raise NotNative("a path beside constructed comments or instructions", span)
            return _below(leaf, element, axis, test, scope, span)
    raise NotNative(f"the axis {axis} from a constructed element", span)


def _there(leaf: Leaf, scalar: Scalar):  # type: ignore[no-untyped-def]
    if not may_be_null(scalar):
        return leaf.plan
    return Select(leaf.plan, call("is_not_null", scalar))


def _passes(element: Element, test: SyntaxNode, scope: Scope) -> bool:
    if element.is_document:
        return is_any_node(test)
    match test:
        case NameTest(name=name) | ElementTest(name=Name() as name):
            uri, local = scope.names.element_name(name)
            return element.name == (f"Q{{{uri}}}{local}" if uri else local)
        case Wildcard(prefix=None, uri=None, local=None) | ElementTest(name=None):
            return True
        case Wildcard(local=str() as local):
            return element.name.rpartition("}")[2] == local
    return is_any_node(test)


def _below(
    leaf: Leaf, element: Element, axis: str, test: SyntaxNode, scope: Scope, span: Span
) -> list[Leaf]:
    found: list[Leaf] = (
        [leaf] if axis == "descendant-or-self" and _passes(element, test, scope) else []
    )
    if is_text_test(test) or is_any_node(test):
        return found + _texts(leaf, element, axis, test, scope, span)
    inner_axis = "self" if axis == "child" else "descendant-or-self"
    inherited = constructed_lifespan(element) or element.ancestor_lifespan
    around = element.tree or Tree(0, tops=False, each=None)
    for index, value in enumerate(element.content):
        for one in leaves(value):
            item = one.item
            # each node of the content is copied
            part = Turns((Constant(index),), (SortKey(Constant(index), "number"),))
            tree = around.below(part.then(turns_of(one.plan)))
            if isinstance(item, StreamDocument | AnyNode):
                raise NotNative("a path into a copy of a stream", span)
            if isinstance(item, StreamElement):
                item = replace(
                    item, is_copy=True, above=None, ancestor_lifespan=inherited, tree=tree
                )
            if isinstance(item, Inner):
                copied = replace(item.owner, is_copy=True, above=None, tree=tree)
                item = replace(item, owner=copied, above=None, inner_path=None)
            if isinstance(item, Element):
                item = replace(item, ancestor_lifespan=inherited, tree=tree)
            if isinstance(item, Dynamic):
                raise NotNative(item.reason, span)
            if isinstance(item, StreamElement | Inner | Element):
                for below in axis_from(Leaf(Unit(), item), inner_axis, test, scope, span):
                    found.append(Leaf(graft(graft(below.plan, one.plan), leaf.plan), below.item))
    return found


def _texts(
    leaf: Leaf, element: Element, axis: str, test: SyntaxNode, scope: Scope, span: Span
) -> list[Leaf]:
    if axis != "child" or is_any_node(test):
        raise NotNative("all nodes of a constructed element", span)
    atoms = [
        all(isinstance(one.item, Atomic | TextItem) for one in leaves(value))
        for value in element.content
    ]
    if all(atoms):
        if not element.content:
            return []
        text = constructed_string(element, scope)
        return [Leaf(Select(leaf.plan, call("<>", text, Constant(""))), TextItem(text, element))]
    if not any(
        any(isinstance(one.item, Atomic | TextItem | Dynamic) for one in leaves(value))
        for value in element.content
    ):
        return []
    raise NotNative("the text of mixed constructed content", span)
