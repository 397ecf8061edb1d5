"""Paths: each step leads from some items to others.

In a row of the store, a step is a field, an array, or the holes of a filler; in a constructed
element, it selects among the element's parts.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Mapping
from dataclasses import replace

from xcql.algebra.operators import Number, Order, SortKey, identity
from xcql.algebra.scalars import Column, Constant, Scalar
from xcql.compile.library.axes import axis_from
from xcql.compile.library.document_order import (
    alike,
    in_document_order,
    is_own_tree,
    is_sorted,
    key_of,
    may_nest,
    merged_in_document_order,
    origin,
    root_of,
)
from xcql.compile.library.inner import without_inner_path
from xcql.compile.library.positions import is_never_positional, mentions_position
from xcql.compile.library.stream_descendants import from_document
from xcql.compile.library.stream_parents import with_parent_key
from xcql.compile.library.trees import are_several
from xcql.compile.result import NotNative
from xcql.compile.syntax.descendant_steps import ChildrenBelow, TextsBelow, joined_steps
from xcql.compile.syntax.nearest_steps import nearest
from xcql.compile.syntax.predicates import filtered
from xcql.compile.terms import items
from xcql.compile.terms.scope import CompileExpression, Scope, native, value_of
from xcql.compile.terms.values import (
    Concat,
    Leaf,
    Merged,
    Single,
    Value,
    at_most_one,
    each,
    exists,
    guarded,
    is_single,
    leaves,
)
from xcql.syntax.construct import ComputedElement, DirectElement
from xcql.syntax.control import If
from xcql.syntax.flwor import Flwor
from xcql.syntax.literals import ContextItem, Sequence
from xcql.syntax.node import Expr
from xcql.syntax.path import AxisStep, NameTest, Path


def _path(path: Path, scope: Scope) -> Value:
    steps = joined_steps(path.steps)
    if path.absolute:
        value = _root(path, scope)
    else:
        value = value_of(steps[0], scope)
        steps = steps[1:]
    for step in steps:
        value = after_step(value, step, scope)
    return value


def _root(path: Path, scope: Scope) -> Value:
    """The document that contains the context item."""
    context = native(ContextItem(span=path.span), scope)
    roots = {root_of(leaf.item, path.span) for leaf in leaves(context)}
    if len(roots) != 1 or not isinstance(root := roots.pop(), items.StreamDocument):
        raise NotNative("the root of the context item's tree is not known", path.span)
    return Single(root) if isinstance(context, Single) else guarded(exists(context), Single(root))


def _lone_step(step: AxisStep, scope: Scope) -> Value:
    return after_step(native(ContextItem(span=step.span), scope), step, scope)


def after_step(base: Value, step: Expr, scope: Scope) -> Value:
    """The value of a path after one more step."""
    if isinstance(step, TextsBelow):
        return _texts_below(base, step, scope)
    if not isinstance(step, AxisStep | ChildrenBelow):
        return _mapped(base, step, scope)
    begin = leaves(base)
    are_trees = any(map(is_own_tree, begin)) and is_sorted(base) and not at_most_one(base)
    if are_trees and may_nest(base, scope):
        return _from_each_tree(base, step, scope)
    orderly = at_most_one(base) or is_sorted(base)
    mixes = not orderly or _may_mix(begin, step, scope)
    if mixes or len(begin) > 1:
        # the nodes must be distinguishable
        begin = [replace(leaf, item=without_inner_path(leaf.item)) for leaf in begin]
    found: list[Leaf] = []
    for leaf in begin:
        if isinstance(step, ChildrenBelow):
            found += _children_below(leaf, step.step, scope)
        else:
            found += _step_from(leaf, step, scope)
    found = alike(found, scope, step.span)
    origins = {origin(leaf.item) for leaf in found}
    twice = len(origins) < len(found)
    is_simple = orderly and _are_apart(found, step) and not are_several(found, scope, step.span)
    if mixes and not twice and is_simple:
        by_key = [(leaf, SortKey(key_of(leaf.item, scope, step.span), "key")) for leaf in found]
        found = [replace(leaf, plan=Order(leaf.plan, (key,))) for leaf, key in by_key]
    elif twice or mixes:
        value: Value = Concat(tuple(each(one.plan, Single(one.item)) for one in found))
        return in_document_order(value, scope, step.span)
    parts = [each(one.plan, Single(one.item), is_path=True) for one in found]
    return merged_in_document_order(parts, scope, step.span)


def _are_apart(found: abc.Sequence[Leaf], step: Expr) -> bool:
    """Whether a step from different nodes leads to different nodes."""
    is_below = isinstance(step, AxisStep) and step.axis in ("self", "child", "attribute")
    return is_below and all(isinstance(leaf.item, items.AnyNode) for leaf in found)


def _texts_below(base: Value, step: TextsBelow, scope: Scope) -> Value:
    """The texts in all elements below, from the table of nodes if the elements are."""
    elements = after_step(base, step.elements, scope)
    if any(isinstance(leaf.item, items.AnyNode) for leaf in leaves(elements)):
        return after_step(base, replace(step.step, axis="descendant"), scope)
    return after_step(elements, step.step, scope)


def _from_each_tree(base: Value, step: AxisStep | ChildrenBelow, scope: Scope) -> Value:
    """The nodes below projected nodes that contain each other in the stream.

    A node of the stream is in several of the trees, so keys in the stream don't give the order. But
    what is in one tree comes before what is in the next.
    """
    if isinstance(base, Merged):
        parts = tuple(_from_each_tree(one, step, scope) for one in base.values)
        return replace(base, values=parts)
    several = leaves(base)
    if len(several) > 1 or not isinstance(step, AxisStep) or step.axis not in _DOWNWARDS:
        raise NotNative("steps from projected nodes that contain each other", step.span)
    (leaf,) = several
    inside = scope.within(leaf.plan)
    return each(leaf.plan, value_of(step, inside.focus(Single(leaf.item))))


def _may_mix(begin: abc.Sequence[Leaf], step: Expr, scope: Scope) -> bool:
    """Whether a step may reach a node twice, or reach nodes in another order than it starts."""
    if len(begin) == 1 and is_single(begin[0].plan):
        return False
    if isinstance(step, AxisStep) and step.axis in _SIDEWAYS:
        return True
    return any(_may_nest(leaf.item, scope) for leaf in begin)


def _may_nest(item: items.Item, scope: Scope) -> bool:
    """Whether one of two such nodes can be inside the other."""
    if not isinstance(item, items.StreamElement | items.Inner | items.AnyNode):
        return False
    if not scope.compilation.graphs[item.stream].nest(item.tags):
        return False
    # children of nodes that are not nested are not nested either
    return item.above is None or _may_nest(item.above, scope)


_DOWNWARDS = ("self", "child", "attribute", "descendant", "descendant-or-self")
_SIDEWAYS = (
    "parent",
    "ancestor",
    "ancestor-or-self",
    "preceding",
    "preceding-sibling",
    "following",
    "following-sibling",
)


def _mapped(base: Value, step: Expr, scope: Scope) -> Value:
    """`base/step` for a step that is not an axis step."""
    if any(isinstance(leaf.item, items.Atomic) for leaf in leaves(base)):
        raise NotNative("a path from an atomic value", step.span)
    if isinstance(base, Merged | Concat):
        if mentions_position(step):
            raise NotNative("positions in a sequence of several kinds of nodes", step.span)
        mapped = replace(base, values=tuple(_mapped(one, step, scope) for one in base.values))
        if isinstance(base, Merged) or base.exclusive:
            return mapped
        return _in_order(mapped, step, scope, is_sorted=False)
    if isinstance(base, Single):
        result = value_of(step, scope.focus(base, Constant(1), lambda: Constant(1)))
    else:
        kinds = leaves(base)
        if len(kinds) > 1:
            parts = tuple(each(one.plan, Single(one.item)) for one in kinds)
            return _mapped(Merged(parts), step, scope)
        plan, inner = kinds[0].plan, Single(kinds[0].item)
        inside = scope.within(plan)
        if mentions_position(step):
            numbered = Number(plan, scope.compilation.fresh("position"))
            inside = inside.within(numbered)
            position = Column(numbered.name)
            value = value_of(step, inside.focus(inner, position, _no_last(step)))
            result = each(numbered, value)
        else:
            result = each(plan, value_of(step, inside.focus(inner)))
    return _in_order(
        result,
        step,
        scope,
        is_sorted=at_most_one(base) and (at_most_one(result) or is_sorted(result)),
    )


def _in_order(result: Value, step: Expr, scope: Scope, *, is_sorted: bool) -> Value:
    """The nodes that a step gives, in document order and without duplicates."""
    found = leaves(result)
    if found and all(isinstance(leaf.item, items.StreamDocument) for leaf in found):
        if at_most_one(result):
            return result
        documents = {leaf.item for leaf in found}
        if len(documents) > 1 or are_several(found, scope, step.span):
            return in_document_order(result, scope, step.span)
        return guarded(exists(result), Single(documents.pop()))
    of_streams = (
        items.StreamElement,
        items.Inner,
        items.AnyNode,
        items.TextItem,
        items.AttributeItem,
    )
    if any(isinstance(leaf.item, (*of_streams, items.Element)) for leaf in found):
        if all(isinstance(leaf.item, of_streams) for leaf in found):
            if is_sorted:
                return result
            return in_document_order(result, scope, step.span)
        if any(not isinstance(leaf.item, items.Element) for leaf in found):
            raise NotNative("a step to nodes of several trees", step.span)
        if not at_most_one(result) and not _constructs(step):
            raise NotNative("a step to nodes that were constructed before", step.span)
    return result


def _constructs(step: Expr) -> bool:
    """Whether all nodes of the value are new."""
    match step:
        case DirectElement() | ComputedElement():
            return True
        case Sequence(items=items):
            return all(map(_constructs, items))
        case If(then=then, otherwise=otherwise):
            return _constructs(then) and _constructs(otherwise)
        case Flwor(result=result):
            return _constructs(result)
    return False


def _no_last(step: Expr) -> Callable[[], Scalar]:
    def fail() -> Scalar:
        raise NotNative("last() in a step", step.span)

    return fail


# the results of a step from one leaf


def _step_from(leaf: Leaf, step: AxisStep, scope: Scope) -> list[Leaf]:
    if not all(map(is_never_positional, step.predicates)):
        # positions are counted from each node, so the plan must have a tuple for it
        leaf = replace(leaf, item=without_inner_path(leaf.item))
    elif step.axis == "descendant":
        leaf = from_document(leaf, step.test, scope)
    near = nearest(leaf, step, scope)
    found, predicates = near or (
        axis_from(leaf, step.axis, step.test, scope, step.span),
        step.predicates,
    )
    for predicate in predicates:
        found = filtered(
            found,
            predicate,
            scope,
            partition=identity(leaf.plan),
            backwards=step.axis
            in ("parent", "ancestor", "ancestor-or-self", "preceding", "preceding-sibling"),
            base=leaf.plan,
        )
    return found


def _children_below(leaf: Leaf, step: AxisStep, scope: Scope) -> list[Leaf]:
    """The children of all nodes below; their positions are those among their siblings."""
    found = axis_from(leaf, "descendant", step.test, scope, step.span)
    if not isinstance(step.test, NameTest) and len(found) > 1:
        raise NotNative("positions among several kinds of nodes", step.span)
    kept: list[Leaf] = []
    # children with one name and one parent are of one kind
    for here in found:
        if not isinstance(here.item, items.StreamElement | items.Inner | items.AnyNode):
            raise NotNative("positions of such nodes", step.span)
        here, parent = with_parent_key(here, scope, step.span)
        several = [here]
        for predicate in step.predicates:
            partition = (*identity(leaf.plan), parent)
            several = filtered(several, predicate, scope, partition=partition)
        kept += several
    return kept


def _context(expr: ContextItem, scope: Scope) -> Value:
    if scope.context is None:
        raise NotNative("there is no context item", expr.span)
    return scope.context


EXPRESSIONS: Mapping[type, CompileExpression] = {
    Path: _path,
    AxisStep: _lone_step,
    ContextItem: _context,
}
