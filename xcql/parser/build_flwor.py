"""Builder functions for FLWOR expressions, quantifiers, conditions and error handling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xcql.parser._generated.XcqlLexer import XcqlLexer
from xcql.parser._generated.XcqlParser import XcqlParser
from xcql.parser.builder import Builder, builds, builds_node, find, first_token, has_token
from xcql.parser.fields import NAME, OPTIONAL_NAME, TYPE, child_at, every, has, one, optional
from xcql.syntax import control, flwor
from xcql.syntax.node import Expr

P = XcqlParser


@builds(P.FlworContext)
def _flwor(b: Builder, context: Any) -> Expr:
    clauses: list[flwor.Clause] = []
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
        clauses.append(
            flwor.OrderBy(b.build_all(old_sort, P.OrderKeyContext), span=b.span(old_sort))
        )
    return flwor.Flwor(tuple(clauses), result, span=b.span(context))


def _clauses(b: Builder, context: Any) -> Iterator[flwor.Clause]:
    """One clause per binding: `for $a in x, $b in y` makes two."""
    while type(context) in (P.InitialClauseContext, P.ClauseContext):
        context = context.children[0]
    if type(context) is P.ForClauseContext:
        yield from b.build_all(context, P.ForBindingContext)
    elif type(context) is P.LetClauseContext:
        yield from b.build_all(context, P.LetBindingContext)
    else:
        yield b.build(context)


@builds(P.PositionalVariableContext, P.PreviousVariableContext, P.NextVariableContext)
def _introduced_variable(b: Builder, context: Any) -> Any:
    return b.build(context.children[2])


@builds(P.WindowClauseContext)
def _window(b: Builder, context: Any) -> flwor.Clause:
    conditions = b.build_all(context, P.WindowConditionContext)
    kind = first_token(context, XcqlLexer.KW_TUMBLING, XcqlLexer.KW_SLIDING)
    assert kind is not None
    if kind.type == XcqlLexer.KW_SLIDING and len(conditions) == 1:
        raise b.syntax_error(
            "a sliding window needs an 'end' condition", b.span(context), "add 'end when ...'"
        )
    return flwor.Window(
        "tumbling" if kind.type == XcqlLexer.KW_TUMBLING else "sliding",
        b.build(find(context, P.EqNameContext)),
        b.build(find(context, P.ExprSingleContext)),
        conditions[0],
        conditions[1] if len(conditions) == 2 else None,
        has_token(context, XcqlLexer.KW_ONLY),
        b.optional(context, P.TypeDeclarationContext),
        span=b.span(context),
    )


def _empty(b: Builder, context: Any) -> str | None:
    empty = first_token(context, XcqlLexer.KW_GREATEST, XcqlLexer.KW_LEAST)
    return None if empty is None else "greatest" if empty.text == "greatest" else "least"


def _collation(b: Builder, context: Any) -> str | None:
    uri = first_token(context, XcqlLexer.STRING)
    return b.string(uri) if uri is not None else None


def _quantifier(b: Builder, context: Any) -> str:
    return "some" if context.start.type == XcqlLexer.KW_SOME else "every"


@builds(P.SwitchCaseContext)
def _switch_case(b: Builder, context: Any) -> control.SwitchCase:
    *values, result = b.build_all(context, P.ExprSingleContext)
    return control.SwitchCase(tuple(values), result, span=b.span(context))


@builds(P.IfExprContext)
def _if(b: Builder, context: Any) -> Expr:
    then, otherwise = b.build_all(context, P.ExprSingleContext)
    return control.If(b.build(context.children[2]), then, otherwise, span=b.span(context))


_POSITION = optional(P.PositionalVariableContext)
_OPERAND = one(P.ExprContext)

builds_node(
    P.ForBindingContext, flwor.For, NAME, child_at(-1), TYPE, has(XcqlLexer.KW_ALLOWING), _POSITION
)
builds_node(P.LetBindingContext, flwor.Let, NAME, child_at(-1), TYPE)
builds_node(
    P.WindowConditionContext,
    flwor.WindowCondition,
    child_at(-1),
    OPTIONAL_NAME,
    _POSITION,
    optional(P.PreviousVariableContext),
    optional(P.NextVariableContext),
)
builds_node(P.WhereClauseContext, flwor.Where, child_at(1))
builds_node(P.CountClauseContext, flwor.Count, child_at(2))
builds_node(P.GroupByClauseContext, flwor.GroupBy, every(P.GroupingKeyContext))
builds_node(
    P.GroupingKeyContext,
    flwor.GroupingKey,
    child_at(1),
    optional(P.ExprSingleContext),
    TYPE,
    _collation,
)
builds_node(
    P.OrderByClauseContext, flwor.OrderBy, every(P.OrderKeyContext), has(XcqlLexer.KW_STABLE)
)
builds_node(
    P.OrderKeyContext, flwor.OrderKey, child_at(0), has(XcqlLexer.KW_DESCENDING), _empty, _collation
)
builds_node(
    P.QuantifiedContext,
    control.Quantified,
    _quantifier,
    every(P.QuantifierBindingContext),
    child_at(-1),
)
builds_node(P.QuantifierBindingContext, control.QuantifierBinding, child_at(1), child_at(-1), TYPE)
builds_node(P.SwitchExprContext, control.Switch, _OPERAND, every(P.SwitchCaseContext), child_at(-1))
builds_node(
    P.TypeswitchExprContext,
    control.Typeswitch,
    _OPERAND,
    every(P.TypeswitchCaseContext),
    child_at(-1),
    OPTIONAL_NAME,
)
builds_node(
    P.TypeswitchCaseContext,
    control.TypeswitchCase,
    every(P.SequenceTypeContext),
    child_at(-1),
    OPTIONAL_NAME,
)
builds_node(P.TryExprContext, control.TryCatch, child_at(1), every(P.CatchClauseContext))
builds_node(P.CatchClauseContext, control.Catch, every(P.NameTestContext), child_at(-1))
