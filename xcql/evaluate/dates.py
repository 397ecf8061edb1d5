"""Builds dates and times of any year, from parts, from text and from the timeline.

elementpath's constructors only know the leap years of our era; this module handles every year.
Years count as in XML Schema 1.1: year 0 is the year before year 1.
"""

from __future__ import annotations

import datetime
from calendar import isleap
from typing import TypeVar

from elementpath import datatypes as ep

from xcql.diagnostics import error
from xcql.xdm.atomic import astronomical_year, civil_from_days, days_from_civil, instant

D = TypeVar("D", bound=ep.AbstractDateTime)

UTC = ep.Timezone(datetime.timedelta(0))
_LARGEST_YEAR = 2**31
_DAY = 86400 * 1_000_000


def build(
    kind: type[D],
    year: int,
    month: int,
    day: int,
    time_of_day: int = 0,
    zone: datetime.tzinfo | None = None,
) -> D:
    """A value of a date or time type; `time_of_day` is in microseconds. ValueError if invalid.

    >>> str(build(ep.Date, 2004, 2, 29))
    '2004-02-29'
    """
    if abs(year) > _LARGEST_YEAR:
        raise error("FODT0001", f"the year {year} is out of range for a date")
    seconds, microsecond = divmod(time_of_day, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    stand_in = year if 1 <= year <= 9999 else 4 if isleap(year) else 6
    value = object.__new__(kind)
    value._dt = datetime.datetime(
        stand_in, month, day, hour, minute, second, microsecond, tzinfo=zone
    )
    value._year = year if year > 0 else year - 1
    return value


def at(kind: type[D], days: int, microseconds: int, zone: datetime.tzinfo | None = None) -> D:
    """The value at a position of the UTC timeline, expressed in a zone."""
    total = days * _DAY + microseconds + offset_of(zone)
    days, time_of_day = divmod(total, _DAY)
    if kind is ep.Time:
        return build(kind, 2000, 1, 1, time_of_day, zone)
    year, month, day = civil_from_days(days)
    if not issubclass(kind, ep.DateTime):
        time_of_day = 0
    return build(kind, year, month, day, time_of_day, zone)


def microseconds_of(value: ep.AbstractDateTime) -> int:
    """The position on the UTC timeline in microseconds since 1970; without a zone, UTC."""
    days, microseconds = instant(value)
    return days * _DAY + microseconds


def offset_of(zone: datetime.tzinfo | None) -> int:
    """A zone's offset from UTC in microseconds."""
    offset = zone.utcoffset(None) if zone is not None else None
    return 0 if offset is None else (offset.days * 86400 + offset.seconds) * 1_000_000


def time_of_day(value: ep.AbstractDateTime) -> int:
    """The microseconds since midnight, in the value's own zone."""
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return int(seconds * 1_000_000 + value.microsecond)


def with_zone(value: D, zone: datetime.tzinfo | None) -> D:
    """The same date and time of day, with another zone or without one."""
    return build(
        type(value), astronomical_year(value), value.month, value.day, time_of_day(value), zone
    )


def convert(value: ep.AbstractDateTime, kind: type[D]) -> D:
    """The parts of a date or dateTime that another type has: `xs:date` to `xs:gYear`, …"""
    year, month, day = astronomical_year(value), value.month, value.day
    clock = time_of_day(value)
    if issubclass(kind, ep.Time):
        year, month, day = 2000, 1, 1
    elif not issubclass(kind, ep.DateTime):
        clock = 0
    if kind in (ep.GregorianMonthDay, ep.GregorianMonth, ep.GregorianDay):
        year = 2000
    if kind in (ep.GregorianYear, ep.GregorianDay):
        month = 1
    if kind in (ep.GregorianYear, ep.GregorianYearMonth, ep.GregorianMonth):
        day = 1
    return build(kind, year, month, day, clock, value.tzinfo)


def read(kind: type[D], text: str) -> D:
    """Parse a date or time, without surrounding white space; ValueError if invalid.

    >>> str(read(ep.DateTime, "1999-12-31T24:00:00Z"))
    '2000-01-01T00:00:00Z'
    """
    match = kind.pattern.match(text)
    if match is None or text.endswith("\n"):
        raise ValueError("not in the form of this type")
    parts = match.groupdict()
    year_text = parts.get("year") or "2000"
    digits = year_text.lstrip("-")
    if len(digits) > 4 and digits.startswith("0"):
        raise ValueError("a year of more than four digits cannot begin with zero")
    if len(digits) > 10:
        raise error("FODT0001", f"the year {year_text} is out of range for a date")
    hour, minute, second = (int(parts.get(part) or 0) for part in ("hour", "minute", "second"))
    microsecond = int(((parts.get("microsecond") or "") + "000000")[:6])
    if minute > 59 or second > 59 or hour > 24:
        raise ValueError("invalid time of day")
    clock = ((hour * 60 + minute) * 60 + second) * 1_000_000 + microsecond
    if clock > _DAY:
        raise ValueError("invalid time of day")
    zone_text = parts["tzinfo"]
    zone = None if zone_text is None else ep.Timezone.fromstring(zone_text)
    year, month, day = int(year_text), int(parts.get("month") or 1), int(parts.get("day") or 1)
    value = build(kind, year, month, day, clock % _DAY, zone)
    if clock == _DAY and not issubclass(kind, ep.Time):
        year, month, day = civil_from_days(days_from_civil(year, month, day) + 1)
        return build(kind, year, month, day, 0, zone)
    return value


def days_in_month(year: int, month: int) -> int:
    """The number of days in a month.

    >>> days_in_month(1900, 2), days_in_month(-4, 2)
    (28, 29)
    """
    if month == 2:
        return 29 if isleap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31
