"""The arithmetic operators on numbers, dates, times and durations.

One addition to XQuery: a number added to or taken from a dateTime counts as seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Context, Decimal, DecimalException
from typing import Any

from elementpath import datatypes as ep

from xcql.diagnostics import XcqlError, error
from xcql.xdm.atomic import Atomic, instant, is_numeric, make_float, type_of
from xcql.xdm.casting import cast
from xcql.xdm.dates import add_months, add_seconds

from .comparison import to_double

# enough for exact sums and products of any numbers in practice; quotients get fewer digits
_EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
_QUOTIENT = Context(prec=34, rounding=ROUND_HALF_UP)


def arithmetic(op: str, left: Atomic, right: Atomic) -> Atomic:
    """`left op right` for `+ - * div idiv mod`; an untyped operand counts as xs:double.

    >>> arithmetic("+", 1, Decimal("0.5"))
    Decimal('1.5')
    """
    if type(left) is ep.UntypedAtomic:
        left = cast(left, "double")
    if type(right) is ep.UntypedAtomic:
        right = cast(right, "double")
    if is_numeric(left) and is_numeric(right):
        return _numeric(op, left, right)
    try:
        result = _temporal(op, left, right)
    except (OverflowError, DecimalException):
        raise error("FODT0002", f"the result of {op} is out of range") from None
    if result is None:
        raise error(
            "XPTY0004",
            f"the operator {op} is not defined for an {type_of(left)} and an {type_of(right)}",
        )
    return result


def _numeric(op: str, left: Atomic, right: Atomic) -> Atomic:
    if isinstance(left, float) or isinstance(right, float):
        single = not any(
            isinstance(v, float) and not isinstance(v, ep.Float) for v in (left, right)
        )
        a, b = to_double(left), to_double(right)
        if single:
            a, b = float(make_float(a)), float(make_float(b))
        result = _FLOATING[op](a, b)
        return make_float(result) if single and op != "idiv" else result
    if isinstance(left, int) and isinstance(right, int) and op in _INTEGERS:
        return _INTEGERS[op](int(left), int(right))
    try:
        return _DECIMALS[op](Decimal(left), Decimal(right))
    except DecimalException:
        raise error("FOAR0002", f"the result of {op} is too large a decimal") from None


def _zero_division() -> XcqlError:
    return error("FOAR0001", "division by zero")


def _integer_idiv(a: int, b: int) -> int:
    if b == 0:
        raise _zero_division()
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _integer_mod(a: int, b: int) -> int:
    if b == 0:
        raise _zero_division()
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def _decimal_div(a: Decimal, b: Decimal) -> Decimal:
    if not b:
        raise _zero_division()
    return _QUOTIENT.divide(a, b)


def _decimal_idiv(a: Decimal, b: Decimal) -> int:
    if not b:
        raise _zero_division()
    return int(_EXACT.divide_int(a, b))


def _decimal_mod(a: Decimal, b: Decimal) -> Decimal:
    if not b:
        raise _zero_division()
    return _EXACT.remainder(a, b)


def _float_div(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a) or math.isnan(b):
        return math.nan
    return math.copysign(math.inf, math.copysign(1, a) * math.copysign(1, b))


def _float_idiv(a: float, b: float) -> int:
    if b == 0:
        raise _zero_division()
    if math.isnan(a) or math.isnan(b) or math.isinf(a):
        raise error("FOAR0002", "integer division of or by NaN, or of infinity")
    if math.isinf(b):
        return 0
    return int(Decimal(a) // Decimal(b)) if abs(a / b) > 2**52 else int(a / b)


def _float_mod(a: float, b: float) -> float:
    if math.isinf(a) or b == 0:
        return math.nan
    if math.isinf(b) and not math.isnan(a):
        return a
    return math.fmod(a, b)


def _float_mul(a: float, b: float) -> float:
    return a * b


_INTEGERS: dict[str, Callable[[int, int], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "idiv": _integer_idiv,
    "mod": _integer_mod,
}
_DECIMALS: dict[str, Callable[[Decimal, Decimal], Any]] = {
    "+": _EXACT.add,
    "-": _EXACT.subtract,
    "*": _EXACT.multiply,
    "div": _decimal_div,
    "idiv": _decimal_idiv,
    "mod": _decimal_mod,
}
_FLOATING: dict[str, Callable[[float, float], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": _float_mul,
    "div": _float_div,
    "idiv": _float_idiv,
    "mod": _float_mod,
}


def _temporal(op: str, left: Atomic, right: Atomic) -> Atomic | None:
    """The operators with dates, times and durations; None where there is none."""
    a, b = type_of(left), type_of(right)
    a_is_date, b_is_date = a.primitive in _DATES, b.primitive in _DATES
    if op in "+-" and a_is_date:
        if b.name in _DURATIONS:
            return _shift(left, right, 1 if op == "+" else -1)
        if op == "-" and a.primitive == b.primitive:
            return _between(left, right)
        if a.primitive == "dateTime" and is_numeric(right):
            return add_seconds(left, _seconds(right) if op == "+" else -_seconds(right))
    if op == "+" and b_is_date:
        if a.name in _DURATIONS:
            return _shift(right, left, 1)
        if b.primitive == "dateTime" and is_numeric(left):
            return add_seconds(right, _seconds(left))
    if a.name in _DURATIONS and a.name == b.name:
        if op in "+-":
            sign = 1 if op == "+" else -1
            if a.name == "yearMonthDuration":
                return ep.YearMonthDuration(left.months + sign * right.months)
            return ep.DayTimeDuration(left.seconds + sign * right.seconds)
        if op == "div":
            amounts = [
                Decimal(d.months) if a.name == "yearMonthDuration" else d.seconds
                for d in (left, right)
            ]
            return _decimal_div(amounts[0], amounts[1])
    if a.name in _DURATIONS and is_numeric(right) and op in ("*", "div"):
        return _scale(left, right, op)
    if b.name in _DURATIONS and is_numeric(left) and op == "*":
        return _scale(right, left, op)
    return None


_DATES = frozenset(["dateTime", "date", "time"])
_DURATIONS = frozenset(["yearMonthDuration", "dayTimeDuration"])


def _seconds(number: Atomic) -> Decimal:
    if isinstance(number, float) and (math.isnan(number) or math.isinf(number)):
        raise error("FODT0001", "a number of seconds must be finite")
    return Decimal(number)


def _shift(value: Any, duration: Any, sign: int) -> Any:
    if isinstance(duration, ep.YearMonthDuration):
        if type_of(value).primitive == "time":
            return None
        return add_months(value, sign * duration.months)
    return add_seconds(value, sign * duration.seconds)


def _between(left: Any, right: Any) -> ep.DayTimeDuration:
    (left_days, left_clock), (right_days, right_clock) = instant(left), instant(right)
    microseconds = left_clock - right_clock
    return ep.DayTimeDuration(
        Decimal((left_days - right_days) * 86400) + Decimal(microseconds) / 1_000_000
    )


def _scale(duration: Any, factor: Atomic, op: str) -> Any:
    if isinstance(factor, float):
        if math.isnan(factor):
            raise error("FOCA0005", "a duration cannot be multiplied or divided by NaN")
        if math.isinf(factor):
            if op == "*":
                raise error("FODT0002", "a duration cannot be multiplied by infinity")
            return type(duration)(0)
    number = Decimal(factor)
    months = isinstance(duration, ep.YearMonthDuration)
    amount = Decimal(duration.months) if months else duration.seconds
    if op == "div":
        if not number:
            raise error("FODT0002", "a duration cannot be divided by zero")
        result = _QUOTIENT.divide(amount, number)
    else:
        result = _EXACT.multiply(amount, number)
    if not months:
        return ep.DayTimeDuration(result)
    # fn:round: halves go towards positive infinity
    rounding = ROUND_HALF_UP if result > 0 else ROUND_HALF_DOWN
    return ep.YearMonthDuration(int(result.quantize(Decimal(1), rounding=rounding)))


def negate(value: Atomic) -> Atomic:
    """`-value` of a number"""
    if type(value) is ep.UntypedAtomic:
        value = cast(value, "double")
    if not is_numeric(value):
        raise error("XPTY0004", f"an {type_of(value)} has no negative; a number is needed")
    if isinstance(value, float):
        return make_float(-float(value)) if isinstance(value, ep.Float) else -value
    return -int(value) if isinstance(value, int) else -value
