"""The functions of the math namespace."""

from __future__ import annotations

import math
from collections.abc import Callable

from xcql.evaluate.casting import to_double
from xcql.evaluate.registry import CallContext, function
from xcql.xdm.atomic import is_numeric


@function("math:pi", returns="xs:double")
def pi(call: CallContext) -> float:
    return math.pi


def _safe(compute: Callable[[float], float], value: float | None) -> float | None:
    """A function of one number; NaN where it is undefined, infinity where it is too large."""
    if value is None:
        return None
    try:
        return compute(value)
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf


@function("math:exp", "xs:double?", returns="xs:double?")
def exp(call: CallContext, value: float | None) -> float | None:
    return _safe(math.exp, value)


@function("math:exp10", "xs:double?", returns="xs:double?")
def exp10(call: CallContext, value: float | None) -> float | None:
    return _safe(lambda x: math.pow(10.0, x), value)


def _logarithm(compute: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: -math.inf if x == 0 else compute(x)


@function("math:log", "xs:double?", returns="xs:double?")
def log(call: CallContext, value: float | None) -> float | None:
    return _safe(_logarithm(math.log), value)


@function("math:log10", "xs:double?", returns="xs:double?")
def log10(call: CallContext, value: float | None) -> float | None:
    return _safe(_logarithm(math.log10), value)


@function("math:sqrt", "xs:double?", returns="xs:double?")
def sqrt(call: CallContext, value: float | None) -> float | None:
    return _safe(math.sqrt, value)


@function("math:sin", "xs:double?", returns="xs:double?")
def sin(call: CallContext, value: float | None) -> float | None:
    return _safe(math.sin, value)


@function("math:cos", "xs:double?", returns="xs:double?")
def cos(call: CallContext, value: float | None) -> float | None:
    return _safe(math.cos, value)


@function("math:tan", "xs:double?", returns="xs:double?")
def tan(call: CallContext, value: float | None) -> float | None:
    return _safe(math.tan, value)


@function("math:asin", "xs:double?", returns="xs:double?")
def asin(call: CallContext, value: float | None) -> float | None:
    return _safe(math.asin, value)


@function("math:acos", "xs:double?", returns="xs:double?")
def acos(call: CallContext, value: float | None) -> float | None:
    return _safe(math.acos, value)


@function("math:atan", "xs:double?", returns="xs:double?")
def atan(call: CallContext, value: float | None) -> float | None:
    return _safe(math.atan, value)


@function("math:atan2", "xs:double", "xs:double", returns="xs:double")
def atan2(call: CallContext, y: float, x: float) -> float:
    return math.atan2(y, x)


@function("math:pow", "xs:double?", "xs:numeric", returns="xs:double?")
def power(call: CallContext, base: float | None, exponent: float) -> float | None:
    if base is None:
        return None
    assert is_numeric(exponent)
    wanted = to_double(exponent)
    if base == 0 and wanted < 0:
        odd = math.isfinite(wanted) and math.fmod(wanted, 2) in (1.0, -1.0)
        return math.copysign(math.inf, base) if odd else math.inf
    try:
        return math.pow(base, wanted)
    except ValueError:
        return math.nan
    except OverflowError:
        odd = math.fmod(wanted, 2) in (1.0, -1.0)
        return -math.inf if base < 0 and odd else math.inf
