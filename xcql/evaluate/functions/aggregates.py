"""count, sum, avg, min, max."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from elementpath import datatypes as ep

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.arithmetic import calculate
from xcql.evaluate.casting import cast
from xcql.evaluate.comparing import comparable_pair, promoted
from xcql.evaluate.registry import CallContext, function
from xcql.xdm.atomic import is_numeric, make_float, string_of, type_of
from xcql.xdm.functions import Item

_ZERO = object()
_SUMMABLE = (ep.YearMonthDuration, ep.DayTimeDuration)


@function("fn:count(item()*) as xs:integer")
def count(call: CallContext, items: Iterable[Item]) -> int:
    if isinstance(items, (list, tuple, range)):
        return len(items)
    return sum(1 for _ in items)


@function("fn:sum(xs:anyAtomicType*) as xs:anyAtomicType")
@function("fn:sum(xs:anyAtomicType*, xs:anyAtomicType?) as xs:anyAtomicType?")
def sum_(call: CallContext, values: Iterable[Any], zero: Any = _ZERO) -> Any:
    total: Any = None
    for value in values:
        number = _summand(value, "sum")
        total = number if total is None else _added(total, number, "sum")
    if total is None:
        return 0 if zero is _ZERO else zero
    return total


@function("fn:avg(xs:anyAtomicType*) as xs:anyAtomicType?")
def avg(call: CallContext, values: Iterable[Any]) -> Any:
    total: Any = None
    size = 0
    for value in values:
        number = _summand(value, "avg")
        total = number if total is None else _added(total, number, "avg")
        size += 1
    return None if total is None else calculate("div", total, size)


def _summand(value: Any, name: str) -> Any:
    if type(value) is ep.UntypedAtomic:
        return cast(value, "double")
    if is_numeric(value):
        return int(value) if isinstance(value, int) else value
    if isinstance(value, _SUMMABLE):
        return value
    raise error("FORG0006", f"{name}() adds numbers or durations, not {type_of(value)}")


def _added(total: Any, value: Any, name: str) -> Any:
    if type(total) is float and type(value) is float:
        return total + value
    if is_numeric(total) != is_numeric(value) or (
        not is_numeric(total) and type(total) is not type(value)
    ):
        raise error("FORG0006", f"{name}() cannot add {type_of(value)} to {type_of(total)}")
    return calculate("+", total, value)


@function("fn:max(xs:anyAtomicType*, [xs:anyAtomicType?]) as xs:anyAtomicType?")
def max_(call: CallContext, values: Iterable[Any], collation: Any = None) -> Any:
    return _extreme(call, values, collation, "max")


@function("fn:min(xs:anyAtomicType*, [xs:anyAtomicType?]) as xs:anyAtomicType?")
def min_(call: CallContext, values: Iterable[Any], collation: Any = None) -> Any:
    return _extreme(call, values, collation, "min")


def _extreme(call: CallContext, values: Iterable[Any], second: Any, name: str) -> Any:
    """The largest or smallest value; a second argument is a collation or, in the paper's
    `max(a, b)`, another number."""
    if isinstance(second, (str, ep.AnyURI)):
        rules = call.collation(string_of(second))
    else:
        rules = call.collation()
        if second is not None:
            values = itertools.chain(values, [second])
    best: Any = None
    widest = 0
    texts = False
    for value in values:
        if type(value) is ep.UntypedAtomic:
            value = cast(value, "double")
        texts = texts or isinstance(value, str)
        widest = max(widest, _width(value))
        if best is None:
            # a single value must have an ordered type too
            _ordered(value, value, rules, name)
            best = value
            continue
        a, b = _ordered(value, best, rules, name)
        if a != a or (b == b and (a > b if name == "max" else a < b)):
            best = value
    if best is None or widest == 0:
        # a URI among strings is compared as a string
        return string_of(best) if texts and isinstance(best, ep.AnyURI) else best
    # the result has the type to which all numbers can be promoted
    if widest == 2:
        return promoted(best, 0.0)[0]
    return make_float(float(promoted(best, make_float(0.0))[0]))


def _width(value: Any) -> int:
    """1 for an xs:float, 2 for an xs:double; the result gets that type."""
    return 0 if not isinstance(value, float) else 1 if type(value) is ep.Float else 2


def _ordered(value: Any, other: Any, rules: Any, name: str) -> tuple[Any, Any]:
    try:
        return comparable_pair(value, other, rules)
    except XcqlError:
        raise error(
            "FORG0006", f"{name}() cannot compare {type_of(value)} with {type_of(other)}"
        ) from None
