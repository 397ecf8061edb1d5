"""union, intersect, except."""

from __future__ import annotations

from xcql.algebra.operators import Plan, Select, columns
from xcql.algebra.scalars import (
    FALSE,
    TRUE,
    Nested,
    Scalar,
    call,
    conjunction,
    disjunction,
    negation,
)
from xcql.compile.library.document_order import (
    alike,
    in_document_order,
    is_sorted,
    key_of,
    merged_in_document_order,
    origin,
)
from xcql.compile.library.trees import identity_of
from xcql.compile.result import NotNative
from xcql.compile.terms.items import is_node
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import EMPTY, Concat, Each, Leaf, Single, Value, apart, each, leaves
from xcql.source import Span


def node_set(op: str, left: Value, right: Value, scope: Scope, span: Span) -> Value:
    """`left op right` for union, intersect and except."""
    for leaf in (*leaves(left), *leaves(right)):
        if not is_node(leaf.item):
            raise NotNative("a set of items that are not nodes", span)
    if op in ("union", "|"):
        return _union(left, right, scope, span)
    if left == EMPTY:
        return EMPTY
    left = left if is_sorted(left) else in_document_order(left, scope, span)
    parts = []
    ones, others = _comparable(leaves(left), leaves(right), scope, span)
    for leaf in ones:
        is_there = disjunction(*(_is_among(leaf, other, scope, span) for other in others))
        condition = is_there if op == "intersect" else negation(is_there)
        if condition != FALSE:
            plan = leaf.plan if condition == TRUE else Select(leaf.plan, condition)
            parts.append(each(plan, Single(leaf.item), is_path=True))
    return merged_in_document_order(parts, scope, span)


def _comparable(
    left: list[Leaf], right: list[Leaf], scope: Scope, span: Span
) -> tuple[list[Leaf], list[Leaf]]:
    """The nodes of two sets in forms that can be compared."""
    both = alike([*left, *right], scope, span)
    return both[: len(left)], both[len(left) :]


def _union(left: Value, right: Value, scope: Scope, span: Span) -> Value:
    parts = [
        value if is_sorted(value) else in_document_order(value, scope, span)
        for value in (left, right)
    ]
    every = [leaf for value in parts for leaf in leaves(value)]
    origins = [origin(leaf.item) for leaf in alike(every, scope, span)]
    if len(set(origins)) < len(origins):
        # some nodes may be in both operands
        return in_document_order(Concat(tuple(parts)), scope, span)
    return merged_in_document_order(parts, scope, span)


def _is_among(leaf: Leaf, other: Leaf, scope: Scope, span: Span) -> Scalar:
    """Whether a node is one of others."""
    if origin(leaf.item) != origin(other.item):
        return FALSE
    key = key_of(leaf.item, scope, span)
    value = apart(Each(other.plan, Single(other.item)), columns(leaf.plan) | scope.taken)
    (second,) = leaves(value)
    own, others = identity_of(leaf, scope, span), identity_of(second, scope, span)
    if len(own) != len(others):
        raise NotNative("a set of nodes of several trees", span)
    same = [call("=", one, two) for one, two in zip(own, others, strict=True) if one != two]
    same.append(call("=", key_of(second.item, scope, span), key))
    plan: Plan = Select(second.plan, conjunction(*same))
    return Nested(plan, "exists", TRUE)
