"""Comparison expressions: of values, of sequences, of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xcql.algebra.scalars import FALSE, Scalar, call, case, conjunction
from xcql.compile.library.atomization import one_atomic, single
from xcql.compile.library.casts import as_string
from xcql.compile.library.comparisons import compared, general
from xcql.compile.library.document_order import key_of
from xcql.compile.library.trees import (
    are_several,
    identities,
    kinds_of_places,
    places,
    tree_of,
    turns_in,
)
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic, Item, is_node
from xcql.compile.terms.scope import CompileExpression, Scope, value_of
from xcql.compile.terms.values import EMPTY, Leaf, Single, Value, leaves, nullable
from xcql.syntax.literals import IntegerLiteral, StringLiteral
from xcql.syntax.node import Expr
from xcql.syntax.operators import Comparison

_GENERAL = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_LITERALS = StringLiteral | IntegerLiteral
_DATA = frozenset({"xs:untypedAtomic", "xs:string"})
_VALUE = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _comparison(expr: Comparison, scope: Scope) -> Value:
    left, right = _operands(expr, replace(scope, only_compared=True))
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


def _operands(expr: Comparison, scope: Scope) -> tuple[Value, Value]:
    """The values of the operands; the plan need not know a literal that is compared with data."""
    if isinstance(expr.left, _LITERALS):
        right = value_of(expr.right, scope)
        return _literal(expr.left, right, scope) or value_of(expr.left, scope), right
    left = value_of(expr.left, scope)
    is_literal = isinstance(expr.right, _LITERALS)
    given = _literal(expr.right, left, scope) if is_literal else None
    return left, given or value_of(expr.right, scope)


def _literal(expr: Expr, other: Value, scope: Scope) -> Value | None:
    """An open literal, if it is compared with nodes or untyped data."""
    if scope.compilation.dialect.literal is None or not all(
        is_node(leaf.item) or (isinstance(leaf.item, Atomic) and leaf.item.type in _DATA)
        for leaf in leaves(other)
    ):
        return None
    given = scope.compilation.literals.given(expr)
    return None if given is None else Single(Atomic(given, f"xs:{given.type}"))


def _nodes_compared(expr: Comparison, left: Value, right: Value, scope: Scope) -> Value:
    if left == EMPTY or right == EMPTY:
        if not all(is_node(leaf.item) for one in (left, right) for leaf in leaves(one)):
            raise NotNative("a comparison of what are not nodes", expr.span)
        return EMPTY
    needed = f"one node at most for '{expr.op}'"
    found = [leaves(value) for value in (left, right)]
    if not all(is_node(leaf.item) for some in found for leaf in some):
        raise NotNative("a comparison of what are not nodes", expr.span)
    trees = [{tree_of(leaf.item) for leaf in some} for some in found]
    is_one_tree = len(trees[0] | trees[1]) == 1
    several = is_one_tree and _are_several([*found[0], *found[1]], expr, scope)

    def key(item: Item) -> Scalar:
        place = key_of(item, scope, expr.span)
        apart = () if not several else identities(item) if expr.op == "is" else places(item)
        return call("tuple", *apart, place) if apart else place

    keys = [single(value, key, scope, expr.span, needed) for value in (left, right)]
    sign = {"is": "=", "<<": "<", ">>": ">"}[expr.op]
    scalar: Scalar = call(sign, *keys)
    if len(trees[0] | trees[1]) > 1:
        if expr.op != "is" or trees[0] & trees[1]:
            raise NotNative("a comparison of nodes of several trees", expr.span)
        # never the same node, but empty if an operand is
        both = conjunction(*(call("is_not_null", one) for one in keys))
        scalar = case((both, FALSE))
    return nullable(Atomic(scalar, "xs:boolean"), left, right)


def _are_several(found: Sequence[Leaf], expr: Comparison, scope: Scope) -> bool:
    """Whether nodes may be of several evaluations of what makes their tree."""
    if not are_several(found, scope, expr.span):
        return False
    if expr.op != "is":
        turns_in(found, scope, expr.span)
    known = [identities(one.item) if expr.op == "is" else places(one.item) for one in found]
    kinds = {
        (len(one or ()), kinds_of_places(leaf.item)) for one, leaf in zip(known, found, strict=True)
    }
    if None in known or len(kinds) > 1:
        raise NotNative("a comparison of nodes of several trees", expr.span)
    return True


EXPRESSIONS: Mapping[type, CompileExpression] = {Comparison: _comparison}
