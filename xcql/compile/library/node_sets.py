"""union, intersect, except."""

from __future__ import annotations

from xcql.algebra.operators import Plan, Select, columns
from xcql.algebra.scalars import FALSE, TRUE, Nested, Scalar, call, disjunction, negation
from xcql.compile.library.document_order import (
    in_document_order,
    is_sorted,
    key_of,
    merged_in_document_order,
    origin,
)
from xcql.compile.result import NotNative
from xcql.compile.terms.items import is_node
from xcql.compile.terms.scope import Scope, value_of
from xcql.compile.terms.values import EMPTY, Concat, Each, Leaf, Single, Value, apart, each, leaves
from xcql.syntax.operators import Binary


def node_set(expr: Binary, scope: Scope) -> Value:
    left, right = value_of(expr.left, scope), value_of(expr.right, scope)
    for leaf in (*leaves(left), *leaves(right)):
        if not is_node(leaf.item):
            raise NotNative("a set of something else than nodes", expr.span)
    if expr.op in ("union", "|"):
        return _union(left, right, scope, expr)
    if left == EMPTY:
        return EMPTY
    left = left if is_sorted(left) else in_document_order(left, scope, expr.span)
    parts = []
    for leaf in leaves(left):
        is_there = disjunction(*(_is_among(leaf, other, scope, expr) for other in leaves(right)))
        condition = is_there if expr.op == "intersect" else negation(is_there)
        if condition != FALSE:
            plan = leaf.plan if condition == TRUE else Select(leaf.plan, condition)
            parts.append(each(plan, Single(leaf.item), is_path=True))
    return merged_in_document_order(parts, scope, expr.span)


def _union(left: Value, right: Value, scope: Scope, expr: Binary) -> Value:
    parts = [
        value if is_sorted(value) else in_document_order(value, scope, expr.span)
        for value in (left, right)
    ]
    origins = [origin(leaf.item) for value in parts for leaf in leaves(value)]
    if len(set(origins)) < len(origins):
        # what may stand in both operands
        return in_document_order(Concat(tuple(parts)), scope, expr.span, orderly=True)
    return merged_in_document_order(parts, scope, expr.span)


def _is_among(leaf: Leaf, other: Leaf, scope: Scope, expr: Binary) -> Scalar:
    """Whether a node is one of others."""
    if origin(leaf.item) != origin(other.item):
        return FALSE
    key = key_of(leaf.item, scope, expr.span)
    value = apart(Each(other.plan, Single(other.item)), columns(leaf.plan) | scope.taken)
    (second,) = leaves(value)
    plan: Plan = Select(second.plan, call("=", key_of(second.item, scope, expr.span), key))
    return Nested(plan, "exists", TRUE)
