"""Numbers."""

from __future__ import annotations

import re
from dataclasses import replace

from xcql.algebra.scalars import Constant, Scalar, call, case
from xcql.compile.functions.sequences import argument_or_context
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import INTEGERS, NUMBERS, STRINGS, cast, castable, number
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.values import EMPTY, Single, Value, nullable

native = NativeFunctions()


@native("number", 0, 1)
def _number(site: CallSite) -> Value:
    value = argument_or_context(site)
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


def _of_number(
    site: CallSite, integer: str | None, double: str, decimal: str, digits: int | None = None
) -> Value:
    """A function of one number that keeps its type; `digits` is the precision to round to."""
    value = site.arguments[0]
    if value == EMPTY:
        return EMPTY
    item = one_atomic(value, site.scope, site.span)
    assert item is not None
    item = number(item, site.scope, site.span)
    more = () if digits is None else (Constant(digits),)
    scalar: Scalar
    if item.type == "xs:integer":
        if integer is None or (digits is not None and digits >= 0):
            scalar = item.scalar
        elif digits is None:
            scalar = call(integer, item.scalar)
        else:
            scalar = call(integer, item.scalar, Constant(10**-digits))
    elif item.type == "xs:double":
        if digits is not None and digits < 0:
            raise NotNative("rounding of a double to tens", site.span)
        scalar = call(double, item.scalar, *(() if double == "round_half_up" else more))
    elif item.type == "xs:decimal":
        scalar = call(decimal, item.scalar, *more)
    else:
        raise NotNative(f"a number of type {item.type}", site.span)
    return nullable(replace(item, scalar=scalar), value)


def _declare(name: str, integer: str | None, double: str, decimal: str) -> None:
    native(name, 1)(lambda site: _of_number(site, integer, double, decimal))


_declare("abs", "abs", "abs", "decimal_abs")
_declare("floor", None, "double_floor", "decimal_floor")
_declare("ceiling", None, "double_ceiling", "decimal_ceiling")


@native("round", 1, 2)
def _round(site: CallSite) -> Value:
    digits = _digits(site)
    if digits == 0:
        return _of_number(site, None, "round_half_up", "decimal_round", digits)
    return _of_number(site, "integer_round", "round_digits", "decimal_round", digits)


@native("round-half-to-even", 1, 2)
def _round_half_to_even(site: CallSite) -> Value:
    digits = _digits(site)
    if digits < 0:
        raise NotNative("rounding to tens", site.span)
    return _of_number(site, None, "round_half_even", "decimal_round_half_even", digits)


def _digits(site: CallSite) -> int:
    """The number of digits after the point to round to; it must be known at compile time."""
    if len(site.arguments) == 1:
        return 0
    item = one_atomic(site.arguments[1], site.scope, site.span)
    if item is None or item.type != "xs:integer" or not isinstance(item.scalar, Constant):
        raise NotNative("a number of digits that is not known", site.span)
    digits = item.scalar.value
    assert isinstance(digits, int)
    if not -17 <= digits <= 15:
        raise NotNative("so many digits", site.span)
    return digits


@native("format-integer", 2)
def _format_integer(site: CallSite) -> Value:
    """Format an integer with a picture of digits alone: its length is the minimum."""
    number_, picture = (one_atomic(one, site.scope, site.span) for one in site.arguments)
    if number_ is None:
        return Single(Atomic(Constant(""), "xs:string"))
    wanted = picture.scalar if picture is not None else None
    if not isinstance(wanted, Constant) or not _DIGITS.fullmatch(str(wanted.value)):
        raise NotNative("such a picture of a number", site.span)
    if number_.type == "xs:untypedAtomic":
        number_ = cast(number_, "xs:integer", site.scope, site.span)
    if number_.type not in INTEGERS:
        raise NotNative(f"{number_.type} as an integer", site.span)
    least = len(str(wanted.value).lstrip("#"))
    scalar = call("padded_integer", number_.scalar, Constant(least))
    return Single(Atomic(call("coalesce", scalar, Constant("")), "xs:string"))


_DIGITS = re.compile(r"#*(0+1?|1)")
