"""union, intersect, except."""

from __future__ import annotations

from xcql.compile.paths import _is_sorted, in_document_order, merged_in_document_order
from xcql.compile.result import NotNative
from xcql.compile.scope import Scope, value_of
from xcql.compile.values import EMPTY, Value, leaves
from xcql.syntax.operators import Binary


def node_set(expr: Binary, scope: Scope) -> Value:
    left, right = value_of(expr.left, scope), value_of(expr.right, scope)
    if expr.op not in ("union", "|"):
        raise NotNative(f"'{expr.op}'", expr.span)
    if left == EMPTY or right == EMPTY:
        return in_document_order(left if right == EMPTY else right, scope, expr.span)
    from xcql.compile.paths import _origin

    origins = [_origin(leaf.item) for value in (left, right) for leaf in leaves(value)]
    if len(set(origins)) < len(origins):
        raise NotNative("nodes that may stand in both operands", expr.span)
    parts = [
        value if _is_sorted(value) else in_document_order(value, scope, expr.span)
        for value in (left, right)
    ]
    return merged_in_document_order(parts, scope)
