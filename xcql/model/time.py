"""The time line: instants, how they are read and written, intervals, Allen's relations.

An instant is a `datetime` without a zone, in UTC, with microseconds. Intervals are closed at both
ends: at the very instant of a change both versions are valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from dateutil.parser import isoparser

from xcql.diagnostics import error
from xcql.source import Span

# The beginning of time, before every time in data.
START = datetime.min

# How the attributes of the view write the two ends of time.
START_SYMBOL = "start"
NOW_SYMBOL = "now"

_EXTENDED = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?:[T ](?P<hour>\d{1,2}):(?P<rest>\d{2}(?::\d{2}(?:[.,]\d+)?)?))?"
    r"\s*(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)?"
)
# ISO's other forms: basic (20031023T122334), weeks (2003-W43-4), days of the year (2003-296).
# Fewer digits could be a year, or just a number.
_OTHER_FORMS = re.compile(r"\d{8}(?:T.+)?|\d{4}-?W\d{2}-?\d(?:T.+)?|\d{4}-\d{3}(?:T.+)?")
_iso = isoparser(sep="T")


def parse_time(text: str, now: datetime | None = None, span: Span | None = None) -> datetime:
    """The instant that a text names: as a validTime is written, and as a string bound is.

    ISO 8601 with a zone or without (then UTC), with a fraction or not; months, days and hours may
    have one digit; a date is its midnight; `start`; and `now` where an evaluation gives it.

    >>> parse_time("2003-11-1T10:12:56+01:00")
    datetime.datetime(2003, 11, 1, 9, 12, 56)
    """
    # the form that we write ourselves, and most data has: no need to look closer
    if 19 <= len(text) <= 26 and text[10] == "T" and _is_plain_end(text[19:]):
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass
    stripped = text.strip()
    if stripped == START_SYMBOL:
        return START
    if stripped == NOW_SYMBOL and now is not None:
        return now
    try:
        instant = _iso.isoparse(_standard_form(stripped.upper()))
        return to_utc(instant)
    except (ValueError, OverflowError):
        pass
    shown = stripped if len(stripped) <= 60 else f"{stripped[:60]}…"
    raise error(
        "XCQL0002",
        f"'{shown}' is not a time",
        span,
        hints=["a time is written like 2003-10-23T12:23:34, a date like 2003-10-23, both in UTC"],
    )


def _is_plain_end(text: str) -> bool:
    """Whether nothing follows the seconds of a time, or a fraction only."""
    return not text or (text[0] == "." and text[1:].isascii() and text[1:].isdigit())


def _standard_form(text: str) -> str:
    """The text as ISO 8601 has it, or a ValueError."""
    match = _EXTENDED.fullmatch(text)
    if match is None:
        if _OTHER_FORMS.fullmatch(text):
            return text
        raise ValueError(text)
    year, month, day = match["year"], match["month"], match["day"]
    hour, rest, zone = match["hour"] or "0", match["rest"] or "00", match["zone"] or ""
    return f"{year}-{month:0>2}-{day:0>2}T{hour:0>2}:{rest}{zone}"


def to_utc(instant: datetime) -> datetime:
    """A `datetime` as an instant: in UTC, without a zone; one that has none is in UTC already."""
    if instant.tzinfo is None:
        return instant
    return instant.astimezone(UTC).replace(tzinfo=None)


def format_time(instant: datetime) -> str:
    """The one form in which times are written: UTC, no zone, a fraction only if there is one.

    >>> format_time(datetime(2003, 10, 23, 12, 23, 34, 500_000))
    '2003-10-23T12:23:34.5'
    """
    text = instant.isoformat()
    return text.rstrip("0") if instant.microsecond else text


def format_begin(instant: datetime) -> str:
    """The value of `vtFrom`: the symbol `start` for the beginning of time."""
    return START_SYMBOL if instant == START else format_time(instant)


def format_end(instant: datetime | None) -> str:
    """The value of `vtTo`: the symbol `now` for None, what is still valid."""
    return NOW_SYMBOL if instant is None else format_time(instant)


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed stretch of time, such as a lifespan; `begin` and `end` belong to it."""

    begin: datetime
    end: datetime

    def __contains__(self, instant: datetime) -> bool:
        return self.begin <= instant <= self.end

    def intersection(self, other: Interval) -> Interval | None:
        """What both have in common, or None; it may be a single instant."""
        begin, end = max(self.begin, other.begin), min(self.end, other.end)
        return Interval(begin, end) if begin <= end else None


def cover(intervals: Iterable[Interval]) -> Interval | None:
    """The smallest interval that holds all of them, or None if there are none."""
    found: Interval | None = None
    for interval in intervals:
        found = (
            interval
            if found is None
            else Interval(min(found.begin, interval.begin), max(found.end, interval.end))
        )
    return found


Relation = Callable[[Interval, Interval], bool]


def _before(a: Interval, b: Interval) -> bool:
    return a.end < b.begin


def _meets(a: Interval, b: Interval) -> bool:
    return a.end == b.begin


def _overlaps(a: Interval, b: Interval) -> bool:
    return a.begin < b.begin < a.end < b.end


def _starts(a: Interval, b: Interval) -> bool:
    return a.begin == b.begin and a.end < b.end


def _during(a: Interval, b: Interval) -> bool:
    return b.begin < a.begin and a.end < b.end


def _finishes(a: Interval, b: Interval) -> bool:
    return a.end == b.end and a.begin > b.begin


def _equals(a: Interval, b: Interval) -> bool:
    return a == b


def _inverse(relation: Relation) -> Relation:
    return lambda a, b: relation(b, a)


# Allen's thirteen relations by the names that queries use. With points, several may hold.
ALLEN_RELATIONS: Mapping[str, Relation] = MappingProxyType(
    {
        "before": _before,
        "after": _inverse(_before),
        "meets": _meets,
        "met-by": _inverse(_meets),
        "overlaps": _overlaps,
        "overlapped-by": _inverse(_overlaps),
        "starts": _starts,
        "started-by": _inverse(_starts),
        "during": _during,
        "contains": _inverse(_during),
        "finishes": _finishes,
        "finished-by": _inverse(_finishes),
        "equals": _equals,
    }
)
