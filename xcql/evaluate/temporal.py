"""What XCQL adds to XQuery: time literals, projections, and Allen's relations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.basics import constant
from xcql.evaluate.casting import from_text
from xcql.evaluate.context import Context
from xcql.evaluate.conversion import convert
from xcql.evaluate.projection import project_interval, project_version
from xcql.evaluate.scope import Code, Environment, NameScope, compile_expression, compiles
from xcql.evaluate.sequences import (
    Items,
    computed,
    items_between,
    located,
    zero_or_one,
    zero_or_one_atomic,
)
from xcql.evaluate.times import datetime_value, instant_of, utc_now
from xcql.evaluate.types import AtomicItemType, ValueType
from xcql.evaluate.values import kind_of
from xcql.history.lifespan import lifespan
from xcql.history.predicates import ALLEN_RELATIONS, Interval
from xcql.model.time import START
from xcql.source import Span
from xcql.syntax import temporal as syntax
from xcql.syntax.node import SyntaxNode, walk
from xcql.syntax.operators import Binary
from xcql.xdm.names import QName
from xcql.xdm.nodes import Node as XdmNode

# the variable for `last` inside `#[ ]`; no query can write this name
_LAST = QName("urn:xcql:version-projection", "last")
_OPTIONAL_INTEGER = ValueType(AtomicItemType("integer"), "?")

# an interval, or None if a bound is empty or the interval begins after its end
_IntervalCode = Callable[[Environment, Context], Interval | None]


@compiles(syntax.DateLiteral)
def date_literal(node: syntax.DateLiteral, scope: NameScope) -> Code:
    return constant(_literal(node.text, "date", node.span))


@compiles(syntax.DateTimeLiteral)
def date_time_literal(node: syntax.DateTimeLiteral, scope: NameScope) -> Code:
    return constant(_literal(node.text, "dateTime", node.span))


@compiles(syntax.DurationLiteral)
def duration_literal(node: syntax.DurationLiteral, scope: NameScope) -> Code:
    date_part = node.text.partition("T")[0]
    if node.text.removeprefix("P") and "Y" not in date_part and "M" not in date_part:
        kind = "dayTimeDuration"
    elif "T" not in node.text and "D" not in node.text:
        kind = "yearMonthDuration"
    else:
        kind = "duration"
    return constant(_literal(node.text, kind, node.span))


def _literal(text: str, kind: str, span: Span) -> Any:
    try:
        return from_text(text, kind)
    except XcqlError:
        raise error("XCQL0002", f"'{text}' is not a valid xs:{kind}", span) from None


@compiles(syntax.Now)
def now(node: syntax.Now, scope: NameScope) -> Code:
    return lambda env, context: (datetime_value(utc_now(context)),)


@compiles(syntax.Start)
def start(node: syntax.Start, scope: NameScope) -> Code:
    return constant(datetime_value(START))


@compiles(syntax.LastVersion)
def last_version(node: syntax.LastVersion, scope: NameScope) -> Code:
    depth = scope.depth_of(_LAST)
    assert depth is not None, "the grammar allows `last` only inside #[ ]"

    def run(env: Environment, context: Context) -> Items:
        for _ in range(depth):
            env = env[1]
        value: Items = env[0]
        return value

    return run


def _interval(node: syntax.TimeInterval, scope: NameScope) -> _IntervalCode:
    begin = compile_expression(node.begin, scope)
    end = None if node.end is None else compile_expression(node.end, scope)
    begin_span = node.begin.span
    end_span = begin_span if node.end is None else node.end.span

    def read(env: Environment, context: Context) -> Interval | None:
        instant = utc_now(context)
        first = _bound(begin(env, context), instant, begin_span)
        last = first if end is None else _bound(end(env, context), instant, end_span)
        if first is None or last is None or first > last:
            return None
        return Interval(first, last)

    return _once_for_each_now(read) if all(map(_is_of_now, walk(node))) else read


def _is_of_now(part: SyntaxNode) -> bool:
    """Whether a part of an interval depends only on `now`."""
    return isinstance(part, _OF_NOW) or (isinstance(part, Binary) and part.op in ("+", "-"))


_OF_NOW = (
    syntax.TimeInterval,
    syntax.DateLiteral,
    syntax.DateTimeLiteral,
    syntax.DurationLiteral,
    syntax.Now,
    syntax.Start,
)


def _once_for_each_now(read: _IntervalCode) -> _IntervalCode:
    """Compute the interval once for each `now`."""
    last: tuple[datetime | None, Interval | None] = (None, None)

    def remembered(env: Environment, context: Context) -> Interval | None:
        nonlocal last
        now, interval = last
        if now != context.now:
            interval = read(env, context)
            last = (context.now, interval)
        return interval

    return remembered


def _bound(items: Items, now: datetime, span: Span) -> datetime | None:
    value = zero_or_one_atomic(items, "a bound of the interval", span)
    return None if value is None else instant_of(value, now, span)


@compiles(syntax.IntervalProjection)
def interval_projection(node: syntax.IntervalProjection, scope: NameScope) -> Code:
    base = compile_expression(node.base, scope)
    interval_code = _interval(node.interval, scope)
    span = node.span

    def run(env: Environment, context: Context) -> Iterator[Any]:
        interval = interval_code(env, context)
        if interval is None:
            return
        instant = utc_now(context)
        for item in base(env, context):
            try:
                projected = project_interval(item, interval, instant)
            except XcqlError as problem:
                raise located(problem, span) from None
            if projected is not None:
                yield projected

    return run


@compiles(syntax.VersionProjection)
def version_projection(node: syntax.VersionProjection, scope: NameScope) -> Code:
    base = compile_expression(node.base, scope)
    inner = scope.bind(_LAST)
    first_code = compile_expression(node.first, inner)
    last_code = first_code if node.last is None else compile_expression(node.last, inner)
    first_span = node.first.span
    last_span = first_span if node.last is None else node.last.span
    bounds: list[SyntaxNode] = [node.first] if node.last is None else [node.first, node.last]
    needs_count = any(
        isinstance(part, syntax.LastVersion) for bound in bounds for part in walk(bound)
    )
    span = node.span

    def run(env: Environment, context: Context) -> Iterator[Any]:
        items = base(env, context)
        if needs_count:
            items = computed(items)
        inner_env = ((len(items) if needs_count else 0,), env)  # type: ignore[arg-type]
        first = _version(first_code(inner_env, context), first_span)
        last = first if node.last is None else _version(last_code(inner_env, context), last_span)
        if first is None or last is None or last < 1:
            return
        instant = utc_now(context)
        for item in items_between(items, max(first - 1, 0), last):
            try:
                yield project_version(item, instant)
            except XcqlError as problem:
                raise located(problem, span) from None

    return run


def _version(items: Items, span: Span) -> int | None:
    """A bound of a version interval; anything but an integer is a type error."""
    try:
        for value in convert(items, _OPTIONAL_INTEGER, lambda: "a version number", span):
            return int(value)
    except XcqlError as problem:
        if problem.code == "FORG0001":
            raise error("XPTY0004", f"a version number: {problem.message}", span) from None
        raise
    return None


@compiles(syntax.AllenComparison)
def allen_comparison(node: syntax.AllenComparison, scope: NameScope) -> Code:
    relation = ALLEN_RELATIONS[node.relation]
    left = _operand(node.left, scope)
    right = _operand(node.right, scope)

    def run(env: Environment, context: Context) -> Items:
        a = left(env, context)
        if a is None:
            return ()
        b = right(env, context)
        return () if b is None else (relation(a, b),)

    return run


def _operand(node: SyntaxNode, scope: NameScope) -> _IntervalCode:
    if isinstance(node, syntax.TimeInterval):
        return _interval(node, scope)
    code, span = compile_expression(node, scope), node.span

    def read(env: Environment, context: Context) -> Interval | None:
        item = zero_or_one(code(env, context), "an operand of the comparison", span)
        if item is None:
            return None
        if not isinstance(item, XdmNode):
            raise error(
                "XPTY0004",
                f"only nodes have a lifespan; this is {kind_of(item)}",
                span,
                hints=["write an interval as [begin, end]"],
            )
        try:
            return lifespan(item, utc_now(context))
        except XcqlError as problem:
            raise located(problem, span) from None

    return read
