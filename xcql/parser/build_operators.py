"""Builder functions for operators, with the checks that the grammar's one operator rule leaves."""

from __future__ import annotations

from typing import Any

from antlr4 import InputStream

from xcql.parser._generated.XcqlLexer import XcqlLexer
from xcql.parser._generated.XcqlParser import XcqlParser
from xcql.parser.builder import Builder, builds, find, terminals
from xcql.source import Span
from xcql.syntax.construct import SquareArray
from xcql.syntax.control import Extension, Pragma, Validate
from xcql.syntax.node import Expr, Name, Node
from xcql.syntax.operators import (
    Arrow,
    Binary,
    CastableAs,
    CastAs,
    Comparison,
    InstanceOf,
    SimpleMap,
    TreatAs,
    Unary,
)
from xcql.syntax.precedence import BINARY, NON_ASSOCIATIVE, Precedence
from xcql.syntax.temporal import AllenComparison, TimeInterval

P = XcqlParser

_EQNAMES = (XcqlLexer.NAME, XcqlLexer.PREFIXED_NAME, XcqlLexer.BRACED_NAME)
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
_INFIX = frozenset(
    {
        P.BinaryContext,
        P.ComparisonContext,
        P.InstanceOfContext,
        P.TreatContext,
        P.CastableContext,
        P.CastContext,
        P.ArrowContext,
        P.SimpleMapContext,
    }
)
_TYPE_OPERATORS = {
    P.InstanceOfContext: InstanceOf,
    P.TreatContext: TreatAs,
    P.CastContext: CastAs,
    P.CastableContext: CastableAs,
}


@builds(*_INFIX)
def _infix(b: Builder, context: Any) -> Expr:
    """Long chains lean to the left; they are built in a loop, so their length does not matter."""
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
        return Arrow(left, function, b.build(context.children[3]), span=span)
    right = b.build(context.children[2])
    if kind is P.SimpleMapContext:
        return SimpleMap(left, right, span=span)
    op = _operator(context)
    if kind is P.BinaryContext:
        return Binary(op, left, right, span=span)
    if context.children[1].symbol.type == XcqlLexer.ALLEN:
        return AllenComparison(
            op,
            _allen_operand(b, left, context.children[0]),
            _allen_operand(b, right, context.children[2]),
            span=span,
        )
    return Comparison(op, left, right, span=span)


def _operator(context: Any) -> str:
    text: str = context.children[1].symbol.text
    return "union" if text == "|" else text


def _allen_operand(b: Builder, operand: Expr, context: Any) -> Node:
    """`[t1, t2]` beside an Allen relation is an interval, unless it is put in parentheses."""
    if not isinstance(operand, SquareArray) or context.start.type != XcqlLexer.LBRACKET:
        return operand
    if not 1 <= len(operand.members) <= 2:
        raise b.syntax_error(
            "an interval has one or two bounds", operand.span, "write [begin, end] or [instant]"
        )
    return TimeInterval(
        operand.members[0],
        operand.members[1] if len(operand.members) == 2 else None,
        span=operand.span,
    )


def _check_operands(b: Builder, context: Any) -> None:
    """Reject what the grammar's one rule lets through: `a = b = c`, `a ! -b` and the like."""
    level = _level(context)
    left = _level(context.children[0])
    if left < level or (left == level and level in NON_ASSOCIATIVE):
        raise _needs_parentheses(b, context, context.children[0])
    if len(context.children) == 3 and _level(context.children[2]) <= level:
        raise _needs_parentheses(b, context, context.children[2])


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
        operand = Unary(sign.text, operand, span=span)
    return operand  # type: ignore[no-any-return]


@builds(P.ValidateContext)
def _validate(b: Builder, context: Any) -> Expr:
    mode = next((t.text for t in terminals(context) if t.text in ("lax", "strict")), "")
    return Validate(
        b.build(find(context, P.ExprContext)),
        mode,
        b.optional(context, P.EqNameContext),
        span=b.span(context),
    )


@builds(P.ExtensionContext)
def _extension(b: Builder, context: Any) -> Expr:
    pragmas = tuple(
        _pragma(b, token) for token in terminals(context) if token.type == XcqlLexer.PRAGMA
    )
    return Extension(pragmas, b.optional(context, P.ExprContext), span=b.span(context))


def _pragma(b: Builder, token: Any) -> Pragma:
    span = b.token_span(token)
    words = token.text[2:-2].strip(" \t\r\n").split(None, 1)
    if not words or not _is_eqname(words[0]):
        raise b.syntax_error("a pragma begins with its name: (# prefix:name ... #)", span)
    if words[0].startswith("Q{"):
        uri, local = words[0][2:].rsplit("}", 1)
        name = Name(local, uri=uri, span=span)
    elif ":" in words[0]:
        prefix, local = words[0].split(":")
        name = Name(local, prefix, span=span)
    else:
        name = Name(words[0], span=span)
    return Pragma(name, words[1] if len(words) > 1 else "", span=span)


def _is_eqname(word: str) -> bool:
    lexer = XcqlLexer(InputStream(word))
    lexer.removeErrorListeners()
    token = lexer.nextToken()
    return token.type in _EQNAMES and token.stop == len(word) - 1
