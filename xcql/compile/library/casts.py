"""Atomic types: how values are written, read and promoted."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from xcql.algebra.scalars import NULL, Call, Constant, Scalar, call, case, conjunction, let
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.scope import Scope
from xcql.diagnostics import XcqlError
from xcql.evaluate.arithmetic import duration_microseconds
from xcql.evaluate.casting import from_text
from xcql.source import Span

_PLAIN_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9])?$"
)
_PLAIN_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9])?$")
# before the year 1, or after 9999
_FAR_YEAR = re.compile(r"-|0000-|[0-9]{5}")
_BLANKS = " \t\r\n"
# the longest duration of the evaluator
_MOST_MONTHS = 2**31
STRINGS = frozenset({"xs:string", "xs:untypedAtomic", "xs:anyURI"})
INTEGERS = frozenset(
    f"xs:{name}"
    for name in (
        "integer",
        "long",
        "int",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "unsignedLong",
        "unsignedInt",
        "unsignedShort",
        "unsignedByte",
        "nonPositiveInteger",
        "negativeInteger",
    )
)
NUMBERS = INTEGERS | {"xs:decimal", "xs:double", "xs:float"}
INSTANTS = frozenset({"xs:dateTime", "xs:date"})
SUPPORTED = STRINGS | {
    "xs:integer",
    "xs:decimal",
    "xs:double",
    "xs:boolean",
    "xs:dateTime",
    "xs:date",
    "xs:time",
    "xs:dayTimeDuration",
    "xs:yearMonthDuration",
}


def to_string(item: Atomic) -> Scalar:
    """An atomic value as `xs:string` writes it."""
    value = item.scalar
    match item.type:
        case type_ if type_ in STRINGS or type_ == "xs:QName":
            return value
        case "xs:double":
            return call("double_text", value)
        case "xs:decimal":
            return call("decimal_text", value)
        case "xs:dateTime":
            return call("zoned_time_text", value, item.zone or Constant(""))
        case "xs:date":
            return call("zoned_date_text", value, item.zone or Constant(""))
        case "xs:time":
            on_a_day = call("add_microseconds", Constant(datetime(1970, 1, 1)), value)
            clock = call("substring_of_text", call("time_text", on_a_day), Constant(12))
            return call("concat", clock, item.zone or Constant(""))
        case "xs:dayTimeDuration":
            return call("day_time_text", value)
        case "xs:yearMonthDuration":
            return call("year_month_text", value)
        case "xs:boolean" | "xs:integer":
            return call("to_string", value)
    raise NotNative(f"{item.type} as text")


def cast(item: Atomic, target: str, scope: Scope, span: Span) -> Atomic:
    """The value in another type; if it cannot be cast, the query fails with FORG0001."""
    if item.type == target:
        return item
    if target in ("xs:string", "xs:untypedAtomic"):
        return Atomic(to_string(item), target)
    if target not in SUPPORTED or item.type not in SUPPORTED:
        raise NotNative(f"a cast from {item.type} to {target}", span)
    if item.type == "xs:anyURI":
        raise NotNative("a cast from xs:anyURI", span)
    if item.type in STRINGS:
        return _parsed(item, target, scope, span)
    value = item.scalar
    match item.type, target:
        case "xs:integer" | "xs:decimal", "xs:double":
            return Atomic(call("to_double", value), target)
        case "xs:integer", "xs:decimal":
            return Atomic(call("to_decimal", value), target)
        case "xs:decimal", "xs:integer":
            return Atomic(call("to_integer", value), target)
        case "xs:double", "xs:integer":
            bad = scope.compilation.error(
                "FOCA0002", "'{}' is not a valid number here", span, call("double_text", value)
            )
            fits = call("is_finite", value)
            return Atomic(
                case(
                    (call("is_null", value), NULL),
                    (fits, integer_of_double(value, scope, span)),
                    otherwise=bad,
                ),
                target,
            )
        case "xs:integer" | "xs:decimal" | "xs:double", "xs:boolean":
            return Atomic(number_truth(item), target)
        case "xs:boolean", "xs:integer" | "xs:double" | "xs:decimal":
            return Atomic(
                call(
                    {
                        "xs:integer": "to_integer",
                        "xs:double": "to_double",
                        "xs:decimal": "to_decimal",
                    }[target],
                    call("to_int", value),
                ),
                target,
            )
        case "xs:dateTime", "xs:date":
            return Atomic(call("to_date", local_time(item)), target, item.zone)
        case "xs:date", "xs:dateTime":
            local = call("to_instant", value)
            return Atomic(in_utc(local, item.zone), target, item.zone)
        case "xs:dateTime", "xs:time":
            return Atomic(call("time_of_day", local_time(item)), target, item.zone)
        case "xs:yearMonthDuration", "xs:dayTimeDuration":
            return Atomic(_zero_of(value), target)
        case "xs:dayTimeDuration", "xs:yearMonthDuration":
            return Atomic(_zero_of(value), target)
    raise NotNative(f"a cast from {item.type} to {target}", span)


def is_plain_zone(zone: Scalar | None) -> bool:
    """Whether local time equals UTC: the time has no zone, or UTC."""
    return zone in (None, Constant(""), Constant("Z"))


def local_time(item: Atomic) -> Scalar:
    """A time as it reads in its zone."""
    if is_plain_zone(item.zone):
        return item.scalar
    assert item.zone is not None
    return call("in_zone", item.scalar, item.zone)


def in_utc(local: Scalar, zone: Scalar | None) -> Scalar:
    """The instant of a local time in a zone."""
    if zone is None or is_plain_zone(zone):
        return local
    return call("out_of_zone", local, zone)


def on_time_line(item: Atomic) -> Scalar:
    """A time, or the midnight of a date, as an instant to compare by."""
    if item.type == "xs:dateTime":
        return item.scalar
    return in_utc(call("to_instant", item.scalar), item.zone)


def _zero_of(value: Scalar) -> Scalar:
    """Zero: one kind of duration has no part of the other."""
    return case((call("is_not_null", value), Constant(0)))


def _parsed(item: Atomic, target: str, scope: Scope, span: Span) -> Atomic:
    """A string read as a value of another type."""
    text = item.scalar
    name = target.removeprefix("xs:")
    if target == "xs:anyURI":
        return Atomic(call("collapsed", text), target)
    known = _known(text, target)
    if known is not None:
        return known

    def checked(text: Scalar) -> Scalar:
        bad = scope.compilation.error("FORG0001", f"'{{}}' is not a valid {target}", span, text)
        is_text, is_any = call(f"is_{name}_text", text), call("is_not_null", text)
        value = _read(text, target, scope, span)
        if target != "xs:double":
            return case((is_text, value), (is_any, bad))
        # unlike the check, the value itself cannot fail, so that it can be computed once
        return let(
            case((is_text, value)),
            "number",
            lambda known: case((conjunction(call("is_null", known), is_any), bad), otherwise=known),
        )

    zone = call("zone_of", text) if target in INSTANTS else None
    if target == "xs:time":
        zone = call("zone_of_time", text)
    return Atomic(let(text, "text", checked), target, zone)


def _read(text: Scalar, target: str, scope: Scope, span: Span) -> Scalar:
    """The value of a text in the form of a type."""
    name = f"parse_{target.removeprefix('xs:')}"
    if target in ("xs:integer", "xs:decimal"):
        return call(name, text, scope.compilation.limit(span))
    if target == "xs:yearMonthDuration":
        return limited_months(call(name, text), scope, span)
    return call(name, text)


def integer_of_double(value: Scalar, scope: Scope, span: Span) -> Scalar:
    """A double without its fraction; Spark takes 2 ** 63 for an integer of 64 bits."""
    too_large = scope.compilation.limit(span)

    def truncated(value: Scalar) -> Scalar:
        size = call("coalesce", call("abs", value), Constant(0.0))
        fits = call("<", size, Constant(2.0**63))
        return case((fits, call("to_integer", value)), otherwise=too_large)

    return let(value, "double", truncated)


def limited_months(months: Scalar, scope: Scope, span: Span) -> Scalar:
    """A number of months, if it is one that a duration may have."""
    if isinstance(months, Constant):
        return months
    too_long = scope.compilation.limit(span)
    return let(
        months, "months", lambda months: case((_is_short(months), months), otherwise=too_long)
    )


def _is_short(months: Scalar) -> Scalar:
    return call("<=", call("abs", call("coalesce", months, Constant(0))), Constant(_MOST_MONTHS))


def _known(text: Scalar, target: str) -> Atomic | None:
    """A constant, parsed at compile time."""
    if not isinstance(text, Constant) or not isinstance(text.value, str):
        return None
    if target in INSTANTS and _FAR_YEAR.match(text.value.strip(_BLANKS)):
        raise NotNative("a year that SQL cannot represent")
    try:
        match target:
            case "xs:integer" | "xs:decimal" | "xs:double" | "xs:boolean":
                value = from_text(text.value, target.removeprefix("xs:"))
                return Atomic(Constant(value), target) if is_writable(value) else None
            case "xs:dayTimeDuration":
                length = duration_microseconds(from_text(text.value, "dayTimeDuration"))
                return Atomic(Constant(length), target) if is_writable(length) else None
            case "xs:yearMonthDuration":
                months = from_text(text.value, "yearMonthDuration").months
                return Atomic(Constant(int(months)), target) if is_writable(months) else None
            case "xs:date" if _PLAIN_DATE.match(text.value.strip(_BLANKS)):
                day = text.value.strip(_BLANKS)
                known = call("to_date", Constant(datetime.fromisoformat(day[:10])))
                return Atomic(known, target, Constant(_zone(day[10:])))
            case "xs:dateTime" if _PLAIN_TIME.match(text.value.strip()):
                moment = datetime.fromisoformat(text.value.strip())
                zone = text.value.strip()[19:].lstrip(".0123456789")
                if moment.tzinfo is not None:
                    moment = moment.astimezone(UTC).replace(tzinfo=None)
                return Atomic(Constant(moment), target, Constant(_zone(zone)))
    except (ValueError, TypeError, OverflowError, XcqlError):
        return None
    return None


def is_writable(value: object) -> bool:
    """Whether SQL can hold all digits of a number."""
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        return exponent >= -20 and len(digits) + exponent <= 17
    return not isinstance(value, int) or -(2**63) < value < 2**63


def _zone(zone: str) -> str:
    return "Z" if zone in ("+00:00", "-00:00") else zone


def castable(item: Atomic, target: str, span: Span) -> Scalar:
    """Whether a value that is not empty can be cast."""
    if item.type == target or target in ("xs:string", "xs:untypedAtomic"):
        return Constant(True)
    if target == "xs:anyURI":
        raise NotNative("whether a value can be cast to xs:anyURI", span)
    if item.type in STRINGS - {"xs:anyURI"} and target in SUPPORTED:
        return _is_written(item.scalar, target)
    if item.type in NUMBERS and target in NUMBERS - INTEGERS | {"xs:integer"}:
        if item.type == "xs:double" and target != "xs:double":
            return call("is_finite", item.scalar)
        return Constant(True)
    raise NotNative(f"whether {item.type} can be cast to {target}", span)


def _is_written(text: Scalar, target: str) -> Scalar:
    """Whether a text can be read as a value of a type."""
    name = target.removeprefix("xs:")
    is_text = call(f"is_{name}_text", text)
    if target == "xs:yearMonthDuration":
        return case((is_text, _is_short(call(f"parse_{name}", text))), otherwise=Constant(False))
    return is_text


def number_truth(item: Atomic) -> Scalar:
    """The effective boolean value of a number."""
    if item.type == "xs:double":
        return Call(
            "and",
            (call("<>", item.scalar, Constant(0)), call("not", call("is_nan", item.scalar))),
        )
    return call("<>", item.scalar, Constant(0))


def number(item: Atomic, scope: Scope, span: Span) -> Atomic:
    """An operand of arithmetic: untyped data is treated as xs:double."""
    if item.type == "xs:untypedAtomic":
        return cast(item, "xs:double", scope, span)
    return item


def as_string(item: Atomic) -> Atomic:
    """The item; untyped data is treated as xs:string."""
    return replace(item, type="xs:string") if item.type == "xs:untypedAtomic" else item


def common_number(types: list[str]) -> str:
    """The type that numbers of several types are promoted to."""
    for type_ in ("xs:double", "xs:float", "xs:decimal"):
        if type_ in types:
            return type_
    return "xs:integer"


def text_or_empty(item: Atomic) -> Scalar:
    text = to_string(item)
    return text if isinstance(text, Constant) else call("coalesce", text, Constant(""))
