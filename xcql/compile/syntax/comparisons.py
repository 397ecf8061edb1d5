"""Comparison expressions: of values, of sequences, of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from xcql.algebra.scalars import FALSE, Scalar, call, case, conjunction
from xcql.compile.library.access import node_key
from xcql.compile.library.atomization import one_atomic, single
from xcql.compile.library.casts import as_string
from xcql.compile.library.comparisons import compared, general
from xcql.compile.library.document_order import tree_of
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic, Item, is_node
from xcql.compile.terms.scope import CompileExpression, Scope, value_of
from xcql.compile.terms.values import EMPTY, Single, Value, leaves, nullable
from xcql.syntax.operators import Comparison

_GENERAL = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_VALUE = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _comparison(expr: Comparison, scope: Scope) -> Value:
    operands = replace(scope, only_compared=True)
    left, right = value_of(expr.left, operands), value_of(expr.right, operands)
    if expr.op in _GENERAL:
        found = general(_GENERAL[expr.op], left, right, scope, expr.span)
        return Single(Atomic(found, "xs:boolean"))
    if expr.op in _VALUE:
        a = one_atomic(left, scope, expr.left.span)
        b = one_atomic(right, scope, expr.right.span)
        if a is None or b is None:
            return EMPTY
        scalar = compared(_VALUE[expr.op], as_string(a), as_string(b), scope, expr.span)
        return nullable(Atomic(scalar, "xs:boolean"), left, right)
    return _nodes_compared(expr, left, right, scope)


def _nodes_compared(expr: Comparison, left: Value, right: Value, scope: Scope) -> Value:
    def key(item: Item) -> Scalar:
        found = node_key(item, scope) if is_node(item) else None
        if found is None:
            raise NotNative("the identity of these nodes is not known", expr.span)
        return found

    if left == EMPTY or right == EMPTY:
        if not all(is_node(leaf.item) for one in (left, right) for leaf in leaves(one)):
            raise NotNative("a comparison of what are not nodes", expr.span)
        return EMPTY
    needed = f"one node at most for '{expr.op}'"
    keys = [single(value, key, scope, expr.span, needed) for value in (left, right)]
    trees = [{tree_of(leaf.item) for leaf in leaves(value)} for value in (left, right)]
    sign = {"is": "=", "<<": "<", ">>": ">"}[expr.op]
    scalar: Scalar = call(sign, *keys)
    if len(trees[0] | trees[1]) > 1:
        if expr.op != "is" or trees[0] & trees[1]:
            raise NotNative("a comparison of nodes of several trees", expr.span)
        # never the same node, but empty if an operand is
        both = conjunction(*(call("is_not_null", one) for one in keys))
        scalar = case((both, FALSE))
    return nullable(Atomic(scalar, "xs:boolean"), left, right)


EXPRESSIONS: Mapping[type, CompileExpression] = {Comparison: _comparison}
