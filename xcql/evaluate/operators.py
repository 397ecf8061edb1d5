"""Operators: logic, arithmetic, comparisons, ranges, strings and sets of nodes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from elementpath.datatypes import QName, UntypedAtomic

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.arithmetic import Operator, calculate, negate, plus
from xcql.evaluate.casting import cast
from xcql.evaluate.collations import CODEPOINT, Collation
from xcql.evaluate.comparing import Relation, compare, compare_general
from xcql.evaluate.context import Context, StaticContext
from xcql.evaluate.conversion import convert
from xcql.evaluate.paths import in_document_order
from xcql.evaluate.predicates import mentions
from xcql.evaluate.scope import Code, Environment, NameScope, compile_expression, compiles
from xcql.evaluate.sequences import Items, computed, located, zero_or_one, zero_or_one_atomic
from xcql.evaluate.types import AtomicItemType, ValueType
from xcql.evaluate.values import atomize, effective_boolean, kind_of
from xcql.source import Span
from xcql.syntax.operators import Binary, Comparison, SimpleMap, Unary
from xcql.xdm.atomic import string_of
from xcql.xdm.nodes import Node

_TRUE, _FALSE = (True,), (False,)
_OPTIONAL_INTEGER = ValueType(AtomicItemType("integer"), "?")

_GENERAL: dict[str, Relation] = {
    "=": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}
_DIRECT: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


@compiles(Binary)
def binary(node: Binary, scope: NameScope) -> Code:
    left = compile_expression(node.left, scope)
    right = compile_expression(node.right, scope)
    op, span = node.op, node.span
    match op:
        case "and" | "or":
            return _logic(op, left, node.left.span, right, node.right.span)
        case "||":
            return _concatenation(left, right, span)
        case "to":
            return _range(left, right, span)
        case "union" | "intersect" | "except" | "|":
            return _node_set("union" if op == "|" else op, left, right, span)
    sign: Operator = op  # type: ignore[assignment]
    return _arithmetic(sign, left, right, span)


def _logic(op: str, left: Code, left_span: Span, right: Code, right_span: Span) -> Code:
    # the value of the left side that decides the result
    decisive = op == "or"

    def run(env: Environment, context: Context) -> Items:
        if effective_boolean(left(env, context), left_span) is decisive:
            return (decisive,)
        return _TRUE if effective_boolean(right(env, context), right_span) else _FALSE

    return run


def _arithmetic(op: Operator, left: Code, right: Code, span: Span) -> Code:
    def run(env: Environment, context: Context) -> Items:
        a = zero_or_one_atomic(left(env, context), f"the left side of {op}", span)
        if a is None:
            return ()
        b = zero_or_one_atomic(right(env, context), f"the right side of {op}", span)
        if b is None:
            return ()
        try:
            return (calculate(op, a, b),)
        except XcqlError as problem:
            raise located(problem, span) from None

    return run


@compiles(Unary)
def unary(node: Unary, scope: NameScope) -> Code:
    operand = compile_expression(node.operand, scope)
    span, apply = node.span, negate if node.op == "-" else plus

    def run(env: Environment, context: Context) -> Items:
        value = zero_or_one_atomic(operand(env, context), "the operand", span)
        if value is None:
            return ()
        try:
            return (apply(value),)
        except XcqlError as problem:
            raise located(problem, span) from None

    return run


def _concatenation(left: Code, right: Code, span: Span) -> Code:
    def text(items: Items) -> str:
        value = zero_or_one_atomic(items, "an operand of ||", span)
        return "" if value is None else string_of(value)

    return lambda env, context: (text(left(env, context)) + text(right(env, context)),)


def _range(left: Code, right: Code, span: Span) -> Code:
    def bound(items: Items, side: str) -> int | None:
        for value in convert(items, _OPTIONAL_INTEGER, lambda: f"the {side} of a range", span):
            return int(value)
        return None

    def run(env: Environment, context: Context) -> Items:
        first = bound(left(env, context), "start")
        last = bound(right(env, context), "end")
        if first is None or last is None:
            return ()
        if last - first > 2**60:
            raise error("FOAR0002", "the range is too long", span)
        return range(first, last + 1)

    return run


def _node_set(op: str, left: Code, right: Code, span: Span) -> Code:
    def nodes(items: Items) -> Iterator[Node]:
        for item in items:
            if not isinstance(item, Node):
                raise error("XPTY0004", f"{op} needs nodes; this is {kind_of(item)}", span)
            yield item

    def run(env: Environment, context: Context) -> Items:
        ours = list(nodes(left(env, context)))
        theirs = list(nodes(right(env, context)))
        if op == "union":
            return in_document_order(ours + theirs)
        known = {id(node) for node in theirs}
        wanted = op == "intersect"
        return in_document_order(node for node in ours if (id(node) in known) is wanted)

    return run


@compiles(Comparison)
def comparison(node: Comparison, scope: NameScope) -> Code:
    left = compile_expression(node.left, scope)
    right = compile_expression(node.right, scope)
    if node.op in ("is", "<<", ">>"):
        return _node_comparison(node.op, left, right, node.span)
    static = scope.static
    if node.op in _GENERAL:
        return _general_comparison(_GENERAL[node.op], left, right, static, node.span)
    relation: Relation = node.op  # type: ignore[assignment]
    return _value_comparison(relation, left, right, static.default_collation, node.span)


def _value_comparison(
    relation: Relation, left: Code, right: Code, collation: Collation, span: Span
) -> Code:
    def run(env: Environment, context: Context) -> Items:
        a = zero_or_one_atomic(left(env, context), f"the left side of {relation}", span)
        if a is None:
            return ()
        b = zero_or_one_atomic(right(env, context), f"the right side of {relation}", span)
        if b is None:
            return ()
        try:
            return _TRUE if compare(relation, a, b, collation) else _FALSE
        except XcqlError as problem:
            raise located(problem, span) from None

    return run


def _general_comparison(
    relation: Relation, left: Code, right: Code, static: StaticContext, span: Span
) -> Code:
    """True if the relation holds for any pair of values from both sides."""
    collation = static.default_collation
    namespaces = {**static.namespaces, "": static.default_element_namespace}
    direct = _DIRECT[relation] if collation is CODEPOINT else None
    mirrored = _MIRRORED[relation]

    def run(env: Environment, context: Context) -> Items:
        try:
            ours, theirs = left(env, context), right(env, context)
            if type(ours) is tuple and type(theirs) is tuple and len(ours) == len(theirs) == 1:
                a, b = ours[0], theirs[0]
                if type(a) is int and type(b) is int:
                    return _TRUE if _DIRECT[relation](a, b) else _FALSE
            if type(theirs) is range and len(theirs) > 1:
                return (_any_in_range(relation, ours, theirs, collation),)
            if type(ours) is range and len(ours) > 1:
                return (_any_in_range(mirrored, theirs, ours, collation),)
            theirs = computed(atomize(theirs))
            for a in atomize(ours):
                text = a.value if type(a) is UntypedAtomic else a if type(a) is str else None
                for b in theirs:
                    if direct is not None and text is not None:
                        other = b.value if type(b) is UntypedAtomic else b
                        if type(other) is str:
                            if direct(text, other):
                                return _TRUE
                            continue
                    if compare_general(relation, *_named(a, b, namespaces), collation):
                        return _TRUE
        except XcqlError as problem:
            raise located(problem, span) from None
        return _FALSE

    return run


def _named(left: Any, right: Any, namespaces: dict[str, str]) -> tuple[Any, Any]:
    """Two values; an untyped one that is compared with a name is read as a name."""
    if type(left) is UntypedAtomic and type(right) is QName:
        return cast(left, "QName", namespaces), right
    if type(right) is UntypedAtomic and type(left) is QName:
        return left, cast(right, "QName", namespaces)
    return left, right


_MIRRORED: dict[str, Relation] = {
    "eq": "eq",
    "ne": "ne",
    "lt": "gt",
    "le": "ge",
    "gt": "lt",
    "ge": "le",
}


def _any_in_range(relation: Relation, left: Items, right: range, collation: Collation) -> bool:
    """`left = (a to b)` and the like, without enumerating a to b"""
    for value in atomize(left):
        if relation in ("lt", "le", "ne"):
            found = compare_general(relation, value, right[-1], collation)
            found = found or (
                relation == "ne" and compare_general("ne", value, right[0], collation)
            )
        elif relation in ("gt", "ge"):
            found = compare_general(relation, value, right[0], collation)
        else:
            found = compare_general("ge", value, right[0], collation) and compare_general(
                "le", value, right[-1], collation
            )
            if found:
                number = cast(value, "double") if type(value) is UntypedAtomic else value
                found = bool(number == int(number))
        if found:
            return True
    return False


def _node_comparison(op: str, left: Code, right: Code, span: Span) -> Code:
    def node(items: Items) -> Node | None:
        item = zero_or_one(items, f"an operand of {op}", span)
        if item is not None and not isinstance(item, Node):
            raise error("XPTY0004", f"{op} compares nodes; this is {kind_of(item)}", span)
        return item

    def run(env: Environment, context: Context) -> Items:
        a, b = node(left(env, context)), node(right(env, context))
        if a is None or b is None:
            return ()
        if op == "is":
            return (a is b,)
        return (a.order < b.order,) if op == "<<" else (a.order > b.order,)

    return run


@compiles(SimpleMap)
def simple_map(node: SimpleMap, scope: NameScope) -> Code:
    left = compile_expression(node.left, scope)
    right = compile_expression(node.right, scope)
    needs_size = mentions(node.right, "last")

    def run(env: Environment, context: Context) -> Iterator[Any]:
        items, size = left(env, context), None
        if needs_size:
            items = computed(items)
            size = len(items)
        for position, item in enumerate(items, 1):
            yield from right(env, Context(context.evaluation, item, position, size))

    return run
