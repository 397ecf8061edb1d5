"""Builder functions for FLWOR expressions, quantifiers, conditions and error handling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xcql.parser._generated.XcqlLexer import XcqlLexer
from xcql.parser._generated.XcqlParser import XcqlParser
from xcql.parser.builder import Builder, builds, find, first_token, has_token
from xcql.syntax.control import (
    Catch,
    If,
    Quantified,
    QuantifierBinding,
    Switch,
    SwitchCase,
    TryCatch,
    Typeswitch,
    TypeswitchCase,
)
from xcql.syntax.flwor import (
    Clause,
    Count,
    Flwor,
    For,
    GroupBy,
    GroupingKey,
    Let,
    OrderBy,
    OrderKey,
    Where,
    Window,
    WindowCondition,
)
from xcql.syntax.node import Expr

P = XcqlParser


@builds(P.FlworContext)
def _flwor(b: Builder, context: Any) -> Expr:
    clauses: list[Clause] = []
    for child in context.children:
        if type(child) in (P.InitialClauseContext, P.ClauseContext):
            clauses += _clauses(b, child)
    result = b.build(find(context, P.ExprSingleContext))
    old_sort = find(context, P.SortByContext)
    if old_sort is not None:
        b.warn(
            "'sortby' is an old spelling",
            b.token_span(old_sort.start),
            "the standard spelling is an 'order by' clause before 'return'",
        )
        clauses.append(OrderBy(b.build_all(old_sort, P.OrderKeyContext), span=b.span(old_sort)))
    return Flwor(tuple(clauses), result, span=b.span(context))


def _clauses(b: Builder, context: Any) -> Iterator[Clause]:
    """One clause per binding: `for $a in x, $b in y` makes two."""
    while type(context) in (P.InitialClauseContext, P.ClauseContext):
        context = context.children[0]
    if type(context) is P.ForClauseContext:
        yield from b.build_all(context, P.ForBindingContext)
    elif type(context) is P.LetClauseContext:
        yield from b.build_all(context, P.LetBindingContext)
    else:
        yield b.build(context)


@builds(P.ForBindingContext)
def _for(b: Builder, context: Any) -> Clause:
    return For(
        b.build(find(context, P.EqNameContext)),
        b.build(context.children[-1]),
        b.optional(context, P.TypeDeclarationContext),
        has_token(context, XcqlLexer.KW_ALLOWING),
        b.optional(context, P.PositionalVariableContext),
        span=b.span(context),
    )


@builds(P.PositionalVariableContext, P.PreviousVariableContext, P.NextVariableContext)
def _introduced_variable(b: Builder, context: Any) -> Any:
    return b.build(context.children[2])


@builds(P.LetBindingContext)
def _let(b: Builder, context: Any) -> Clause:
    return Let(
        b.build(find(context, P.EqNameContext)),
        b.build(context.children[-1]),
        b.optional(context, P.TypeDeclarationContext),
        span=b.span(context),
    )


@builds(P.WindowClauseContext)
def _window(b: Builder, context: Any) -> Clause:
    conditions = b.build_all(context, P.WindowConditionContext)
    kind = first_token(context, XcqlLexer.KW_TUMBLING, XcqlLexer.KW_SLIDING)
    assert kind is not None
    if kind.type == XcqlLexer.KW_SLIDING and len(conditions) == 1:
        raise b.syntax_error(
            "a sliding window needs an 'end' condition", b.span(context), "add 'end when ...'"
        )
    return Window(
        "tumbling" if kind.type == XcqlLexer.KW_TUMBLING else "sliding",
        b.build(find(context, P.EqNameContext)),
        b.build(find(context, P.ExprSingleContext)),
        conditions[0],
        conditions[1] if len(conditions) == 2 else None,
        has_token(context, XcqlLexer.KW_ONLY),
        b.optional(context, P.TypeDeclarationContext),
        span=b.span(context),
    )


@builds(P.WindowConditionContext)
def _window_condition(b: Builder, context: Any) -> WindowCondition:
    return WindowCondition(
        b.build(context.children[-1]),
        b.optional(context, P.EqNameContext),
        b.optional(context, P.PositionalVariableContext),
        b.optional(context, P.PreviousVariableContext),
        b.optional(context, P.NextVariableContext),
        span=b.span(context),
    )


@builds(P.WhereClauseContext)
def _where(b: Builder, context: Any) -> Clause:
    return Where(b.build(context.children[1]), span=b.span(context))


@builds(P.CountClauseContext)
def _count(b: Builder, context: Any) -> Clause:
    return Count(b.build(context.children[2]), span=b.span(context))


@builds(P.GroupByClauseContext)
def _group_by(b: Builder, context: Any) -> Clause:
    return GroupBy(b.build_all(context, P.GroupingKeyContext), span=b.span(context))


@builds(P.GroupingKeyContext)
def _grouping_key(b: Builder, context: Any) -> GroupingKey:
    return GroupingKey(
        b.build(context.children[1]),
        b.optional(context, P.ExprSingleContext),
        b.optional(context, P.TypeDeclarationContext),
        _collation(b, context),
        span=b.span(context),
    )


@builds(P.OrderByClauseContext)
def _order_by(b: Builder, context: Any) -> Clause:
    return OrderBy(
        b.build_all(context, P.OrderKeyContext),
        has_token(context, XcqlLexer.KW_STABLE),
        span=b.span(context),
    )


@builds(P.OrderKeyContext)
def _order_key(b: Builder, context: Any) -> OrderKey:
    empty = first_token(context, XcqlLexer.KW_GREATEST, XcqlLexer.KW_LEAST)
    return OrderKey(
        b.build(context.children[0]),
        has_token(context, XcqlLexer.KW_DESCENDING),
        None if empty is None else "greatest" if empty.text == "greatest" else "least",
        _collation(b, context),
        span=b.span(context),
    )


def _collation(b: Builder, context: Any) -> str | None:
    uri = first_token(context, XcqlLexer.STRING)
    return b.string(uri) if uri is not None else None


@builds(P.QuantifiedContext)
def _quantified(b: Builder, context: Any) -> Expr:
    return Quantified(
        "some" if context.start.type == XcqlLexer.KW_SOME else "every",
        b.build_all(context, P.QuantifierBindingContext),
        b.build(context.children[-1]),
        span=b.span(context),
    )


@builds(P.QuantifierBindingContext)
def _quantifier_binding(b: Builder, context: Any) -> QuantifierBinding:
    return QuantifierBinding(
        b.build(context.children[1]),
        b.build(context.children[-1]),
        b.optional(context, P.TypeDeclarationContext),
        span=b.span(context),
    )


@builds(P.SwitchExprContext)
def _switch(b: Builder, context: Any) -> Expr:
    return Switch(
        b.build(find(context, P.ExprContext)),
        b.build_all(context, P.SwitchCaseContext),
        b.build(context.children[-1]),
        span=b.span(context),
    )


@builds(P.SwitchCaseContext)
def _switch_case(b: Builder, context: Any) -> SwitchCase:
    *values, result = b.build_all(context, P.ExprSingleContext)
    return SwitchCase(tuple(values), result, span=b.span(context))


@builds(P.TypeswitchExprContext)
def _typeswitch(b: Builder, context: Any) -> Expr:
    return Typeswitch(
        b.build(find(context, P.ExprContext)),
        b.build_all(context, P.TypeswitchCaseContext),
        b.build(context.children[-1]),
        b.optional(context, P.EqNameContext),
        span=b.span(context),
    )


@builds(P.TypeswitchCaseContext)
def _typeswitch_case(b: Builder, context: Any) -> TypeswitchCase:
    return TypeswitchCase(
        b.build_all(context, P.SequenceTypeContext),
        b.build(context.children[-1]),
        b.optional(context, P.EqNameContext),
        span=b.span(context),
    )


@builds(P.IfExprContext)
def _if(b: Builder, context: Any) -> Expr:
    then, otherwise = b.build_all(context, P.ExprSingleContext)
    return If(b.build(context.children[2]), then, otherwise, span=b.span(context))


@builds(P.TryExprContext)
def _try(b: Builder, context: Any) -> Expr:
    return TryCatch(
        b.build(context.children[1]),
        b.build_all(context, P.CatchClauseContext),
        span=b.span(context),
    )


@builds(P.CatchClauseContext)
def _catch(b: Builder, context: Any) -> Catch:
    return Catch(
        b.build_all(context, P.NameTestContext),
        b.build(context.children[-1]),
        span=b.span(context),
    )
