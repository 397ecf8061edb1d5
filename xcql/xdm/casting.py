"""Casting between atomic types, by the table of "XPath and XQuery Functions and Operators".

elementpath's classes hold the values; what is lexically right is decided here, since its parsers
are more lenient (white space) and less (years) than XML Schema 1.1.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from elementpath import datatypes as ep

from xcql.diagnostics import XcqlError, error
from xcql.xdm.atomic import (
    ATOMIC_TYPES,
    Atomic,
    AtomicType,
    is_numeric,
    make_float,
    string_of,
    type_of,
)
from xcql.xdm.dates import build_datetime, parse_datetime, zone_of

PrefixResolver = Callable[[str], str | None]

LIST_TYPES = {"NMTOKENS": "NMTOKEN", "IDREFS": "IDREF", "ENTITIES": "ENTITY"}

_SPACE = " \t\r\n"
_START = "A-Z_a-zÀ-ÖØ-öø-˿Ͱ-ͽͿ-῿\u200c-\u200d⁰-↏Ⰰ-⿯、-퟿豈-﷏ﷰ-�\U00010000-\U000effff"
_MORE = f"{_START}\\-.0-9·̀-ͯ‿-⁀"
NCNAME = re.compile(f"[{_START}][{_MORE}]*")
_TEXT_PATTERNS = {
    "language": re.compile("[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*"),
    "NMTOKEN": re.compile(f"[:{_MORE}]+"),
    "Name": re.compile(f"[:{_START}][:{_MORE}]*"),
    "NCName": NCNAME,
    "ID": NCNAME,
    "IDREF": NCNAME,
    "ENTITY": NCNAME,
}
_DOUBLE = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DURATION = re.compile(
    r"(-)?P(?=[0-9T])(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)D)?"
    r"(?:T(?=[0-9.])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]*)?|\.[0-9]+)S)?)?"
)
_HEX = re.compile("([0-9a-fA-F]{2})*")
_BASE64 = re.compile(
    "((?:[A-Za-z0-9+/] ?){4})*(([A-Za-z0-9+/] ?){2}[AEIMQUYcgkosw048] ?=|"
    "[A-Za-z0-9+/] ?[AQgw] ?= ?=)?"
)
_SPECIAL_NUMBERS = {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}
# more digits than that make Python's conversion of text to int quadratic
_MAX_DIGITS = 4000


def cast(value: Atomic, name: str, resolve_prefix: PrefixResolver | None = None) -> Atomic:
    """The value as the atomic type of that local name, or an error as `cast as` raises it.

    >>> cast("42", "integer"), cast(2.9, "integer")
    (42, 2)
    """
    if name == "numeric":
        return value if is_numeric(value) else cast(value, "double")
    if name == "error":
        raise error("FORG0001", "no value can be cast to xs:error")
    target = ATOMIC_TYPES[name]
    source = type_of(value)
    if source is target:
        return value
    try:
        if target.primitive == "QName":
            return _to_qname(value, source, resolve_prefix)
        converted = _PRIMITIVES[target.primitive](value, source, target)
    except (OverflowError, ValueError) as problem:
        if isinstance(problem, XcqlError):
            raise
        raise invalid(value, target) from None
    if target.primitive != target.name and type(converted) is not target.python:
        converted = _derive(converted, value, target)
    return converted


def cast_list(text: str, name: str) -> list[Atomic]:
    """The members of a list type such as xs:NMTOKENS."""
    words = text.split()
    if not words:
        raise error("FORG0001", f"xs:{name} needs at least one word")
    return [cast(word, LIST_TYPES[name]) for word in words]


def invalid(value: Atomic, target: AtomicType) -> XcqlError:
    text = string_of(value)
    shown = text if len(text) <= 60 else text[:57] + "..."
    return error("FORG0001", f'"{shown}" is not a valid {target}')


def _impossible(source: AtomicType, target: AtomicType) -> XcqlError:
    return error("XPTY0004", f"an {source} cannot be cast to {target}")


def _text(value: Atomic, source: AtomicType) -> str | None:
    """The collapsed text of a string or untyped value; None for other types."""
    if source.primitive in ("string", "untypedAtomic"):
        return string_of(value).strip(_SPACE)
    return None


def _to_untyped(value: Atomic, source: AtomicType, target: AtomicType) -> Atomic:
    return ep.UntypedAtomic(string_of(value))


def _to_string(value: Atomic, source: AtomicType, target: AtomicType) -> Atomic:
    return string_of(value)


def _to_boolean(value: Atomic, source: AtomicType, target: AtomicType) -> Atomic:
    text = _text(value, source)
    if text is not None:
        if text in ("true", "1"):
            return True
        if text in ("false", "0"):
            return False
        raise invalid(value, target)
    if source.primitive == "boolean":
        return value
    if is_numeric(value):
        return bool(value) and not (isinstance(value, float) and math.isnan(value))
    raise _impossible(source, target)


def _number(value: Atomic, source: AtomicType, target: AtomicType) -> float | None:
    """The floating point number of a text, a number or a boolean."""
    text = _text(value, source)
    if text is not None:
        if text in _SPECIAL_NUMBERS:
            return _SPECIAL_NUMBERS[text]
        if not _DOUBLE.fullmatch(text):
            raise invalid(value, target)
        return float(text)
    if source.primitive == "boolean" or is_numeric(value):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    raise _impossible(source, target)


def _to_double(value: Atomic, source: AtomicType, target: AtomicType) -> Atomic:
    return _number(value, source, target)


def _to_float(value: Atomic, source: AtomicType, target: AtomicType) -> Atomic:
    number = _number(value, source, target)
    assert number is not None
    return make_float(number)


def _to_decimal(value: Atomic, source: AtomicType, target: AtomicType) -> Atomic:
    wants_integer = target.derives_from("integer")
    text = _text(value, source)
    if text is not None:
        pattern = _INTEGER if wants_integer else _DECIMAL
        if not pattern.fullmatch(text):
            raise invalid(value, target)
        if len(text) > _MAX_DIGITS:
            raise error("FOCA0003" if wants_integer else "FOCA0001", "the number is too long")
        return int(text) if wants_integer else Decimal(text)
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            raise error("FOCA0002", f"{string_of(value)} cannot be cast to {target}")
        return int(value) if wants_integer else Decimal(float(value))
    if isinstance(value, (int, Decimal)):  # xs:boolean is one of them
        return int(value) if wants_integer else Decimal(value)
    raise _impossible(source, target)


def _to_duration(value: Atomic, source: AtomicType, target: AtomicType) -> Atomic:
    text = _text(value, source)
    if text is not None:
        months, seconds = _parse_duration(text, value, target)
    elif source.primitive == "duration":
        months, seconds = value.months, value.seconds
    else:
        raise _impossible(source, target)
    try:
        if target.name == "yearMonthDuration":
            return ep.YearMonthDuration(months)
        if target.name == "dayTimeDuration":
            return ep.DayTimeDuration(seconds)
        return ep.Duration(months, seconds)
    except (OverflowError, ArithmeticError):
        raise error("FODT0002", f'the duration "{string_of(value)}" is too long') from None


def _parse_duration(text: str, value: Atomic, target: AtomicType) -> tuple[int, Decimal]:
    match = _DURATION.fullmatch(text)
    if match is None or text.endswith("T"):
        raise invalid(value, target)
    if len(text) > _MAX_DIGITS:
        raise error("FODT0002", "the duration is too long")
    sign, years, months, days, hours, minutes, seconds = match.groups()
    if target.name == "yearMonthDuration" and (days or hours or minutes or seconds):
        raise invalid(value, target)
    if target.name == "dayTimeDuration" and (years or months):
        raise invalid(value, target)
    in_months = int(years or 0) * 12 + int(months or 0)
    whole = (int(days or 0) * 24 + int(hours or 0)) * 3600 + int(minutes or 0) * 60
    in_seconds = whole + Decimal(seconds or 0)
    return (-in_months, -in_seconds) if sign else (in_months, in_seconds)


def _to_datetime(value: Atomic, source: AtomicType, target: AtomicType) -> Atomic:
    """dateTime, date, time and the g-types, from text and from each other."""
    text = _text(value, source)
    if text is not None:
        parsed = parse_datetime(text, target.primitive)
        if parsed is None:
            raise invalid(value, target)
        result = parsed
    elif source.primitive == target.primitive:
        result = value
    elif (
        (source.primitive, target.primitive) == ("date", "dateTime")
        or (
            source.primitive in ("dateTime", "date")
            and target.primitive not in ("dateTime", "time")
        )
        or (source.primitive, target.primitive) == ("dateTime", "time")
    ):
        result = build_datetime(
            target.primitive,
            value.year if value.year > 0 else value.year + 1,
            value.month,
            value.day,
            value.hour,
            value.minute,
            value.second,
            value.microsecond,
            value.tzinfo,
        )
    else:
        raise _impossible(source, target)
    if target.name == "dateTimeStamp":
        if zone_of(result) is None:
            raise invalid(value, target)
        stamp = object.__new__(ep.DateTimeStamp)
        stamp._dt, stamp._year = result._dt, result._year
        return stamp
    if source.name == "dateTimeStamp" and target.name == "dateTime":
        plain = object.__new__(ep.DateTime)
        plain._dt, plain._year = result._dt, result._year
        return plain
    return result


def _to_binary(value: Atomic, source: AtomicType, target: AtomicType) -> Atomic:
    text = _text(value, source)
    wants_hex = target.name == "hexBinary"
    if text is not None:
        if wants_hex:
            if not _HEX.fullmatch(text):
                raise invalid(value, target)
            return ep.HexBinary(text, True)
        text = re.sub(f"[{_SPACE}]+", " ", text)
        if not _BASE64.fullmatch(text):
            raise invalid(value, target)
        return ep.Base64Binary(text.replace(" ", ""), True)
    if source.primitive in ("hexBinary", "base64Binary"):
        data = value.decode()
        if wants_hex:
            return ep.HexBinary(data.hex().upper(), True)
        return ep.Base64Binary(base64.b64encode(data).decode("ascii"), True)
    raise _impossible(source, target)


def _to_uri(value: Atomic, source: AtomicType, target: AtomicType) -> Atomic:
    text = _text(value, source)
    if text is None:
        raise _impossible(source, target)
    return make_uri(re.sub(f"[{_SPACE}]+", " ", text))


def make_uri(text: str) -> ep.AnyURI:
    """An xs:anyURI of any text: XML Schema 1.1 allows every string, elementpath does not."""
    uri = object.__new__(ep.AnyURI)
    uri.value = text
    return uri


def _to_qname(value: Atomic, source: AtomicType, resolve_prefix: PrefixResolver | None) -> ep.QName:
    text = _text(value, source)
    if source.name == "QName":
        return value  # type: ignore[no-any-return]
    if text is None or resolve_prefix is None:
        raise _impossible(source, ATOMIC_TYPES["QName"])
    prefix, colon, local = text.rpartition(":")
    if not NCNAME.fullmatch(local) or (colon and not NCNAME.fullmatch(prefix)):
        raise invalid(value, ATOMIC_TYPES["QName"])
    uri = resolve_prefix(prefix)
    if uri is None:
        raise error("FONS0004", f"no namespace is declared for the prefix '{prefix}'")
    return make_qname(uri, local, prefix)


def make_qname(uri: str, local: str, prefix: str = "") -> ep.QName:
    return ep.QName(uri, f"{prefix}:{local}" if prefix else local)


def _to_notation(value: Atomic, source: AtomicType, target: AtomicType) -> Atomic:
    raise _impossible(source, target)


def _derive(converted: Atomic, value: Atomic, target: AtomicType) -> Atomic:
    """A value of a primitive type (or xs:integer) narrowed to a type derived from it."""
    if target.name == "integer":
        return int(converted)
    if target.primitive == "decimal":
        return target.python(converted)
    if target.primitive == "string":
        if target.name == "normalizedString":
            return str.__new__(ep.NormalizedString, re.sub(f"[{_SPACE}]", " ", converted))
        text = re.sub(f"[{_SPACE}]+", " ", converted).strip(" ")
        pattern = _TEXT_PATTERNS.get(target.name)
        if pattern is not None and not pattern.fullmatch(text):
            raise invalid(value, target)
        return str.__new__(target.python, text)
    return converted


_PRIMITIVES: dict[str, Callable[[Any, AtomicType, AtomicType], Atomic]] = {
    "untypedAtomic": _to_untyped,
    "string": _to_string,
    "boolean": _to_boolean,
    "decimal": _to_decimal,
    "float": _to_float,
    "double": _to_double,
    "duration": _to_duration,
    "dateTime": _to_datetime,
    "date": _to_datetime,
    "time": _to_datetime,
    "gYearMonth": _to_datetime,
    "gYear": _to_datetime,
    "gMonthDay": _to_datetime,
    "gDay": _to_datetime,
    "gMonth": _to_datetime,
    "hexBinary": _to_binary,
    "base64Binary": _to_binary,
    "anyURI": _to_uri,
    "NOTATION": _to_notation,
}
