"""Arithmetic of numbers, times and durations."""

from __future__ import annotations

from dataclasses import replace

from xcql.algebra.scalars import FALSE, Call, Constant, Scalar, call, case
from xcql.compile.library.casts import (
    INSTANTS,
    INTEGERS,
    NUMBERS,
    cast,
    common_number,
    in_utc,
    integer_of_double,
    limited_months,
    local_time,
    number,
    on_time_line,
)
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.scope import Scope
from xcql.source import Span


def arithmetic(op: str, a: Atomic, b: Atomic, scope: Scope, span: Span) -> Atomic:
    """The result of an operation on two atomic values; NULL if one of them is."""
    a, b = number(a, scope, span), number(b, scope, span)
    if not (a.type in NUMBERS and b.type in NUMBERS):
        return time_arithmetic(op, a, b, scope, span)
    type_ = common_number([a.type, b.type])
    if a.type in INTEGERS - {"xs:integer"} or b.type in INTEGERS - {"xs:integer"}:
        raise NotNative("arithmetic of derived integers", span)
    by_zero = scope.compilation.error("FOAR0001", "division by zero", span)
    x, y = cast(a, type_, scope, span).scalar, cast(b, type_, scope, span).scalar
    if type_ == "xs:double":
        match op:
            case "+" | "-" | "*":
                return Atomic(call(op, x, y), type_)
            case "div":
                return Atomic(call("double_divide", x, y), type_)
            case "mod":
                return Atomic(call("double_modulo", x, y), type_)
        quotient = case(
            (_is_zero(y, 0.0), by_zero),
            otherwise=integer_of_double(call("double_divide", x, y), scope, span),
        )
        return Atomic(quotient, "xs:integer")
    if type_ == "xs:integer":
        match op:
            case "+" | "-" | "*":
                return Atomic(_computed(op, x, y, span), type_)
            case "div":
                return Atomic(
                    case((_is_zero(y), by_zero), otherwise=call("integer_divide", x, y)),
                    "xs:decimal",
                )
            case "idiv":
                return Atomic(case((_is_zero(y), by_zero), otherwise=call("idiv", x, y)), type_)
            case "mod":
                return Atomic(case((_is_zero(y), by_zero), otherwise=call("%", x, y)), type_)
    too_long = scope.compilation.limit(span)
    match op:
        case "+":
            return Atomic(call("decimal_add", x, y), type_)
        case "-":
            return Atomic(call("decimal_subtract", x, y), type_)
        case "*":
            return Atomic(call("decimal_multiply", x, y, too_long), type_)
    operation = {"div": "decimal_divide", "idiv": "decimal_idiv", "mod": "decimal_modulo"}[op]
    return Atomic(
        case((_is_zero(y), by_zero), otherwise=call(operation, x, y, too_long)),
        "xs:integer" if op == "idiv" else type_,
    )


def _computed(op: str, x: Scalar, y: Scalar, span: Span) -> Scalar:
    """Sums and products of integers; constants are computed at compile time."""
    match x, y:
        case Constant(value=int() as a), Constant(value=int() as b):
            result = a + b if op == "+" else a - b if op == "-" else a * b
            if abs(result) >= 2**63:
                raise NotNative("an integer of more than 64 bits", span)
            return Constant(result)
    return call(op, x, y)


def time_arithmetic(op: str, a: Atomic, b: Atomic, scope: Scope, span: Span) -> Atomic:
    """Sums and differences of times and durations."""
    result = _time_arithmetic(op, a, b, scope, span)
    if result.type == "xs:yearMonthDuration":
        return replace(result, scalar=limited_months(result.scalar, scope, span))
    return result


