"""Numbers."""

from __future__ import annotations

from dataclasses import replace

from xcql.algebra.scalars import Constant, call, case
from xcql.compile.calls import CallSite, function
from xcql.compile.casts import NUMBERS, STRINGS, cast, castable, number, one_atomic
from xcql.compile.functions.sequences import context
from xcql.compile.items import Atomic
from xcql.compile.result import NotNative
from xcql.compile.values import EMPTY, Single, Value, guarded


@function("number", 0, 1)
def _number(site: CallSite) -> Value:
    value = site.arguments[0] if site.arguments else context(site)
    nan = Constant(float("nan"))
    item = one_atomic(value, site.scope, site.span)
    if item is None:
        return Single(Atomic(nan, "xs:double"))
    if item.type in STRINGS:
        read = call("parse_double", item.scalar)
        scalar = case(
            (call("is_true", castable(item, "xs:double", site.span)), read), otherwise=nan
        )
        return Single(Atomic(scalar, "xs:double"))
    if item.type in NUMBERS or item.type == "xs:boolean":
        scalar = cast(item, "xs:double", site.scope, site.span).scalar
        return Single(Atomic(call("coalesce", scalar, nan), "xs:double"))
    return Single(Atomic(nan, "xs:double"))


def _of_number(site: CallSite, integer: str | None, double: str, decimal: str) -> Value:
    value = site.arguments[0]
    if value == EMPTY:
        return EMPTY
    item = one_atomic(value, site.scope, site.span)
    assert item is not None
    item = number(item, site.scope, site.span)
    if item.type == "xs:integer":
        scalar = item.scalar if integer is None else call(integer, item.scalar)
    elif item.type == "xs:double":
        scalar = call(double, item.scalar)
    elif item.type == "xs:decimal":
        scalar = call(decimal, item.scalar)
    else:
        raise NotNative(f"a number of type {item.type}", site.span)
    result = Single(replace(item, scalar=scalar))
    return result if isinstance(value, Single) else guarded(call("is_not_null", scalar), result)


@function("abs", 1)
def _abs(site: CallSite) -> Value:
    return _of_number(site, "abs", "abs", "abs")


@function("floor", 1)
def _floor(site: CallSite) -> Value:
    return _of_number(site, None, "double_floor", "floor")


@function("ceiling", 1)
def _ceiling(site: CallSite) -> Value:
    return _of_number(site, None, "double_ceiling", "ceil")


@function("round", 1)
def _round(site: CallSite) -> Value:
    return _of_number(site, None, "round_half_up", "decimal_round_half_up")
