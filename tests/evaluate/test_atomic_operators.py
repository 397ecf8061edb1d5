"""Comparison and arithmetic of atomic values, below the evaluator."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import pytest
from elementpath import datatypes as ep
from hypothesis import given
from hypothesis import strategies as st

from xcql.diagnostics import XcqlError
from xcql.evaluate.arithmetic import calculate, negate
from xcql.evaluate.casting import cast
from xcql.evaluate.comparing import bucket, compare, compare_general, order, same_value
from xcql.xdm.atomic import atomic_key, make_float, string_of

NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20),
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-1e9, max_value=1e9),
    st.floats(),
    st.floats(width=32).map(make_float),
)


@given(NUMBERS, NUMBERS)
def test_equal_values_share_a_bucket(a: object, b: object) -> None:
    if same_value(a, b):
        assert bucket(a) == bucket(b)
    assert same_value(a, a)
    assert atomic_key(a) == atomic_key(a)


@given(NUMBERS, NUMBERS)
def test_order_is_antisymmetric(a: object, b: object) -> None:
    assert order(a, b) == -order(b, a)
    assert order(None, a) == -1


@given(st.integers(), st.integers().filter(bool))
def test_quotient_and_remainder(a: int, b: int) -> None:
    quotient, remainder = calculate("idiv", a, b), calculate("mod", a, b)
    assert quotient * b + remainder == a
    assert remainder == 0 or (remainder < 0) == (a < 0)


@given(
    st.datetimes(datetime.datetime(1000, 1, 1), datetime.datetime(3000, 1, 1)),
    st.timedeltas(datetime.timedelta(days=-9999), datetime.timedelta(days=9999)),
)
def test_times_move_as_in_python(start: datetime.datetime, step: datetime.timedelta) -> None:
    microseconds = step // datetime.timedelta(microseconds=1)
    duration = ep.DayTimeDuration(Decimal(microseconds).scaleb(-6))
    begin = cast(start.isoformat(), "dateTime")
    end = cast((start + step).isoformat(), "dateTime")
    assert string_of(calculate("+", begin, duration)) == string_of(end)
    assert string_of(calculate("-", end, begin)) == string_of(duration)


def test_untyped_values_are_cast_in_general_comparisons() -> None:
    untyped = ep.UntypedAtomic
    assert compare_general("eq", untyped("1.0"), 1)
    assert not compare("eq", untyped("1.0"), "1")
    assert not compare_general("eq", untyped("1.0"), untyped("1"))
    assert compare_general("lt", untyped("2000-01-01"), cast("2000-01-02", "date"))
    with pytest.raises(XcqlError, match="FORG0001"):
        compare_general("eq", untyped("x"), 1)
    with pytest.raises(XcqlError, match="XPTY0004"):
        compare("eq", untyped("1"), 1)


@pytest.mark.parametrize(
    ("relation", "left", "right", "expected"),
    [
        ("eq", math.nan, math.nan, False),
        ("ne", math.nan, math.nan, True),
        ("lt", math.nan, 1.0, False),
        ("eq", Decimal("0.1"), 0.1, True),
        ("eq", make_float(0.1), 0.1, False),
        ("eq", 2**53 + 1, float(2**53), True),
        ("eq", cast("P1Y", "yearMonthDuration"), cast("P12M", "duration"), True),
        ("eq", cast("12:00:00Z", "time"), cast("14:00:00+02:00", "time"), True),
        ("lt", cast("-0001-01-01", "date"), cast("0001-01-01", "date"), True),
    ],
)
def test_compare(relation: str, left: object, right: object, expected: bool) -> None:
    assert compare(relation, left, right) is expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sign", "left", "right", "code"),
    [
        ("div", 1, 0, "FOAR0001"),
        ("idiv", 1.0, 0.0, "FOAR0001"),
        ("mod", Decimal(1), 0, "FOAR0001"),
        ("idiv", math.inf, 1, "FOAR0002"),
        ("+", "a", 1, "XPTY0004"),
        ("*", cast("PT1H", "dayTimeDuration"), math.nan, "FOCA0005"),
        ("*", cast("PT1H", "dayTimeDuration"), math.inf, "FODT0002"),
        ("div", cast("P1Y", "yearMonthDuration"), 0, "FODT0002"),
        ("+", cast("P1Y", "duration"), cast("2000-01-01", "date"), "XPTY0004"),
        ("+", cast("2000-01-01", "date"), cast("P2147483647M", "yearMonthDuration"), None),
        ("+", cast("2000-01-01T00:00:00", "dateTime"), 1e300, "FODT0001"),
    ],
)
def test_calculate_errors(sign: str, left: object, right: object, code: str | None) -> None:
    if code is None:
        calculate(sign, left, right)  # type: ignore[arg-type]
        return
    with pytest.raises(XcqlError) as raised:
        calculate(sign, left, right)  # type: ignore[arg-type]
    assert raised.value.code == code


def test_long_decimals_stay_exact() -> None:
    long = Decimal("123456789012345678901234567890.123456789")
    assert negate(long) == long.copy_negate()
    assert string_of(calculate("*", long, Decimal("2"))) == (
        "246913578024691357802469135780.246913578"
    )
