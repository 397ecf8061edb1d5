"""Dates and times: their parts, their zones, the current instant."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar, cast

from elementpath import datatypes as ep

from xcql.diagnostics import error
from xcql.evaluate.arithmetic import duration_microseconds, seconds_duration
from xcql.evaluate.dates import UTC, at, build, microseconds_of, offset_of, time_of_day, with_zone
from xcql.evaluate.registry import CallContext, function
from xcql.xdm.atomic import astronomical_year

D = TypeVar("D", bound=ep.AbstractDateTime)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_NO_ZONE = object()
_FARTHEST_ZONE = 14 * 3600 * 1_000_000


def _second(value: ep.AbstractDateTime) -> Decimal:
    return Decimal(value.second * 1_000_000 + value.microsecond).scaleb(-6)


def _zone(value: ep.AbstractDateTime) -> ep.DayTimeDuration | None:
    return None if value.tzinfo is None else seconds_duration(offset_of(value.tzinfo))


def _month(value: ep.AbstractDateTime) -> int:
    return value.month


def _day(value: ep.AbstractDateTime) -> int:
    return value.day


def _hour(value: ep.AbstractDateTime) -> int:
    return value.hour


def _minute(value: ep.AbstractDateTime) -> int:
    return value.minute


def _declare_part(
    part: str, types: str, result: str, get: Callable[[ep.AbstractDateTime], Any]
) -> None:
    def body(call: CallContext, value: ep.AbstractDateTime | None) -> Any:
        return None if value is None else get(value)

    for kind in types.split():
        function(f"fn:{part}-from-{kind}(xs:{kind}?) as xs:{result}?")(body)


_declare_part("year", "dateTime date", "integer", astronomical_year)
_declare_part("month", "dateTime date", "integer", _month)
_declare_part("day", "dateTime date", "integer", _day)
_declare_part("hours", "dateTime time", "integer", _hour)
_declare_part("minutes", "dateTime time", "integer", _minute)
_declare_part("seconds", "dateTime time", "decimal", _second)
_declare_part("timezone", "dateTime date time", "dayTimeDuration", _zone)


@function("fn:dateTime(xs:date?, xs:time?) as xs:dateTime?")
def date_time(call: CallContext, date: ep.Date | None, time: ep.Time | None) -> ep.DateTime | None:
    if date is None or time is None:
        return None
    if date.tzinfo is not None and time.tzinfo is not None and date.tzinfo != time.tzinfo:
        raise error("FORG0008", "the date and the time have different time zones")
    zone = date.tzinfo if date.tzinfo is not None else time.tzinfo
    return build(
        ep.DateTime, astronomical_year(date), date.month, date.day, time_of_day(time), zone
    )


@function("fn:current-dateTime() as xs:dateTimeStamp")
def current_date_time(call: CallContext) -> ep.DateTimeStamp:
    return at(ep.DateTimeStamp, 0, _now(call), UTC)


@function("fn:current-date() as xs:date")
def current_date(call: CallContext) -> ep.Date:
    return at(ep.Date, 0, _now(call), UTC)


@function("fn:current-time() as xs:time")
def current_time(call: CallContext) -> ep.Time:
    return at(ep.Time, 0, _now(call), UTC)


def _now(call: CallContext) -> int:
    return (call.context.now - _EPOCH) // datetime.timedelta(microseconds=1)


@function("fn:implicit-timezone() as xs:dayTimeDuration")
def implicit_timezone(call: CallContext) -> ep.DayTimeDuration:
    return ep.DayTimeDuration(0)


@function("fn:adjust-dateTime-to-timezone(xs:dateTime?, [xs:dayTimeDuration?]) as xs:dateTime?")
def adjust_date_time(call: CallContext, value: ep.DateTime | None, zone: Any = _NO_ZONE) -> Any:
    return None if value is None else _adjusted(ep.DateTime, value, zone)


@function("fn:adjust-date-to-timezone(xs:date?, [xs:dayTimeDuration?]) as xs:date?")
def adjust_date(call: CallContext, value: ep.Date | None, zone: Any = _NO_ZONE) -> Any:
    return None if value is None else _adjusted(ep.Date, value, zone)


@function("fn:adjust-time-to-timezone(xs:time?, [xs:dayTimeDuration?]) as xs:time?")
def adjust_time(call: CallContext, value: ep.Time | None, zone: Any = _NO_ZONE) -> Any:
    return None if value is None else _adjusted(ep.Time, value, zone)


def _adjusted(kind: type[D], value: Any, zone: ep.DayTimeDuration | object | None) -> D:
    """The same instant in another zone; a value without a zone just gets the zone."""
    target = UTC if zone is _NO_ZONE else None if zone is None else zone_from(zone)
    if value.tzinfo is None or target is None:
        return with_zone(cast(D, value), target)
    return at(kind, 0, microseconds_of(value), target)


def zone_from(duration: Any) -> ep.Timezone:
    """A time zone from its offset, a duration."""
    offset = duration_microseconds(duration)
    if offset % 60_000_000 or abs(offset) > _FARTHEST_ZONE:
        raise error(
            "FODT0003",
            f"{duration} is not a time zone",
            hints=["a time zone is a whole number of minutes from -PT14H to PT14H"],
        )
    return ep.Timezone(datetime.timedelta(microseconds=offset))


_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_ZONES = {
    "UT": 0,
    "UTC": 0,
    "GMT": 0,
    "EST": -5,
    "EDT": -4,
    "CST": -6,
    "CDT": -5,
    "MST": -7,
    "MDT": -6,
    "PST": -8,
    "PDT": -7,
}
_IETF_DAY = (
    r"(?:(?:mon(?:day)?|tue(?:sday)?|wed(?:nesday)?|thu(?:rsday)?|fri(?:day)?|sat(?:urday)?"
    r"|sun(?:day)?),?\s+)?"
)
_IETF_TIME = (
    r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d+))?)?"
    r"\s*(?P<zone>ut|utc|gmt|est|edt|cst|cdt|mst|mdt|pst|pdt|"
    r"[+-]\d\d?:?(?:\d\d)?(?:\s*\(\s*(?:ut|utc|gmt|est|edt|cst|cdt|mst|mdt|pst|pdt)\s*\))?)?"
)
_IETF_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"


@cache
def _ietf_forms() -> list[re.Pattern[str]]:
    day, month, time = _IETF_DAY, _IETF_MONTH, _IETF_TIME
    year, gap = r"(?P<year>\d\d|\d{4})", r"(?:\s*-\s*|\s+)"
    forms = [
        # 06 Jun 1994 07:29:35 GMT, and with hyphens
        rf"{day}(?P<day>\d\d?){gap}{month}{gap}{year}\s+{time}",
        # Jun 6 07:29:35 GMT 1994, as asctime writes it
        rf"{day}{month}{gap}(?P<day>\d\d?)\s+{time}\s+{year}",
    ]
    return [re.compile(form, re.IGNORECASE | re.ASCII) for form in forms]


@function("fn:parse-ietf-date(xs:string?) as xs:dateTime?")
def parse_ietf_date(call: CallContext, text: str | None) -> ep.DateTime | None:
    if text is None:
        return None
    stripped = text.strip(" \t\r\n")
    for form in _ietf_forms():
        match = form.fullmatch(stripped)
        if match is not None:
            try:
                return _ietf_value(match)
            except ValueError:
                break
    raise error("FORG0010", f'"{text[:60]}" is not a date in the format of mail and HTTP')


def _ietf_value(match: re.Match[str]) -> ep.DateTime:
    year = int(match["year"])
    if len(match["year"]) == 2:
        year += 1900
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    microsecond = int(((match["fraction"] or "") + "000000")[:6])
    if minute > 59 or second > 59 or hour > 24 or (hour == 24 and (minute, second) != (0, 0)):
        raise ValueError("invalid time of day")
    zone = _ietf_zone(match["zone"])
    clock = ((hour % 24 * 60 + minute) * 60 + second) * 1_000_000 + microsecond
    month = _MONTHS.index(match["month"].lower()) + 1
    value = build(ep.DateTime, year, month, int(match["day"]), clock, zone)
    if hour == 24:
        return at(ep.DateTime, 1, microseconds_of(value), zone)
    return value


def _ietf_zone(text: str | None) -> ep.Timezone:
    if text is None:
        return UTC
    if text.upper() in _ZONES:
        return ep.Timezone(datetime.timedelta(hours=_ZONES[text.upper()]))
    sign, digits = text[0], text.split("(")[0].strip()[1:]
    if ":" in digits:
        hours, minutes = (int(part or 0) for part in digits.split(":"))
    elif len(digits) <= 2:
        hours, minutes = int(digits), 0
    else:
        hours, minutes = int(digits[:-2]), int(digits[-2:])
    if minutes > 59 or hours * 60 + minutes > 14 * 60:
        raise ValueError("unknown time zone")
    offset = datetime.timedelta(hours=hours, minutes=minutes)
    return ep.Timezone(-offset if sign == "-" else offset)
