"""Dates and times of any year: reading, building, and arithmetic.

elementpath's classes hold the values. Their own arithmetic and comparison go wrong outside the
years 1 to 9999 and across year ends with zones, so both are done here, on a count of days.
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any

from elementpath import datatypes as ep

from xcql.diagnostics import error
from xcql.xdm.atomic import astronomical_year, civil_from_days, days_from_civil, type_of

_YEAR = r"(?P<year>-?(?:[1-9][0-9]{4,}|[0-9]{4}))"
_MONTH = "(?P<month>[0-9]{2})"
_DAY = "(?P<day>[0-9]{2})"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]+))?"
_ZONE = r"(?P<zone>Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])?"
_FORMS = {
    "dateTime": re.compile(f"{_YEAR}-{_MONTH}-{_DAY}T{_TIME}{_ZONE}"),
    "date": re.compile(f"{_YEAR}-{_MONTH}-{_DAY}{_ZONE}"),
    "time": re.compile(f"{_TIME}{_ZONE}"),
    "gYearMonth": re.compile(f"{_YEAR}-{_MONTH}{_ZONE}"),
    "gYear": re.compile(f"{_YEAR}{_ZONE}"),
    "gMonthDay": re.compile(f"--{_MONTH}-{_DAY}{_ZONE}"),
    "gDay": re.compile(f"---{_DAY}{_ZONE}"),
    "gMonth": re.compile(f"--{_MONTH}{_ZONE}"),
}
_CLASSES: dict[str, type[ep.AbstractDateTime]] = {
    "dateTime": ep.DateTime,
    "date": ep.Date,
    "time": ep.Time,
    "gYearMonth": ep.GregorianYearMonth,
    "gYear": ep.GregorianYear,
    "gMonthDay": ep.GregorianMonthDay,
    "gDay": ep.GregorianDay,
    "gMonth": ep.GregorianMonth,
}
# the parts that a type has; the others stand at 2000-01-01T00:00:00, a leap year
_PARTS = {
    "dateTime": "ymdt",
    "date": "ymd",
    "time": "t",
    "gYearMonth": "ym",
    "gYear": "y",
    "gMonthDay": "md",
    "gDay": "d",
    "gMonth": "m",
}
_MAX_YEAR = 2**31
_DAY_MICROSECONDS = 86_400_000_000


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    return (
        29
        if month == 2 and is_leap(year)
        else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]
    )


def build_datetime(
    kind: str,
    year: int,
    month: int,
    day: int,
    hour: int = 0,
    minute: int = 0,
    second: int = 0,
    microsecond: int = 0,
    zone: datetime.tzinfo | None = None,
) -> Any:
    """A value of `xs:<kind>` from its parts; the year counts from 0, as in XML Schema 1.1.

    Parts that the type does not have are ignored.
    """
    parts = _PARTS[kind]
    year = year if "y" in parts else 2000
    month = month if "m" in parts else 1
    day = day if "d" in parts else 1
    if "t" not in parts:
        hour = minute = second = microsecond = 0
    if abs(year) > _MAX_YEAR:
        raise error("FODT0001", f"the year {year} is out of range")
    value = object.__new__(_CLASSES[kind])
    # elementpath keeps years that Python cannot hold beside a stand-in of the same length
    stand_in = year if 1 <= year <= 9999 else 4 if is_leap(year) else 6
    value._dt = datetime.datetime(stand_in, month, day, hour, minute, second, microsecond, zone)
    value._year = year if year > 0 else year - 1
    return value


def parse_datetime(text: str, kind: str) -> Any:
    """The value of `xs:<kind>` that a text without white space around it stands for, or None."""
    match = _FORMS[kind].fullmatch(text)
    if match is None:
        return None
    found = {name: part for name, part in match.groupdict().items() if part is not None}
    if len(found.get("year", "")) > 12:
        raise error("FODT0001", f"the year {found['year']} is out of range")
    year, month, day = (int(found.get(n, d)) for n, d in (("year", 2000), ("month", 1), ("day", 1)))
    hour, minute, second = (int(found.get(name, 0)) for name in ("hour", "minute", "second"))
    microsecond = int((found.get("fraction", "") + "000000")[:6])
    if not 1 <= month <= 12 or not 1 <= day <= days_in_month(year, month):
        return None
    midnight = hour == 24 and not (minute or second or int(found.get("fraction", 0)))
    if minute > 59 or second > 59 or (hour > 23 and not midnight):
        return None
    if midnight:
        hour = 0
        if kind == "dateTime":
            year, month, day = civil_from_days(days_from_civil(year, month, day) + 1)
    zone = _parse_zone(found["zone"]) if "zone" in found else None
    if "zone" in found and zone is None:
        return None
    return build_datetime(kind, year, month, day, hour, minute, second, microsecond, zone)


def _parse_zone(text: str) -> ep.Timezone | None:
    if text == "Z":
        return ep.Timezone(datetime.timedelta(0))
    minutes = int(text[1:3]) * 60 + int(text[4:6])
    if minutes > 14 * 60:
        return None
    return ep.Timezone(datetime.timedelta(minutes=-minutes if text[0] == "-" else minutes))


def zone_of(value: ep.AbstractDateTime) -> datetime.tzinfo | None:
    return value.tzinfo


def add_months(value: ep.AbstractDateTime, months: int) -> Any:
    """A dateTime or date that many months later (or earlier), on the last day if need be."""
    total = astronomical_year(value) * 12 + value.month - 1 + months
    year, month = divmod(total, 12)
    month += 1
    if abs(year) > _MAX_YEAR:
        raise error("FODT0001", f"the year {year} is out of range")
    day = min(value.day, days_in_month(year, month))
    return build_datetime(
        type_of(value).primitive,
        year,
        month,
        day,
        value.hour,
        value.minute,
        value.second,
        value.microsecond,
        value.tzinfo,
    )


def add_seconds(value: ep.AbstractDateTime, seconds: Decimal) -> Any:
    """A dateTime, date or time that many seconds later; its zone stays. A time goes round."""
    kind = type_of(value).primitive
    clock = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    days, clock = divmod(clock + int(seconds * 1_000_000), _DAY_MICROSECONDS)
    if kind == "time":
        year, month, day = 2000, 1, 1
    else:
        days += days_from_civil(astronomical_year(value), value.month, value.day)
        if abs(days) > _MAX_YEAR * 366:
            raise error("FODT0001", "the date is out of range")
        year, month, day = civil_from_days(days)
    whole, microsecond = divmod(clock, 1_000_000)
    return build_datetime(
        kind,
        year,
        month,
        day,
        whole // 3600,
        whole // 60 % 60,
        whole % 60,
        microsecond,
        value.tzinfo,
    )
