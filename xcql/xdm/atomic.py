"""Atomic values: which Python value represents which XML Schema type, and how to write it.

Python's own `str`, `bool`, `int`, `Decimal` and `float` are xs:string, xs:boolean, xs:integer,
xs:decimal and xs:double; every other type is a class of elementpath (its `Float` is xs:float,
always rounded to single precision by `make_float`).
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from elementpath import datatypes as ep

Atomic = Any  # one atomic value; all they have in common is that `type_of` knows them


@dataclass(frozen=True, slots=True)
class SchemaType:
    """An atomic type of XML Schema, by its local name.

    >>> INTEGER = ATOMIC_TYPES["integer"]
    >>> INTEGER.derives_from("decimal"), str(INTEGER)
    (True, 'xs:integer')
    """

    name: str
    primitive: str
    ancestors: frozenset[str]
    python: type

    def derives_from(self, name: str) -> bool:
        """Whether the type has that name or is derived from it."""
        return name in self.ancestors

    def __str__(self) -> str:
        return f"xs:{self.name}"


# name -> (base type, the Python class of its values)
_TABLE: dict[str, tuple[str, type]] = {
    "untypedAtomic": ("anyAtomicType", ep.UntypedAtomic),
    "string": ("anyAtomicType", str),
    "normalizedString": ("string", ep.NormalizedString),
    "token": ("normalizedString", ep.XsdToken),
    "language": ("token", ep.Language),
    "NMTOKEN": ("token", ep.NMToken),
    "Name": ("token", ep.Name),
    "NCName": ("Name", ep.NCName),
    "ID": ("NCName", ep.Id),
    "IDREF": ("NCName", ep.Idref),
    "ENTITY": ("NCName", ep.Entity),
    "boolean": ("anyAtomicType", bool),
    "decimal": ("anyAtomicType", Decimal),
    "integer": ("decimal", int),
    "nonPositiveInteger": ("integer", ep.NonPositiveInteger),
    "negativeInteger": ("nonPositiveInteger", ep.NegativeInteger),
    "long": ("integer", ep.Long),
    "int": ("long", ep.Int),
    "short": ("int", ep.Short),
    "byte": ("short", ep.Byte),
    "nonNegativeInteger": ("integer", ep.NonNegativeInteger),
    "unsignedLong": ("nonNegativeInteger", ep.UnsignedLong),
    "unsignedInt": ("unsignedLong", ep.UnsignedInt),
    "unsignedShort": ("unsignedInt", ep.UnsignedShort),
    "unsignedByte": ("unsignedShort", ep.UnsignedByte),
    "positiveInteger": ("nonNegativeInteger", ep.PositiveInteger),
    "float": ("anyAtomicType", ep.Float),
    "double": ("anyAtomicType", float),
    "duration": ("anyAtomicType", ep.Duration),
    "yearMonthDuration": ("duration", ep.YearMonthDuration),
    "dayTimeDuration": ("duration", ep.DayTimeDuration),
    "dateTime": ("anyAtomicType", ep.DateTime),
    "dateTimeStamp": ("dateTime", ep.DateTimeStamp),
    "date": ("anyAtomicType", ep.Date),
    "time": ("anyAtomicType", ep.Time),
    "gYearMonth": ("anyAtomicType", ep.GregorianYearMonth),
    "gYear": ("anyAtomicType", ep.GregorianYear),
    "gMonthDay": ("anyAtomicType", ep.GregorianMonthDay),
    "gDay": ("anyAtomicType", ep.GregorianDay),
    "gMonth": ("anyAtomicType", ep.GregorianMonth),
    "hexBinary": ("anyAtomicType", ep.HexBinary),
    "base64Binary": ("anyAtomicType", ep.Base64Binary),
    "anyURI": ("anyAtomicType", ep.AnyURI),
    "QName": ("anyAtomicType", ep.QName),
    "NOTATION": ("anyAtomicType", ep.Notation),
}


def _atomic_types() -> dict[str, SchemaType]:
    top = SchemaType("anyAtomicType", "anyAtomicType", frozenset(["anyAtomicType"]), object)
    types = {"anyAtomicType": top}
    for name, (base, python) in _TABLE.items():
        above = types[base]
        primitive = name if base == "anyAtomicType" else above.primitive
        types[name] = SchemaType(name, primitive, above.ancestors | {name}, python)
    return types


ATOMIC_TYPES = _atomic_types()
# a union of decimal, float and double; no value has it as its own type
NUMERIC_NAMES = frozenset(["decimal", "float", "double"])

_BY_CLASS: dict[type, SchemaType] = {t.python: t for t in ATOMIC_TYPES.values()}


def type_of(value: Atomic) -> SchemaType:
    """The most specific type of an atomic value.

    >>> str(type_of(1)), str(type_of(True)), str(type_of("a"))
    ('xs:integer', 'xs:boolean', 'xs:string')
    """
    found = _BY_CLASS.get(type(value))
    if found is None:
        for python in type(value).__mro__:
            if python in _BY_CLASS and python is not object:
                found = _BY_CLASS[type(value)] = _BY_CLASS[python]
                return found
        raise TypeError(f"{value!r} is not an atomic value")
    return found


def is_numeric(value: Atomic) -> bool:
    return isinstance(value, (int, float, Decimal)) and value.__class__ is not bool


def make_float(value: float) -> ep.Float:
    """An xs:float: the nearest single-precision number."""
    try:
        single = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        single = math.inf if value > 0 else -math.inf
    return float.__new__(ep.Float, single)


def _integer_text(value: int) -> str:
    """The digits of an integer of any length.

    >>> len(_integer_text(10**5000))
    5001
    """
    try:
        return int.__str__(value)
    except ValueError:  # Python writes at most 4,300 digits; a decimal has no such limit
        return str(Decimal(value))


def string_of(value: Atomic) -> str:
    """The canonical lexical form, as `fn:string` returns it.

    >>> string_of(1e6), string_of(Decimal("1.50")), string_of(True)
    ('1.0E6', '1.5', 'true')
    """
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return "true" if value else "false"
    if kind is ep.UntypedAtomic:
        return value.value  # type: ignore[no-any-return]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _integer_text(value)
    if isinstance(value, float):
        return _float_text(value) if kind is ep.Float else double_text(value)
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, ep.AbstractDateTime):
        return date_text(value)
    return str(value)


def decimal_text(value: Decimal) -> str:
    if not value:
        return "0"
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def double_text(value: float) -> str:
    """The form of an xs:double: plain from 0.000001 up to a million, otherwise with an exponent."""
    return _number_text(value, repr(float(value)))


def _float_text(value: float) -> str:
    if math.isinf(value) or math.isnan(value) or value == 0:
        return double_text(value)
    plain = float(value)
    for digits in range(1, 10):
        text = f"{plain:.{digits}g}"
        if struct.pack("f", float(text)) == struct.pack("f", plain):
            return _number_text(plain, text)
    return double_text(plain)


def _number_text(value: float, shortest: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    number = Decimal(shortest)
    if -6 <= number.adjusted() < 6:
        return decimal_text(number)
    sign, digits, _ = number.as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{number.adjusted()}"


def date_text(value: ep.AbstractDateTime) -> str:
    """The canonical form of any date or time type."""
    year = astronomical_year(value)
    year_text = f"{'-' if year < 0 else ''}{abs(year):04}"
    clock = f"{value.hour:02}:{value.minute:02}:{value.second:02}"
    if value.microsecond:
        clock += f".{value.microsecond:06}".rstrip("0")
    parts = {
        "dateTime": f"{year_text}-{value.month:02}-{value.day:02}T{clock}",
        "date": f"{year_text}-{value.month:02}-{value.day:02}",
        "time": clock,
        "gYear": year_text,
        "gYearMonth": f"{year_text}-{value.month:02}",
        "gMonth": f"--{value.month:02}",
        "gMonthDay": f"--{value.month:02}-{value.day:02}",
        "gDay": f"---{value.day:02}",
    }
    zone = value.tzinfo
    return parts[type_of(value).primitive] + ("" if zone is None else str(zone))


def atomic_key(value: Atomic) -> tuple[Any, ...]:
    """A hashable value, equal for two map keys exactly if they are the same by `op:same-key`."""
    kind = type(value)
    if kind is ep.UntypedAtomic:
        return ("string", value.value)
    if isinstance(value, str):
        return ("string", str.__str__(value))
    if kind is bool:
        return ("boolean", value)
    if isinstance(value, float):
        return ("NaN",) if math.isnan(value) else ("number", float(value))
    if isinstance(value, (int, Decimal)):
        return ("number", value if kind is Decimal else int(value))
    if isinstance(value, ep.AnyURI):
        return ("string", value.value)
    if isinstance(value, ep.AbstractQName):
        return ("QName", value.uri or "", value.local_name)
    if isinstance(value, ep.Duration):
        return ("duration", value.months, value.seconds)
    if isinstance(value, ep.AbstractBinary):
        return (type_of(value).name, value.decode())
    if isinstance(value, ep.AbstractDateTime):
        return (type_of(value).primitive, value.tzinfo is not None, instant(value))
    raise TypeError(f"{value!r} is not an atomic value")


def instant(value: ep.AbstractDateTime) -> tuple[int, int]:
    """The position of a date or time on the UTC timeline: days, and microseconds of the day.

    A value without a zone counts as UTC. Unlike Python's datetime, there is no smallest or
    largest year.
    """
    days = days_from_civil(astronomical_year(value), value.month, value.day)
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    zone = value.tzinfo
    if zone is not None:
        offset = zone.utcoffset(None)
        if offset is not None:
            seconds -= offset.days * 86400 + offset.seconds
    extra, seconds = divmod(seconds, 86400)
    return days + extra, seconds * 1_000_000 + value.microsecond


def astronomical_year(value: ep.AbstractDateTime) -> int:
    """The year with a year 0 before year 1, as XML Schema 1.1 counts (elementpath skips 0)."""
    year: int = value.year
    return year if year > 0 else year + 1


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar, for any year."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return (
        era * 146097
        + year_of_era * 365
        + year_of_era // 4
        - year_of_era // 100
        + (day_of_year - 719468)
    )


def civil_from_days(days: int) -> tuple[int, int, int]:
    """The inverse of `days_from_civil`."""
    era, day_of_era = divmod(days + 719468, 146097)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day
