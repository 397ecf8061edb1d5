"""fn:format-dateTime, fn:format-date, fn:format-time."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.casting import cast, is_ncname
from xcql.evaluate.dates import offset_of
from xcql.evaluate.functions.format_integers import (
    DigitPattern,
    digit_pattern,
    integer_text,
    ordinal_suffix,
)
from xcql.evaluate.registry import CallContext, function
from xcql.xdm.atomic import astronomical_year, civil_from_days, days_from_civil

_MARKER = re.compile(r"\[\[|\]\]|\[([^\[\]]*)\]|[\[\]]")
_WIDTH = re.compile(r"([0-9]+|\*)(?:-([0-9]+|\*))?")
_DEFAULTS = dict.fromkeys("YMDdWwHhf", "1") | dict.fromkeys("FPCE", "n")
_DEFAULTS |= dict.fromkeys("ms", "01") | dict.fromkeys("Zz", "01:01")
_DATE_PARTS = frozenset("YMDdFWwCEZz")
_TIME_PARTS = frozenset("HhPmsfCZz")
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
# offsets from -12 to 12 as letters: Y is -12, Z is 0, M is 12
_MILITARY = "YXWVUTSRQPON" + "Z" + "ABCDEFGHIKLM"
# the calendars that the standard names
_CALENDARS = re.compile(
    "AD|AH|AME|AM|AP|AS|BE|CB|CE|CL|CS|EE|FE|ISO|JE|KE|KY|ME|MS|NS|OS|RS|SE|SH|SS|TE|VE|VS"
)


@dataclass(frozen=True, slots=True)
class _Marker:
    """A variable part of a picture: which component, how, and how wide."""

    component: str
    form: str
    modifier: str
    least: int | None
    most: int | None


def _declare(kind: str) -> None:
    # the language and the place are ignored
    texts = "xs:string?, xs:string?, xs:string?"

    @function(f"fn:format-{kind}(xs:{kind}?, xs:string, [{texts}]) as xs:string?")
    def body(
        call: CallContext,
        value: Any,
        picture: str,
        language: str | None = None,
        calendar: str | None = None,
        place: str | None = None,
    ) -> str | None:
        _check_calendar(call, calendar)
        return None if value is None else formatted(value, picture, kind)


_COMPONENTS = {
    "dateTime": _DATE_PARTS | _TIME_PARTS,
    "date": _DATE_PARTS,
    "time": _TIME_PARTS,
}
for _kind in _COMPONENTS:
    _declare(_kind)


def formatted(value: Any, picture: str, type_: str) -> str:
    """A value of type dateTime, date or time, by a picture."""
    components = _COMPONENTS[type_]
    parts = []
    position = 0
    for match in _MARKER.finditer(picture):
        parts.append(picture[position : match.start()])
        position = match.end()
        if match[0] in ("[[", "]]"):
            parts.append(match[0][0])
        elif match[1] is None:
            raise _bad(picture, f"it contains a single {match[0]}")
        else:
            parts.append(_component(value, _marker(match[1], picture), picture, components))
    return "".join([*parts, picture[position:]])


def _check_calendar(call: CallContext, calendar: str | None) -> None:
    """FOFD1340 for an invalid calendar name; every calendar is written as the Gregorian one."""
    if calendar is None:
        return
    name = calendar.strip()
    if name.startswith("Q{") and "}" in name:
        uri, _, local = name[2:].partition("}")
        good = is_ncname(local) and (bool(uri) or _CALENDARS.fullmatch(local) is not None)
    elif ":" in name:
        try:
            cast(name, "QName", call.static.namespaces)
            good = True
        except XcqlError:
            good = False
    else:
        good = _CALENDARS.fullmatch(name) is not None
    if not good:
        raise error("FOFD1340", f'"{calendar}" is not the name of a calendar')


def _bad(picture: str, reason: str) -> XcqlError:
    return error("FOFD1340", f'the picture "{picture[:60]}" cannot be used: {reason}')


@lru_cache(maxsize=256)
def _marker(text: str, picture: str) -> _Marker:
    text = "".join(text.split())
    if not text or text[0] not in _DEFAULTS:
        raise _bad(picture, f"[{text}] is not a part of a date or time")
    component = text[0]
    form, comma, width = text[1:].rpartition(",")
    if not comma:
        form, width = text[1:], ""
    modifier = ""
    if len(form) > 1 and form[-1] in "atco":
        form, modifier = form[:-1], form[-1]
    least, most = _widths(width, picture) if comma else (None, None)
    return _Marker(component, form or _DEFAULTS[component], modifier, least, most)


def _widths(text: str, picture: str) -> tuple[int | None, int | None]:
    match = _WIDTH.fullmatch(text)
    if match is None:
        raise _bad(picture, f'"{text}" is not a valid width')
    least = None if match[1] == "*" else int(match[1])
    most = None if match[2] in (None, "*") else int(match[2])
    if least == 0 or most == 0 or (least and most and least > most):
        raise _bad(picture, f'"{text}" is not a valid width')
    return least, most


def _component(value: Any, marker: _Marker, picture: str, components: frozenset[str]) -> str:
    if marker.component not in components and not (marker.component == "E" and "Y" in components):
        raise error(
            "FOFD1350", f'"{marker.component}" in the picture "{picture}" is not part of the value'
        )
    if marker.component in "Zz":
        return _zone(value, marker, picture)
    if marker.component == "f":
        return _fraction(value.microsecond, marker, picture)
    number = _number(value, marker.component)
    if marker.form in ("N", "n", "Nn"):
        return _name(number, value, marker)
    if marker.component == "P" or (marker.component in "CE"):
        return _name(number, value, marker)
    return _integer(number, marker, picture)


def _number(value: Any, component: str) -> int:
    year = astronomical_year(value)
    if component == "Y":
        return abs(year)
    if component in "MDHms":
        parts = {"M": value.month, "D": value.day, "H": value.hour, "m": value.minute}
        return int(parts.get(component, value.second))
    if component == "h":
        return int(value.hour % 12 or 12)
    if component in "PCE":
        return 0
    days = days_from_civil(year, value.month, value.day)
    # 1970-01-01 was a Thursday
    weekday = (days + 3) % 7
    if component == "F":
        return weekday + 1
    if component == "d":
        return days - days_from_civil(year, 1, 1) + 1
    if component == "W":
        return _week(days, weekday)
    return _week_of_month(year, value.month, days)


def _week(days: int, weekday: int) -> int:
    """The ISO week of the year: a week belongs to the year of its Thursday."""
    thursday = days - weekday + 3
    first = days_from_civil(civil_from_days(thursday)[0], 1, 1)
    return (thursday - first) // 7 + 1


def _week_of_month(year: int, month: int, days: int) -> int:
    """The week of the month: the first one contains the month's first Thursday.

    The days before it belong to the last week of the previous month.
    """
    start = days_from_civil(year, month, 1)
    first_monday = start + (3 - (start + 3) % 7) % 7 - 3
    if days >= first_monday:
        return (days - first_monday) // 7 + 1
    year, month, _ = civil_from_days(start - 1)
    return _week_of_month(year, month, start - 1)


def _name(number: int, value: Any, marker: _Marker) -> str:
    if marker.component == "M":
        name = _MONTHS[number - 1]
    elif marker.component == "F":
        name = _DAYS[number - 1]
    elif marker.component == "P":
        name = "am" if value.hour < 12 else "pm"
    elif marker.component == "C":
        name = "Gregorian"
    elif marker.component == "E":
        name = "AD" if astronomical_year(value) > 0 else "BC"
    else:
        # a number without a name is written in digits
        return str(number)
    if marker.most is not None and len(name) > marker.most:
        name = name[: max(marker.most, 3)] if marker.component in "MF" else name[: marker.most]
        if marker.component in "MF" and marker.most >= 3:
            name = name[:3]
    if marker.form == "N":
        name = name.upper()
    elif marker.form == "n":
        name = name.lower()
    return name.ljust(marker.least or 0)


def _integer(number: int, marker: _Marker, picture: str) -> str:
    form = marker.form
    most = marker.most
    if not any(unicodedata.category(sign) == "Nd" for sign in form):
        if "#" in form:
            raise _bad(picture, f'"{form}" has no digit')
        if marker.component == "Y" and most is not None:
            number %= 10**most
        text = integer_text(number, form, ordinal=marker.modifier == "o")
        return text.ljust(marker.least or 0)
    pattern = _digits(form, picture)
    places = pattern.mandatory + pattern.optional
    if marker.component == "Y":
        if most is None and places > 1 and marker.least is None:
            most = places
        if most is not None and most < 4300:
            number %= 10 ** max(most, pattern.mandatory)
    text = pattern.write(number, min(marker.least or 0, 1000))
    return text + ordinal_suffix(number) if marker.modifier == "o" else text


def _digits(form: str, picture: str) -> DigitPattern:
    try:
        return digit_pattern(form, picture)
    except XcqlError as problem:
        raise error("FOFD1340", problem.message) from None


def _fraction(microsecond: int, marker: _Marker, picture: str) -> str:
    """Fractional seconds: the pattern is read from the left."""
    form = marker.form
    if not any(unicodedata.category(sign) == "Nd" for sign in form):
        form = "1"
    pattern = _digits(form[::-1], picture)
    least, most = marker.least, marker.most
    places = pattern.mandatory + pattern.optional
    if form in ("1", chr(ord(pattern.zero) + 1)) or places == 1:
        # one digit does not set the width
        least, most = least or 1, most if most is not None or least is None else None
    else:
        least = max(least or 0, pattern.mandatory)
        most = max(most if most is not None else 0, places)
    digits = f"{microsecond:06}"
    if most is not None:
        digits = digits[:most]
    digits = digits.rstrip("0").ljust(least, "0")
    shown = "".join(chr(ord(pattern.zero) + int(digit)) for digit in digits)
    if not pattern.separators:
        return shown
    signs: list[str] = []
    for position, digit in enumerate(shown):
        separator = pattern.separators.get(position)
        signs += [separator, digit] if separator and position else [digit]
    return "".join(signs)


def _zone(value: Any, marker: _Marker, picture: str) -> str:
    form = marker.form
    if value.tzinfo is None:
        return "J" if form == "Z" else ""
    minutes = offset_of(value.tzinfo) // 60_000_000
    sign = "-" if minutes < 0 else "+"
    hours, rest = divmod(abs(minutes), 60)
    prefix = "GMT" if marker.component == "z" else ""
    if form == "Z" and rest == 0 and hours <= 12:
        return _MILITARY[12 + minutes // 60]
    if form == "N" and minutes == 0:
        return "GMT"
    if not any(unicodedata.category(sign) == "Nd" for sign in form):
        form = "01:01"
    if minutes == 0 and marker.modifier == "t":
        return "Z"
    return prefix + sign + _zone_digits(hours, rest, form, picture)


def _zone_digits(hours: int, minutes: int, form: str, picture: str) -> str:
    digits = [unicodedata.decimal(sign) for sign in form if unicodedata.category(sign) == "Nd"]
    zero = next(
        chr(ord(sign) - unicodedata.decimal(sign))
        for sign in form
        if unicodedata.category(sign) == "Nd"
    )
    separators = [sign for sign in form if unicodedata.category(sign) != "Nd"]
    if len(separators) > 1 or len(digits) > 4:
        raise _bad(picture, f'"{form}" is not a time zone format')
    if separators:
        hour_places = form.index(separators[0])
        text = f"{hours:0{hour_places}}{separators[0]}{minutes:02}"
    elif len(digits) <= 2:
        text = f"{hours:0{len(digits)}}" + (f":{minutes:02}" if minutes else "")
    else:
        text = f"{hours:0{len(digits) - 2}}{minutes:02}"
    return "".join(chr(ord(zero) + int(sign)) if sign in "0123456789" else sign for sign in text)
