"""Casts between atomic types, by the table in XPath Functions and Operators 3.1, section 19.

>>> cast("12", "byte"), castable("300", "byte")
(12, False)
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

from elementpath import datatypes as ep

from xcql.diagnostics import XcqlError, error
from xcql.evaluate import dates
from xcql.xdm.atomic import ATOMIC_TYPES, Atomic, SchemaType, make_float, string_of, type_of

_XML_SPACE = " \t\r\n"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[Ee][+-]?[0-9]+)?")
_YEAR_MONTH = re.compile(r"-?P(?=[0-9])(?:[0-9]+Y)?(?:[0-9]+M)?")
_DAY_TIME = re.compile(r"-?P(?:[0-9]+D)?(?:T.+)?")
_NAME_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME_CHAR = _NAME_START + r"\-.0-9\u00b7\u0300-\u036f\u203f\u2040"
# name of a type derived from xs:token -> its form; compiled at first use, which is slow
_TOKENS = {
    "language": r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*",
    "NMTOKEN": f"[{_NAME_CHAR}:]+",
    "Name": f"[{_NAME_START}:][{_NAME_CHAR}:]*",
    **dict.fromkeys(["NCName", "ID", "IDREF", "ENTITY"], f"[{_NAME_START}][{_NAME_CHAR}]*"),
}
_FLOAT_SPECIALS = {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}
_BOUNDS: dict[str, tuple[int | None, int | None]] = {
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-128, 127),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 255),
}
_NUMBERS = frozenset(["decimal", "float", "double"])
_DATES = frozenset(["dateTime", "date"])
_BINARIES = frozenset(["hexBinary", "base64Binary"])
_DATE_PARTS = frozenset(["gYearMonth", "gYear", "gMonthDay", "gDay", "gMonth"])
# the longest number that Python reads and writes by default: a guard against hostile input
_LONGEST_NUMBER = 4000


def cast(value: Atomic, target: str, namespaces: Mapping[str, str] | None = None) -> Atomic:
    """The value as an instance of the atomic type of that local name.

    `namespaces` (prefix to URI) is needed to read a `QName`. Errors: XPTY0004 if there is no
    cast between the types, FORG0001 and others if the value does not fit.
    """
    source = type_of(value)
    if source.name == target:
        return value
    if target == "numeric":
        return value if source.primitive in _NUMBERS else cast(value, "double")
    if target == "anyAtomicType":
        return value
    if target == "error":
        raise error("FORG0001", "no value can be cast to xs:error")
    wanted = ATOMIC_TYPES[target]
    if source.primitive in ("string", "untypedAtomic"):
        return from_text(string_of(value), target, namespaces)
    if wanted.primitive == "string":
        return from_text(string_of(value), target)
    if wanted.primitive == "untypedAtomic":
        return ep.UntypedAtomic(string_of(value))
    result = _between(value, source, wanted)
    return _narrow(result, wanted)


LIST_TYPES = {"NMTOKENS": "NMTOKEN", "IDREFS": "IDREF", "ENTITIES": "ENTITY"}


def cast_list(value: Atomic, target: str) -> list[Atomic]:
    """The members of a list type such as `NMTOKENS`."""
    source = type_of(value)
    if source.primitive not in ("string", "untypedAtomic"):
        raise error("XPTY0004", f"a value of type {source} cannot be cast to xs:{target}")
    words = string_of(value).split()
    if not words:
        raise error("FORG0001", f"xs:{target} needs at least one word")
    return [from_text(word, LIST_TYPES[target]) for word in words]


def castable(value: Atomic, target: str, namespaces: Mapping[str, str] | None = None) -> bool:
    """Whether `cast` would succeed."""
    try:
        cast(value, target, namespaces)
    except XcqlError:
        return False
    return True


def from_text(text: str, target: str, namespaces: Mapping[str, str] | None = None) -> Atomic:
    """Parse a text as a value of that type."""
    wanted = ATOMIC_TYPES[target]
    if wanted.primitive == "string":
        return _string(text, wanted)
    if wanted.primitive == "untypedAtomic":
        return ep.UntypedAtomic(text)
    stripped = text.strip(_XML_SPACE)
    if wanted.primitive == "QName":
        return _qname(stripped, namespaces or {})
    reader = _READERS.get(wanted.primitive)
    if reader is None:
        raise error("XPTY0004", f"nothing can be cast to {wanted}")
    try:
        return reader(stripped, wanted)
    except (ValueError, ArithmeticError):
        raise _unfit(text, wanted) from None


def _unfit(value: Atomic, wanted: SchemaType) -> XcqlError:
    shown = string_of(value)
    if len(shown) > 60:
        shown = shown[:60] + "…"
    return error("FORG0001", f'"{shown}" is not a value of type {wanted}')


def _string(text: str, wanted: SchemaType) -> str:
    if wanted.name == "string":
        return text
    for sign in "\t\r\n":
        text = text.replace(sign, " ")
    if wanted.name == "normalizedString":
        return str.__new__(ep.NormalizedString, text)
    text = " ".join(part for part in text.split(" ") if part)
    if wanted.name in _TOKENS and not _has_form(text, wanted.name):
        raise _unfit(text, wanted)
    return str.__new__(wanted.python, text)


def _qname(text: str, namespaces: Mapping[str, str]) -> ep.QName:
    prefix, colon, local = text.rpartition(":")
    if not is_ncname(local) or (colon and not is_ncname(prefix)):
        raise _unfit(text, ATOMIC_TYPES["QName"])
    if colon and not namespaces.get(prefix):
        raise error(
            "FONS0004",
            f'no namespace is declared for the prefix "{prefix}"',
            hints=[f'declare namespace {prefix} = "…";'],
        )
    return make_qname(namespaces.get(prefix, ""), prefix, local)


def make_qname(uri: str, prefix: str, local: str) -> ep.QName:
    """An xs:QName value from its parts, which must be valid."""
    value: ep.QName = object.__new__(ep.QName)
    value.uri, value.prefix, value.local_name = uri, prefix or None, local
    value.qname = f"{prefix}:{local}" if prefix else local
    return value


def is_ncname(text: str) -> bool:
    return _has_form(text, "NCName")


def _has_form(text: str, token_type: str) -> bool:
    return _token_form(token_type).fullmatch(text) is not None


@cache
def _token_form(token_type: str) -> re.Pattern[str]:
    return re.compile(_TOKENS[token_type])


def _read_boolean(text: str, _: SchemaType) -> bool:
    if text in ("true", "1"):
        return True
    if text in ("false", "0"):
        return False
    raise ValueError(text)


def _read_decimal(text: str, wanted: SchemaType) -> int | Decimal:
    if len(text) > _LONGEST_NUMBER:
        raise error("FOCA0006", f"a number of {len(text)} digits is too long")
    if wanted.derives_from("integer"):
        if _INTEGER.fullmatch(text) is None:
            raise ValueError(text)
        number: int = _narrow(int(text), wanted)
        return number
    if _DECIMAL.fullmatch(text) is None:
        raise ValueError(text)
    return Decimal(text)


def _read_float(text: str, wanted: SchemaType) -> float:
    number = _FLOAT_SPECIALS.get(text)
    if number is None:
        if _DOUBLE.fullmatch(text) is None:
            raise ValueError(text)
        number = float(text)
    return make_float(number) if wanted.name == "float" else number


def _read_date(text: str, wanted: SchemaType) -> ep.AbstractDateTime:
    return dates.read(wanted.python, text)


def _read_duration(text: str, wanted: SchemaType) -> ep.Duration:
    form = {"yearMonthDuration": _YEAR_MONTH, "dayTimeDuration": _DAY_TIME}.get(wanted.name)
    if (form is not None and form.fullmatch(text) is None) or not text.isascii():
        raise ValueError(text)
    try:
        value: ep.Duration = wanted.python.fromstring(text)  # type: ignore[attr-defined]
    except (OverflowError, ArithmeticError):
        raise error("FODT0002", f"the duration {text[:60]} is too long") from None
    return value


def _read_binary(text: str, wanted: SchemaType) -> ep.AbstractBinary:
    if wanted.name == "base64Binary":
        text = text.translate(dict.fromkeys(map(ord, _XML_SPACE)))
        return ep.Base64Binary(text)
    if not text.isascii():
        raise ValueError(text)
    return ep.HexBinary(text)


def _read_uri(text: str, _: SchemaType) -> ep.AnyURI:
    return make_uri(" ".join(text.split()))


def make_uri(text: str) -> ep.AnyURI:
    """An xs:anyURI of any text: XML Schema 1.1 accepts all."""
    value: ep.AnyURI = object.__new__(ep.AnyURI)
    value.value = text
    return value


_READERS: dict[str, Callable[[str, SchemaType], Any]] = {
    "boolean": _read_boolean,
    "decimal": _read_decimal,
    "double": _read_float,
    "float": _read_float,
    "duration": _read_duration,
    "hexBinary": _read_binary,
    "base64Binary": _read_binary,
    "anyURI": _read_uri,
    **dict.fromkeys(["dateTime", "date", "time", *_DATE_PARTS], _read_date),
}


def _between(value: Atomic, source: SchemaType, wanted: SchemaType) -> Atomic:
    """Cast between primitive types, for a value that is not text."""
    start, goal = source.primitive, wanted.primitive
    if goal in _NUMBERS and (start in _NUMBERS or start == "boolean"):
        return _to_number(value, wanted)
    if goal == "boolean" and start in _NUMBERS:
        return not (value == 0 or value != value)
    if start == goal == "duration":
        return _to_duration(value, wanted.name)
    if start in _DATES and (goal in _DATES or goal in _DATE_PARTS or (start, goal) == _DT_TIME):
        if wanted.name == "dateTimeStamp" and value.tzinfo is None:
            raise _unfit(value, wanted)
        return dates.convert(value, wanted.python)
    if start in _BINARIES and goal in _BINARIES and start != goal:
        return make_binary(value.decode(), goal)
    if start == goal:
        return value
    raise error("XPTY0004", f"a value of type {source} cannot be cast to {wanted}")


_DT_TIME = ("dateTime", "time")


def make_binary(data: bytes, target: str) -> ep.AbstractBinary:
    """An xs:hexBinary or xs:base64Binary of these bytes."""
    if target == "hexBinary":
        return ep.HexBinary(binascii.hexlify(data).decode().upper())
    return ep.Base64Binary(base64.b64encode(data).decode())


def _to_number(value: int | float | Decimal, wanted: SchemaType) -> Atomic:
    if wanted.name == "double":
        return to_double(value)
    if wanted.name == "float":
        return make_float(to_double(value))
    if isinstance(value, float) and not math.isfinite(value):
        raise error("FOCA0002", f"{string_of(value)} cannot be cast to {wanted}")
    if wanted.name == "decimal":
        return Decimal(value) if not isinstance(value, float) else Decimal(float(value))
    return int(value)


def to_double(value: int | float | Decimal) -> float:
    """The xs:double nearest to a number; infinity if it is too large."""
    if not value and isinstance(value, Decimal):
        return 0.0  # Python's decimals have a negative zero, XML Schema's do not
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _to_duration(value: ep.Duration, target: str) -> ep.Duration:
    if target == "yearMonthDuration":
        return ep.YearMonthDuration(value.months)
    if target == "dayTimeDuration":
        return ep.DayTimeDuration(value.seconds)
    return ep.Duration(value.months, value.seconds)


def _narrow(value: Atomic, wanted: SchemaType) -> Atomic:
    """Check the bounds of a derived integer type, and convert the value to it."""
    if wanted.primitive != "decimal" or not wanted.derives_from("integer"):
        return value
    low, high = _BOUNDS.get(wanted.name, (None, None))
    if (low is not None and value < low) or (high is not None and value > high):
        raise _unfit(value, wanted)
    return int(value) if wanted.name == "integer" else int.__new__(wanted.python, value)
