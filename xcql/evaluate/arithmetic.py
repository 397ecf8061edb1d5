"""Arithmetic on atomic values: numbers, dates and durations.

>>> calculate("+", 1, Decimal("0.5"))
Decimal('1.5')

Tests: tests/evaluate/test_atomic_operators.py
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_DOWN, Context, Decimal, DecimalException
from fractions import Fraction
from typing import Any, Literal

from elementpath import datatypes as ep

from xcql.diagnostics import XcqlError, error
from xcql.evaluate import dates
from xcql.evaluate.casting import cast
from xcql.evaluate.comparing import promoted
from xcql.xdm.atomic import Atomic, astronomical_year, is_numeric, make_float, type_of

Operator = Literal["+", "-", "*", "div", "idiv", "mod"]

# enough digits to make sums and products of decimals exact in practice
DECIMALS = Context(prec=120, Emax=MAX_EMAX, Emin=MIN_EMIN)
# digits after the point of an infinite quotient
_QUOTIENT_DIGITS = 18
# and of a duration divided by another
_RATIO_DIGITS = 20
_DAY = 86400 * 1_000_000


def calculate(sign: Operator, left: Atomic, right: Atomic) -> Atomic:
    """The value of `left sign right`; an untyped operand is cast to xs:double."""
    if type(left) is int and type(right) is int:
        if sign == "+":
            return left + right
        if sign == "-":
            return left - right
        if sign == "*":
            return left * right
        return _INTEGERS[sign](left, right)
    if type(left) is float and type(right) is float:
        return _FLOATS[sign](left, right)
    if type(left) is ep.UntypedAtomic:
        left = cast(left, "double")
    if type(right) is ep.UntypedAtomic:
        right = cast(right, "double")
    if is_numeric(left) and is_numeric(right):
        return _numbers(sign, left, right)
    try:
        result = _times(sign, left, right)
    except (OverflowError, DecimalException):
        raise error("FODT0002", "the result is too long for a duration") from None
    if result is None:
        raise _undefined(sign, left, right)
    return result


def negate(value: Atomic) -> Atomic:
    """The value of `-value`."""
    if type(value) is ep.UntypedAtomic:
        value = cast(value, "double")
    if not is_numeric(value):
        raise error("XPTY0004", f"- needs a number, not {type_of(value)}")
    if isinstance(value, Decimal):
        return value.copy_negate() if value else value  # a decimal has no negative zero
    return make_float(-float(value)) if type(value) is ep.Float else -value


def plus(value: Atomic) -> Atomic:
    """The value of `+value`: the number itself."""
    if type(value) is ep.UntypedAtomic:
        return cast(value, "double")
    if not is_numeric(value):
        raise error("XPTY0004", f"+ needs a number, not {type_of(value)}")
    return int(value) if isinstance(value, int) else value


def _undefined(sign: str, left: Atomic, right: Atomic) -> XcqlError:
    return error("XPTY0004", f"{type_of(left)} {sign} {type_of(right)} is not defined")


def _by_zero() -> XcqlError:
    return error("FOAR0001", "division by zero")


# numbers


def _numbers(sign: Operator, left: Any, right: Any) -> Atomic:
    single = (type(left) is ep.Float or type(right) is ep.Float) and (
        type(left) is not float and type(right) is not float
    )
    a, b = promoted(left, right)
    if isinstance(a, float):
        result = _FLOATS[sign](a, b)
        return make_float(result) if single and sign != "idiv" else result
    if isinstance(a, int) and isinstance(b, int):
        return _INTEGERS[sign](int(a), int(b))
    return _DECIMALS[sign](Decimal(a), Decimal(b))


def _float_divide(a: float, b: float) -> float:
    if b == 0:
        if a == 0 or a != a:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def _float_quotient(a: float, b: float) -> int:
    if b == 0:
        raise _by_zero()
    if a != a or b != b or math.isinf(a):
        raise error("FOAR0002", "NaN and infinity have no integer quotient")
    if math.isinf(b):
        return 0
    quotient = a / b
    return int(quotient) if math.isfinite(quotient) else int(Fraction(a) / Fraction(b))


def _float_remainder(a: float, b: float) -> float:
    if a != a or b != b or math.isinf(a) or b == 0:
        return math.nan
    return math.fmod(a, b)


def _integer_quotient(a: int, b: int) -> int:
    if b == 0:
        raise _by_zero()
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _integer_remainder(a: int, b: int) -> int:
    if b == 0:
        raise _by_zero()
    remainder = abs(a) % abs(b)
    return -remainder if a < 0 else remainder


def decimal_divide(
    a: int | Decimal, b: int | Decimal, least_digits: int = _QUOTIENT_DIGITS
) -> Decimal:
    """A quotient with 18 digits after the point, or as many as the operands have.

    Saxon returns the same digits, so the same query has the same answer there.
    """
    if b == 0:
        raise _by_zero()
    a, b = Decimal(a), Decimal(b)
    quotient = DECIMALS.divide(a, b)
    digits = max(least_digits, _scale(a), _scale(b))
    if _scale(quotient) <= digits or quotient.adjusted() + digits >= DECIMALS.prec:
        return quotient
    return quotient.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_DOWN, DECIMALS)


def _scale(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _decimal_quotient(a: Decimal, b: Decimal) -> int:
    if b == 0:
        raise _by_zero()
    return int(Fraction(a) / Fraction(b))


def _decimal_remainder(a: Decimal, b: Decimal) -> Decimal:
    quotient = _decimal_quotient(a, b)
    return DECIMALS.subtract(a, DECIMALS.multiply(b, Decimal(quotient)))


_INTEGERS: dict[str, Callable[[int, int], int | Decimal]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "div": decimal_divide,
    "idiv": _integer_quotient,
    "mod": _integer_remainder,
}
_DECIMALS: dict[str, Callable[[Decimal, Decimal], int | Decimal]] = {
    "+": DECIMALS.add,
    "-": DECIMALS.subtract,
    "*": DECIMALS.multiply,
    "div": decimal_divide,
    "idiv": _decimal_quotient,
    "mod": _decimal_remainder,
}
_FLOATS: dict[str, Callable[[float, float], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "div": _float_divide,
    "idiv": _float_quotient,
    "mod": _float_remainder,
}


# dates and durations


def _times(sign: Operator, left: Any, right: Any) -> Atomic | None:
    """The value, or None if the operator is not defined for the two types."""
    if isinstance(left, ep.AbstractDateTime):
        if isinstance(right, ep.AbstractDateTime):
            return _difference(left, right) if sign == "-" else None
        if sign in ("+", "-"):
            return shifted(left, right, 1 if sign == "+" else -1)
    elif isinstance(right, ep.AbstractDateTime):
        return shifted(right, left, 1) if sign == "+" else None
    elif isinstance(left, (ep.DayTimeDuration, ep.YearMonthDuration)):
        if type(left) is type(right):
            return _durations(sign, left, right)
        if is_numeric(right) and sign in ("*", "div"):
            return _scaled(left, right, divide=sign == "div")
    elif (
        isinstance(right, (ep.DayTimeDuration, ep.YearMonthDuration))
        and is_numeric(left)
        and sign == "*"
    ):
        return _scaled(right, left, divide=False)
    return None


def _difference(left: Any, right: Any) -> ep.DayTimeDuration | None:
    kind = type_of(left).primitive
    if kind != type_of(right).primitive or kind not in ("dateTime", "date", "time"):
        return None
    return seconds_duration(dates.microseconds_of(left) - dates.microseconds_of(right))


def seconds_duration(microseconds: int) -> ep.DayTimeDuration:
    """An xs:dayTimeDuration of that many microseconds."""
    return ep.DayTimeDuration(Decimal(microseconds).scaleb(-6))


def duration_microseconds(value: ep.DayTimeDuration) -> int:
    return int(value.seconds * 1_000_000)


def shifted(value: Any, distance: Any, direction: int) -> ep.AbstractDateTime | None:
    """A date or time moved by a duration, or a dateTime by a number of seconds (an XCQL addition).

    None if the two types cannot be combined.
    """
    kind: Any = ep.DateTime if isinstance(value, ep.DateTime) else type(value)
    if kind not in (ep.DateTime, ep.Date, ep.Time):
        return None
    if isinstance(distance, ep.YearMonthDuration):
        return None if kind is ep.Time else _months_later(kind, value, direction * distance.months)
    if isinstance(distance, ep.DayTimeDuration):
        step = duration_microseconds(distance)
    elif kind is ep.DateTime and is_numeric(distance):
        if isinstance(distance, float) and not math.isfinite(distance):
            raise error("FOCA0005", "a time plus NaN or infinity is not a time")
        step = round(Fraction(distance) * 1_000_000)
    else:
        return None
    local = dates.microseconds_of(value) + dates.offset_of(value.tzinfo) + direction * step
    if kind is ep.Time:
        return dates.build(ep.Time, 2000, 1, 1, local % _DAY, value.tzinfo)
    moved = local - dates.offset_of(value.tzinfo)
    result: ep.AbstractDateTime = dates.at(kind, 0, moved, value.tzinfo)
    return result


def _months_later(kind: Any, value: ep.AbstractDateTime, months: int) -> ep.AbstractDateTime:
    total = astronomical_year(value) * 12 + value.month - 1 + months
    year, month = divmod(total, 12)
    day = min(value.day, dates.days_in_month(year, month + 1))
    clock = dates.time_of_day(value)
    result: ep.AbstractDateTime = dates.build(kind, year, month + 1, day, clock, value.tzinfo)
    return result


def _durations(sign: Operator, left: Any, right: Any) -> Atomic | None:
    a, b = _measure(left), _measure(right)
    if sign == "+":
        return _duration_of(type(left), a + b)
    if sign == "-":
        return _duration_of(type(left), a - b)
    return decimal_divide(a, b, _RATIO_DIGITS) if sign == "div" else None


def _measure(value: Any) -> Decimal:
    """The months of a yearMonthDuration or the seconds of a dayTimeDuration."""
    return Decimal(value.months) if isinstance(value, ep.YearMonthDuration) else value.seconds


def _duration_of(kind: Any, measure: Decimal) -> ep.Duration:
    value: ep.Duration = kind(int(measure) if kind is ep.YearMonthDuration else measure)
    return value


def _scaled(value: Any, number: Any, *, divide: bool) -> ep.Duration:
    kind = type(value)
    if number != number:
        raise error("FOCA0005", "a duration multiplied or divided by NaN is not a duration")
    infinite = isinstance(number, float) and math.isinf(number)
    if divide and infinite:
        return _duration_of(kind, Decimal(0))
    if infinite or (divide and number == 0):
        raise error("FODT0002", "the result is too long for a duration")
    factor = Fraction(float(number)) if isinstance(number, float) else Fraction(number)
    exact = Fraction(_measure(value)) / factor if divide else Fraction(_measure(value)) * factor
    if kind is ep.YearMonthDuration:
        return ep.YearMonthDuration(math.floor(exact + Fraction(1, 2)))
    return seconds_duration(round(exact * 1_000_000))
