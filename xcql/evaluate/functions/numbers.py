"""Functions on numbers."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any

from elementpath import datatypes as ep

from xcql.diagnostics import XcqlError
from xcql.evaluate.arithmetic import DECIMALS
from xcql.evaluate.casting import cast
from xcql.evaluate.registry import CallContext, function
from xcql.evaluate.values import atomize
from xcql.xdm.atomic import make_float

Number = int | float | Decimal


@function("fn:number([xs:anyAtomicType?]) as xs:double")
def number(call: CallContext, *value: Any) -> float:
    atoms = [atom for atom in value if atom is not None] if value else [*atomize([call.item()])]
    if len(atoms) != 1:
        return math.nan
    return as_double(atoms[0])


def as_double(value: Any) -> float:
    """The value as a double; NaN if it is not a number."""
    try:
        result: float = cast(value, "double")
    except XcqlError:
        return math.nan
    return result


@function("fn:abs(xs:numeric?) as xs:numeric?")
def absolute(call: CallContext, value: Number | None) -> Number | None:
    if value is None:
        return None
    if isinstance(value, Decimal):
        return value.copy_abs()
    return _like(value, math.fabs(value)) if isinstance(value, float) else abs(int(value))


def _like(value: float, result: float) -> float:
    """A result in the floating point type of the argument."""
    return make_float(result) if type(value) is ep.Float else result


@function("fn:ceiling(xs:numeric?) as xs:numeric?")
def ceiling(call: CallContext, value: Number | None) -> Number | None:
    return None if value is None else _integral(value, ROUND_CEILING)


@function("fn:floor(xs:numeric?) as xs:numeric?")
def floor(call: CallContext, value: Number | None) -> Number | None:
    return None if value is None else _integral(value, ROUND_FLOOR)


def _integral(value: Number, rounding: str) -> Number:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Decimal):
        return value.to_integral_value(rounding, DECIMALS)
    if not math.isfinite(value) or value == 0:
        return value
    up = rounding == ROUND_CEILING
    whole = math.ceil(value) if up else math.floor(value)
    return _like(value, math.copysign(float(whole), value))


@function("fn:round(xs:numeric?, [xs:integer]) as xs:numeric?")
def round_(call: CallContext, value: Number | None, digits: int = 0) -> Number | None:
    return None if value is None else rounded(value, digits, half_even=False)


@function("fn:round-half-to-even(xs:numeric?, [xs:integer]) as xs:numeric?")
def round_half_to_even(call: CallContext, value: Number | None, digits: int = 0) -> Number | None:
    return None if value is None else rounded(value, digits, half_even=True)


def rounded(value: Number, digits: int, *, half_even: bool) -> Number:
    """A number with so many digits after the point; halves go up, or to the even neighbour."""
    if isinstance(value, int):
        if digits >= 0:
            return int(value)
        return int(_rounded_decimal(Decimal(int(value)), digits, half_even=half_even))
    if isinstance(value, Decimal):
        return _rounded_decimal(value, digits, half_even=half_even)
    if not math.isfinite(value) or value == 0:
        return value
    # a float is rounded as the decimal that it is printed as: 1.005 has no more digits
    exact = Decimal(repr(float(value))) if half_even else Decimal(float(value))
    if type(value) is ep.Float and half_even:
        exact = Decimal(float(value))
    result = float(_rounded_decimal(exact, digits, half_even=half_even))
    return _like(value, math.copysign(result, value))


def _rounded_decimal(value: Decimal, digits: int, *, half_even: bool) -> Decimal:
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and -exponent <= digits:
        return value
    if -digits > value.adjusted() + 1:
        return Decimal(0)
    unit = Decimal(1).scaleb(-max(digits, -10_000))
    if half_even:
        return value.quantize(unit, ROUND_HALF_EVEN, DECIMALS_WIDE)
    # halves are rounded towards positive infinity
    shifted = DECIMALS.add(value, DECIMALS.divide(unit, Decimal(2)))
    return shifted.quantize(unit, ROUND_FLOOR, DECIMALS_WIDE)


DECIMALS_WIDE = DECIMALS.copy()
DECIMALS_WIDE.prec = 6000


def round_half_up(value: float) -> float:
    """`fn:round` of a double: halves are rounded towards positive infinity."""
    if not math.isfinite(value):
        return value
    return float(rounded(value, 0, half_even=False))
