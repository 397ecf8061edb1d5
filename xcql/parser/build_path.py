"""Builder functions for paths, steps, projections and primary expressions."""

from __future__ import annotations

import difflib
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from xcql.parser._generated.XcqlLexer import XcqlLexer
from xcql.parser._generated.XcqlParser import XcqlParser
from xcql.parser.builder import Builder, builds, builds_node, first_token, terminals
from xcql.parser.characters import braced_uri_value
from xcql.parser.fields import ANNOTATIONS, TYPE, child_at, one
from xcql.parser.paper_spellings import modern_call
from xcql.source import Span
from xcql.syntax import control, functions, literals, path, temporal, types
from xcql.syntax.node import Expr, SyntaxNode

P = XcqlParser

_FARTHEST_ZONE = timedelta(hours=14)
_AXES = path.FORWARD_AXES + path.REVERSE_AXES
# tokens that can begin a step: after a lone slash, such a token must be a step
_BEGINS_STEP = (XcqlLexer.STAR, XcqlLexer.LESS, XcqlLexer.PREFIX_WILDCARD, XcqlLexer.LOCAL_WILDCARD)


# ---------------------------------------------------------------- paths


@builds(P.RootedPathContext, P.AnywherePathContext, P.RelativePathContext)
def _path(b: Builder, context: Any) -> Expr:
    absolute = type(context) is not P.RelativePathContext
    start: int = context.start.start
    steps: list[Expr] = []
    relative = context
    if absolute:
        if type(context) is P.AnywherePathContext:
            steps.append(_any_descendant(b.token_span(context.start)))
        relative = context.children[1]
    steps.append(b.build(relative.children[0]))
    return _with_parts(b, absolute, steps, start, relative.children[1:])


def _with_parts(
    b: Builder, absolute: bool, steps: list[Expr], start: int, parts: list[Any]
) -> Expr:
    """Extend a path with more steps, and with projections of the whole path so far."""
    for part in parts:
        first = part.children[0]
        if type(first) is P.ProjectionContext:
            base = _whole(b, absolute, steps, start)
            steps = [_projection(b, base, first)]
            absolute = False
        else:
            if first.symbol.type == XcqlLexer.SLASH_SLASH:
                steps.append(_any_descendant(b.token_span(first.symbol)))
            steps.append(b.build(part.children[1]))
    return _whole(b, absolute, steps, start)


def _whole(b: Builder, absolute: bool, steps: list[Expr], start: int) -> Expr:
    if not absolute and len(steps) == 1:
        return steps[0]
    return path.Path(absolute, tuple(steps), span=Span(b.source, start, steps[-1].span.end))


def _any_descendant(span: Span) -> path.AxisStep:
    return path.AxisStep("descendant-or-self", types.AnyKindTest(span=span), span=span)


@builds(P.RootContext)
def _root(b: Builder, context: Any) -> Expr:
    slash = b.token_span(context.start)
    if len(context.children) == 1:
        _check_lone_slash(b, context, slash)
        return path.Path(True, (), span=slash)
    projected = _projection(b, path.Path(True, (), span=slash), context.children[1])
    return _with_parts(b, False, [projected], slash.start, context.children[2:])


def _check_lone_slash(b: Builder, context: Any, slash: Span) -> None:
    """Reject `/ * 5`: XQuery's rules read it as a path, and then it makes no sense."""
    following = context.parser.getTokenStream().get(context.stop.tokenIndex + 1)
    is_word = following.text[:1].isalpha() and following.type not in (
        XcqlLexer.STRING,
        XcqlLexer.INTEGER,
    )
    if following.type in _BEGINS_STEP or is_word:
        raise b.syntax_error(
            f"after '/', '{following.text}' is read as a step of the path",
            b.token_span(following),
            "put the lone slash in parentheses: (/)",
        )


@builds(P.StepContext)
def _step(b: Builder, context: Any) -> Expr:
    first = context.children[0]
    if type(first) is P.PrimaryContext:
        return _with_postfixes(b, b.build(first), context.children[1:])
    step: path.AxisStep = b.build(first)
    if len(context.children) == 1:
        return step
    predicates = tuple(b.build(child.children[1]) for child in context.children[1:])
    return path.AxisStep(step.axis, step.test, predicates, span=b.span(context))


