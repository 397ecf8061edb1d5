"""Builder functions for operators, with checks that the grammar's single operator rule omits."""

from __future__ import annotations

import re
from typing import Any

from xcql.parser._generated.XcqlLexer import XcqlLexer
from xcql.parser._generated.XcqlParser import XcqlParser
from xcql.parser.builder import Builder, builds, builds_node, terminals
from xcql.parser.characters import braced_uri_value, normalize_line_ends
from xcql.parser.fields import OPTIONAL_NAME, one, optional
from xcql.source import Span
from xcql.syntax import construct, control, operators, temporal
from xcql.syntax.names import NCNAME
from xcql.syntax.node import Expr, Name, SyntaxNode
from xcql.syntax.precedence import BINARY, NON_ASSOCIATIVE, Precedence

P = XcqlParser

_PRAGMA = re.compile(
    r"\(#[ \t\r\n]*"
    rf"(?P<name>(?:(?P<uri>Q\{{[^{{}}]*\}})|(?P<prefix>{NCNAME}):)?(?P<local>{NCNAME}))"
    r"(?:[ \t\r\n]+(?P<content>.*))?#\)",
    re.DOTALL,
)
_LEVEL = {
    P.ComparisonContext: Precedence.COMPARISON,
    P.InstanceOfContext: Precedence.INSTANCE,
    P.TreatContext: Precedence.TREAT,
    P.CastableContext: Precedence.CASTABLE,
    P.CastContext: Precedence.CAST,
    P.ArrowContext: Precedence.ARROW,
    P.UnaryContext: Precedence.UNARY,
    P.ValidateContext: Precedence.VALUE,
    P.ExtensionContext: Precedence.VALUE,
    P.SimpleMapContext: Precedence.MAP,
    P.OperandContext: Precedence.PATH,
}
_TYPE_OPERATORS = {
    P.InstanceOfContext: operators.InstanceOf,
    P.TreatContext: operators.TreatAs,
    P.CastContext: operators.CastAs,
    P.CastableContext: operators.CastableAs,
}
_INFIX = frozenset(
    [P.BinaryContext, P.ComparisonContext, *_TYPE_OPERATORS, P.ArrowContext, P.SimpleMapContext]
)


@builds(*_INFIX)
def _infix(b: Builder, context: Any) -> Expr:
    """Long chains nest to the left; a loop builds them, so their length does not matter."""
    chain = []
    while type(context) in _INFIX:
        _check_operands(b, context)
        chain.append(context)
        context = context.children[0]
    left: Expr = b.build(context)
    for link in reversed(chain):
        left = _combine(b, left, link)
    return left


def _combine(b: Builder, left: Expr, context: Any) -> Expr:
    kind = type(context)
    span = Span(b.source, left.span.start, context.stop.stop + 1)
    if kind in _TYPE_OPERATORS:
        return _TYPE_OPERATORS[kind](left, b.build(context.children[3]), span=span)  # type: ignore[no-any-return]
    if kind is P.ArrowContext:
        function: Name | Expr = b.build(context.children[2].children[0])
        return operators.Arrow(left, function, b.build(context.children[3]), span=span)
    right = b.build(context.children[2])
    if kind is P.SimpleMapContext:
        return operators.SimpleMap(left, right, span=span)
    op = _operator(context)
    if kind is P.BinaryContext:
        return operators.Binary(op, left, right, span=span)
    if context.children[1].symbol.type == XcqlLexer.ALLEN:
        return temporal.AllenComparison(
            op,
            _allen_operand(b, left, context.children[0]),
            _allen_operand(b, right, context.children[2]),
            span=span,
        )
    return operators.Comparison(op, left, right, span=span)


def _operator(context: Any) -> str:
    text: str = context.children[1].symbol.text
    return "union" if text == "|" else text


