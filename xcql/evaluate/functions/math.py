"""The functions of the math namespace."""

from __future__ import annotations

import math
from collections.abc import Callable

from xcql.evaluate.casting import to_double
from xcql.evaluate.registry import CallContext, function
from xcql.xdm.atomic import is_numeric


@function("math:pi() as xs:double")
def pi(call: CallContext) -> float:
    return math.pi


def _declare(name: str, compute: Callable[[float], float]) -> None:
    """A function of one number; NaN where it is undefined, infinity where it is too large."""

    def body(call: CallContext, value: float | None) -> float | None:
        if value is None:
            return None
        try:
            return compute(value)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    function(f"math:{name}(xs:double?) as xs:double?")(body)


for _compute in (
    math.exp,
    math.sqrt,
    math.sin,
    math.cos,
    math.tan,
    math.asin,
    math.acos,
    math.atan,
):
    _declare(_compute.__name__, _compute)
_declare("exp10", lambda x: math.pow(10.0, x))
_declare("log", lambda x: -math.inf if x == 0 else math.log(x))
_declare("log10", lambda x: -math.inf if x == 0 else math.log10(x))


@function("math:atan2(xs:double, xs:double) as xs:double")
def atan2(call: CallContext, y: float, x: float) -> float:
    return math.atan2(y, x)


@function("math:pow(xs:double?, xs:numeric) as xs:double?")
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