def _with_postfixes(b: Builder, base: Expr, postfixes: list[Any]) -> Expr:
    for postfix in postfixes:
        first = postfix.children[0]
        span = Span(b.source, base.span.start, postfix.stop.stop + 1)
        if type(first) is P.PredicateContext:
            base = path.Filter(base, b.build(first.children[1]), span=span)
        elif type(first) is P.ArgumentListContext:
            base = functions.DynamicCall(base, b.build(first), span=span)
        else:
            base = path.Lookup(base, b.build(postfix.children[1]), span=span)
    return base


# ---------------------------------------------------------------- projections


def _projection(b: Builder, base: Expr, context: Any) -> Expr:
    sign = context.children[0].symbol
    closing = next(t for t in terminals(context) if t.type == XcqlLexer.RBRACKET)
    span = Span(b.source, base.span.start, closing.stop + 1)
    if sign.type == XcqlLexer.HASH:
        b.version_intervals += 1
        bounds = b.build_all(context, P.ExprSingleContext)
        b.version_intervals -= 1
        projected: Expr = temporal.VersionProjection(base, *bounds, span=span)
    else:
        outer, b.version_intervals = b.version_intervals, 0
        bounds = b.build_all(context, P.ExprSingleContext)
        b.version_intervals = outer
        interval = temporal.TimeInterval(*bounds, span=Span(b.source, sign.start, closing.stop + 1))
        projected = temporal.IntervalProjection(base, interval, span=span)
    postfixes = [child for child in context.children if type(child) is P.PostfixContext]
    return _with_postfixes(b, projected, postfixes)


@builds(P.TimeLiteralContext)
def _time_literal(b: Builder, context: Any) -> Expr:
    token = context.start
    span = b.token_span(token)
    match token.type:
        case XcqlLexer.NOW:
            return temporal.Now(span=span)
        case XcqlLexer.START:
            return temporal.Start(span=span)
        case XcqlLexer.DURATION_LITERAL:
            return temporal.DurationLiteral(token.text, span=span)
        case XcqlLexer.LAST if b.version_intervals:
            return temporal.LastVersion(span=span)
        case XcqlLexer.LAST:
            raise b.syntax_error(
                "'last' is a version number and is only allowed in #[ ]",
                span,
                "for the latest time write 'now'; for an element called last write ./last",
            )
    _check_calendar(b, token.text, span)
    if token.type == XcqlLexer.DATE_LITERAL:
        return temporal.DateLiteral(token.text, span=span)
    return temporal.DateTimeLiteral(token.text, span=span)


def _check_calendar(b: Builder, text: str, span: Span) -> None:
    try:
        day_end = text.index("-") + len("-mm-dd")
        moment = text if "T" in text else f"{text[:day_end]}T00:00:00{text[day_end:]}"
        offset = datetime.fromisoformat(moment).utcoffset()
        if offset is not None and abs(offset) > _FARTHEST_ZONE:
            raise ValueError
    except ValueError:
        raise b.syntax_error(
            f"'{text}' is not a valid date or time",
            span,
            "write a time as 2003-10-23T12:23:34 and a date as 2003-10-23: year, month, day",
        ) from None


# ---------------------------------------------------------------- steps


@builds(P.ParentStepContext)
def _parent_step(b: Builder, context: Any) -> path.AxisStep:
    span = b.span(context)
    return path.AxisStep("parent", types.AnyKindTest(span=span), span=span)


@builds(P.AttributeStepContext)
def _attribute_step(b: Builder, context: Any) -> path.AxisStep:
    return path.AxisStep("attribute", b.build(context.children[1]), span=b.span(context))


@builds(P.ChildStepContext)
def _child_step(b: Builder, context: Any) -> path.AxisStep:
    test: SyntaxNode = b.build(context.children[0])
    # a test that only attributes can pass uses the attribute axis
    is_attribute = isinstance(test, types.AttributeTest | types.SchemaAttributeTest)
    return path.AxisStep("attribute" if is_attribute else "child", test, span=b.span(context))