def _time_arithmetic(op: str, a: Atomic, b: Atomic, scope: Scope, span: Span) -> Atomic:
    if op == "+" and a.type not in INSTANTS and b.type in INSTANTS:
        a, b = b, a
    x, y = a.scalar, b.scalar
    match a.type, op, b.type:
        case "xs:dateTime", "+" | "-", "xs:dayTimeDuration":
            return replace(a, scalar=call("add_microseconds", x, _signed(op, y)))
        case "xs:dateTime", "+" | "-", "xs:yearMonthDuration":
            moved = call("add_months", local_time(a), _signed(op, y))
            return replace(a, scalar=in_utc(moved, a.zone))
        case "xs:date", "+" | "-", "xs:yearMonthDuration":
            moved = call("add_months", call("to_instant", x), _signed(op, y))
            return replace(a, scalar=call("to_date", moved))
        case "xs:date", "+" | "-", "xs:dayTimeDuration":
            moved = call("add_microseconds", call("to_instant", x), _signed(op, y))
            return replace(a, scalar=call("to_date", moved))
        case (("xs:dateTime" | "xs:date"), "-", other) if other == a.type:
            between = call("microseconds_between", on_time_line(b), on_time_line(a))
            return Atomic(between, "xs:dayTimeDuration")
        case "xs:dateTime", "+" | "-", type_ if type_ in NUMBERS:
            shift = _scaled(Atomic(Constant(1_000_000), "xs:dayTimeDuration"), b, scope, span)
            return replace(a, scalar=call("add_microseconds", x, _signed(op, shift.scalar)))
        case (("xs:dayTimeDuration" | "xs:yearMonthDuration"), "+" | "-", other) if other == a.type:
            return Atomic(call(op, x, y), a.type)
        case (("xs:dayTimeDuration" | "xs:yearMonthDuration"), "*", type_) if type_ in NUMBERS:
            return _scaled(a, b, scope, span)
        case type_, "*", ("xs:dayTimeDuration" | "xs:yearMonthDuration") if type_ in NUMBERS:
            return _scaled(b, a, scope, span)
        case (("xs:dayTimeDuration" | "xs:yearMonthDuration"), "div", type_) if type_ in NUMBERS:
            return _divided(a, b, scope, span)
        case (("xs:dayTimeDuration" | "xs:yearMonthDuration"), "div", other) if other == a.type:
            by_zero = scope.compilation.error("FOAR0001", "division by zero", span)
            quotient = call("duration_ratio", x, y)
            return Atomic(case((_is_zero(y), by_zero), otherwise=quotient), "xs:decimal")
    raise NotNative(f"'{op}' of {a.type} and {b.type}", span)


def _signed(op: str, number: Scalar) -> Scalar:
    return number if op == "+" else call("negative", number)


def _scaled(duration: Atomic, factor: Atomic, scope: Scope, span: Span) -> Atomic:
    """A duration times a number: microseconds are rounded half to even, months half up."""
    x, y = duration.scalar, factor.scalar
    is_months = duration.type == "xs:yearMonthDuration"
    match factor.type:
        case "xs:integer":
            return Atomic(call("*", x, y), duration.type)
        case "xs:decimal":
            operation = "times_decimal_half_up" if is_months else "times_decimal_half_even"
            return Atomic(call(operation, x, y), duration.type)
        case "xs:double" if not is_months:
            no_number = scope.compilation.error(
                "FOCA0005", "a duration multiplied or divided by NaN is not a duration", span
            )
            too_long = scope.compilation.error(
                "FODT0002", "the result is too long for a duration", span
            )
            scalar = case(
                (call("is_nan", y), no_number),
                (call("not", call("is_finite", y)), too_long),
                otherwise=call("times_rounded", y, x),
            )
            return Atomic(scalar, duration.type)
    raise NotNative(f"{duration.type} times {factor.type}", span)


def _divided(duration: Atomic, divisor: Atomic, scope: Scope, span: Span) -> Atomic:
    x, y = duration.scalar, divisor.scalar
    too_long = scope.compilation.error("FODT0002", "the result is too long for a duration", span)
    by_zero = _is_zero(y)
    if divisor.type not in ("xs:integer", "xs:decimal"):
        raise NotNative(f"{duration.type} divided by {divisor.type}", span)
    operation = "divided" if divisor.type == "xs:integer" else "by_decimal"
    rounding = "half_up" if duration.type == "xs:yearMonthDuration" else "half_even"
    quotient = call(f"{operation}_{rounding}", x, y)
    return Atomic(case((by_zero, too_long), otherwise=quotient), duration.type)


def _is_zero(divisor: Scalar, zero: float = 0) -> Scalar:
    """Whether a divisor is zero; a literal is known not to be."""
    number = divisor
    while isinstance(number, Call) and number.function in _CONVERSIONS:
        (number,) = number.arguments
    if isinstance(number, Constant) and number.value:
        return FALSE
    return call("=", divisor, Constant(zero))


_CONVERSIONS = frozenset({"to_decimal", "to_double", "to_integer"})
