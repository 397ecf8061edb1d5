"""The position of nodes in their trees."""

from __future__ import annotations

from xcql.algebra.operators import Unit
from xcql.algebra.scalars import Constant, Scalar, call, disjunction
from xcql.compile.functions.sequences import argument_or_context
from xcql.compile.library.access import element_text, inner_xml
from xcql.compile.library.axes import axis_from
from xcql.compile.library.document_order import in_document_order, is_sorted, root_of
from xcql.compile.result import NotNative
from xcql.compile.terms import items
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.values import (
    EMPTY,
    Leaf,
    Single,
    Value,
    at_most_one,
    boolean,
    each,
    exists,
    guarded,
    leaves,
    single_scalar,
)
from xcql.syntax.path import Wildcard

native = NativeFunctions()


@native("root", 0, 1)
def _root(site: CallSite) -> Value:
    value = argument_or_context(site)
    if value == EMPTY:
        return EMPTY
    if not at_most_one(value):
        raise NotNative("the root of nodes that may be several", site.span)
    roots = {root_of(leaf.item, site.span) for leaf in leaves(value)}
    if len(roots) != 1:
        raise NotNative("the roots of several trees", site.span)
    (root,) = roots
    if isinstance(root, items.StreamDocument):
        return guarded(exists(value), Single(root))
    return value


@native("has-children", 0, 1)
def _has_children(site: CallSite) -> Value:
    value = argument_or_context(site)
    if not at_most_one(value):
        raise NotNative("children of nodes that may be several", site.span)

    def read(item: items.Item) -> Scalar:
        match item:
            case items.AttributeItem() | items.TextItem():
                return Constant(False)
            case items.StreamElement(shape=shape):
                if shape.commented:
                    raise NotNative("children that may be comments", site.span)
                if shape.has_text and (shape.is_leaf or shape.opaque):
                    return _has_content(item, site)
                below = axis_from(
                    Leaf(Unit(), item), "child", Wildcard(span=site.span), site.scope, site.span
                )
                return disjunction(*(exists(each(one.plan, Single(one.item))) for one in below))
        raise NotNative("the children of such an item", site.span)

    found = single_scalar(value, read)
    return boolean(call("is_true", found))


def _has_content(node: items.StreamElement, site: CallSite) -> Scalar:
    """Whether an element with text has any content; mixed content may be elements only."""
    if not node.shape.is_leaf:
        graph = site.compilation.graphs[node.stream]
        if graph.fragmented_children(*node.tags) or node.shape.strays:
            raise NotNative("children in mixed content", site.span)
        some = "boolean(/*/* | /*/comment() | /*/processing-instruction()) or string-length(/*) > 0"
        return call("xpath_boolean", inner_xml(node, site.scope), Constant(some))
    return call("<>", element_text(node, site.scope), Constant(""))


@native("innermost", 1)
@native("outermost", 1)
def _nesting(site: CallSite) -> Value:
    """If none of the nodes can contain another, all of them."""
    (value,) = site.arguments
    if value == EMPTY:
        return EMPTY
    tags: dict[str, set[str]] = {}
    for leaf in leaves(value):
        if not isinstance(leaf.item, items.StreamElement | items.Inner):
            raise NotNative("nodes of such kinds inside each other", site.span)
        tags.setdefault(leaf.item.stream, set()).update(leaf.item.tags)
    if any(site.compilation.graphs[stream].nest(several) for stream, several in tags.items()):
        raise NotNative("nodes that contain each other", site.span)
    return value if is_sorted(value) else in_document_order(value, site.scope, site.span)
