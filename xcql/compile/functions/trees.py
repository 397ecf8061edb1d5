"""The position of nodes in their trees."""

from __future__ import annotations

from xcql.algebra.operators import Unit
from xcql.algebra.scalars import FALSE, Constant, Scalar, call, disjunction
from xcql.compile.functions.sequences import argument_or_context
from xcql.compile.library.access import element_text
from xcql.compile.library.axes import axis_from
from xcql.compile.library.document_order import root_of
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
from xcql.syntax.types import AnyKindTest

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
            case items.AttributeItem() | items.TextItem() | items.Markup():
                return FALSE
            case items.StreamElement(shape=shape) if shape.is_leaf and not shape.commented:
                return call("<>", element_text(item, site.scope), Constant(""))
        below = axis_from(
            Leaf(Unit(), item), "child", AnyKindTest(span=site.span), site.scope, site.span
        )
        return disjunction(*(exists(each(one.plan, Single(one.item))) for one in below))

    found = single_scalar(value, read)
    return boolean(call("is_true", found))