@builds(P.AxisNodeTestContext)
def _axis_node_test(b: Builder, context: Any) -> path.AxisStep:
    axis = context.children[0].start
    if axis.text not in _AXES:
        near = difflib.get_close_matches(axis.text, _AXES, 1)
        raise b.syntax_error(
            f"unknown axis '{axis.text}'",
            b.token_span(axis),
            *([f"Did you mean '{near[0]}'?"] if near else [f"the axes are {', '.join(_AXES)}"]),
        )
    return path.AxisStep(axis.text, b.build(context.children[2]), span=b.span(context))


@builds(P.NameTestContext)
def _name_test(b: Builder, context: Any) -> SyntaxNode:
    first = context.children[0]
    if type(first) is P.EqNameContext:
        return path.NameTest(b.build(first), span=b.span(context))
    text, span = first.symbol.text, b.span(context)
    match first.symbol.type:
        case XcqlLexer.PREFIX_WILDCARD:
            return path.Wildcard(prefix=text[:-2], span=span)
        case XcqlLexer.LOCAL_WILDCARD:
            return path.Wildcard(local=text[2:], span=span)
        case XcqlLexer.BRACED_WILDCARD:
            return path.Wildcard(uri=braced_uri_value(span), span=span)
    return path.Wildcard(span=span)


# ---------------------------------------------------------------- primary expressions


@builds(P.LiteralContext)
def _literal(b: Builder, context: Any) -> Expr:
    token = context.start
    span = b.token_span(token)
    match token.type:
        case XcqlLexer.STRING:
            return literals.StringLiteral(b.string(token), span=span)
        case XcqlLexer.INTEGER:
            return literals.IntegerLiteral(_integer(token.text), span=span)
        case XcqlLexer.DECIMAL:
            return literals.DecimalLiteral(Decimal(token.text), span=span)
    return literals.DoubleLiteral(float(token.text), span=span)


def _integer(digits: str) -> int:
    # int() refuses more than 4300 digits at once
    value = 0
    for start in range(0, len(digits), 4000):
        part = digits[start : start + 4000]
        value = value * 10 ** len(part) + int(part)
    return value


def _is_ordered(b: Builder, context: Any) -> bool:
    return bool(context.start.type == XcqlLexer.KW_ORDERED)


builds_node(P.ContextItemContext, literals.ContextItem)
builds_node(P.OrderedExprContext, control.Ordered, _is_ordered, child_at(1))
builds_node(P.UnaryLookupContext, path.UnaryLookup, child_at(1))
builds_node(
    P.InlineFunctionContext,
    functions.InlineFunction,
    ANNOTATIONS,
    one(P.ParameterListContext),
    TYPE,
    one(P.EnclosedContext),
)


@builds(P.VariableContext)
def _variable(b: Builder, context: Any) -> Expr:
    # not by `builds_node`: variables are frequent, and this is faster
    return literals.VariableRef(b.build(context.children[1]), span=b.span(context))


@builds(P.FunctionCallContext)
def _function_call(b: Builder, context: Any) -> Expr:
    call = functions.FunctionCall(
        b.build(context.children[0]), b.build(context.children[1]), span=b.span(context)
    )
    if b.default_function_namespace is None:
        return modern_call(call, b.warn)
    return call


@builds(P.ArgumentListContext)
def _argument_list(b: Builder, context: Any) -> tuple[Expr, ...]:
    return b.build_all(context, P.ArgumentContext)


@builds(P.ArgumentContext)
def _argument(b: Builder, context: Any) -> Expr:
    first = context.children[0]
    if type(first) is P.ExprSingleContext:
        return b.build(first)  # type: ignore[no-any-return]
    return functions.ArgumentPlaceholder(span=b.span(context))


@builds(P.FunctionRefContext)
def _function_ref(b: Builder, context: Any) -> Expr:
    arity = _integer(context.children[2].symbol.text)
    return functions.NamedFunctionRef(b.build(context.children[0]), arity, span=b.span(context))


@builds(P.LookupKeyContext)
def _lookup_key(b: Builder, context: Any) -> Expr:
    span = b.span(context)
    if type(context.children[0]) is P.ParenthesizedContext:
        return b.build(context.children[0])  # type: ignore[no-any-return]
    if first_token(context, XcqlLexer.STAR):
        return path.AnyKey(span=span)
    if first_token(context, XcqlLexer.INTEGER):
        return literals.IntegerLiteral(_integer(context.start.text), span=span)
    return literals.StringLiteral(context.start.text, span=span)