def _allen_operand(b: Builder, operand: Expr, context: Any) -> SyntaxNode:
    """`[t1, t2]` beside an Allen relation is an interval, unless it is in parentheses."""
    if not isinstance(operand, construct.SquareArray) or context.start.type != XcqlLexer.LBRACKET:
        return operand
    if not 1 <= len(operand.members) <= 2:
        raise b.syntax_error(
            "an interval has one or two bounds", operand.span, "write [begin, end] or [instant]"
        )
    return temporal.TimeInterval(
        operand.members[0],
        operand.members[1] if len(operand.members) == 2 else None,
        span=operand.span,
    )


def _check_operands(b: Builder, context: Any) -> None:
    """Reject what the grammar's single rule accepts: `a = b = c`, `a ! -b` and the like."""
    level = _level(context)
    left = _level(context.children[0])
    if left < level or (left == level and level in NON_ASSOCIATIVE):
        raise _needs_parentheses(b, context, context.children[0])
    if type(context) is P.BinaryContext and _operator(context) in ("+", "*"):
        _check_occurrence(b, context)
    if len(context.children) == 3 and _level(context.children[2]) <= level:
        raise _needs_parentheses(b, context, context.children[2])


def _check_occurrence(b: Builder, context: Any) -> None:
    """Reject `1 treat as item() * 2`: the sign right after a type is its occurrence indicator."""
    left = context.children[0]
    while type(left) in (P.BinaryContext, P.UnaryContext):
        left = left.children[-1]
    if type(left) not in (P.InstanceOfContext, P.TreatContext):
        return
    sequence_type = b.build(left.children[3])
    if sequence_type.item is not None and not sequence_type.occurrence:
        sign = context.children[1].symbol
        raise b.syntax_error(
            f"after a type, '{sign.text}' is read as part of the type",
            b.token_span(sign),
            f"put parentheses around the part before '{sign.text}'",
        )


def _level(context: Any) -> Precedence:
    if type(context) is P.BinaryContext:
        return BINARY[_operator(context)]
    return _LEVEL[type(context)]


def _needs_parentheses(b: Builder, context: Any, operand: Any) -> Exception:
    sign = context.children[1].symbol
    return b.syntax_error(
        f"'{sign.text}' cannot follow here without parentheses"
        if operand is context.children[0]
        else f"the right side of '{sign.text}' needs parentheses",
        b.token_span(sign) if operand is context.children[0] else b.span(operand),
        "put parentheses around the part that comes first",
    )


@builds(P.UnaryContext)
def _unary(b: Builder, context: Any) -> Expr:
    signs = []
    while type(context) is P.UnaryContext:
        signs.append(context.children[0].symbol)
        context = context.children[1]
    if _level(context) < Precedence.UNARY:
        raise b.syntax_error("this operand needs parentheses", b.span(context))
    operand = b.build(context)
    for sign in reversed(signs):
        span = Span(b.source, sign.start, operand.span.end)
        operand = operators.Unary(sign.text, operand, span=span)
    return operand  # type: ignore[no-any-return]


def _mode(b: Builder, context: Any) -> str:
    return next((t.text for t in terminals(context) if t.text in ("lax", "strict")), "")


def _pragmas(b: Builder, context: Any) -> tuple[control.Pragma, ...]:
    return tuple(
        _pragma(b, token) for token in terminals(context) if token.type == XcqlLexer.PRAGMA
    )


builds_node(P.ValidateContext, control.Validate, one(P.ExprContext), _mode, OPTIONAL_NAME)
builds_node(P.ExtensionContext, control.Extension, _pragmas, optional(P.ExprContext))


def _pragma(b: Builder, token: Any) -> control.Pragma:
    span = b.token_span(token)
    match = _PRAGMA.fullmatch(token.text)
    if match is None:
        raise b.syntax_error("a pragma must begin with its name: (# prefix:name ... #)", span)
    name_span = Span(b.source, span.start + match.start("name"), span.start + match.end("name"))
    uri = braced_uri_value(name_span) if match["uri"] is not None else None
    name = Name(match["local"], match["prefix"], uri, span=name_span)
    return control.Pragma(
        name, normalize_line_ends(match["content"] or "").rstrip(" \t\n"), span=span
    )
