"""The time line: instants, and how they are parsed and formatted.

An instant is a `datetime` without a zone, in UTC, with microseconds. What follows from instants
(intervals, versions, lifespans) is in `xcql.history`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from dateutil.parser import isoparser

from xcql.diagnostics import error
from xcql.source import Span

# The beginning of time, before every time in data.
START = datetime.min

# The two ends of time as written in the attributes of the view.
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
    """Parse the instant in a text, such as a validTime or a string bound.

    ISO 8601 with or without a zone (default UTC) and a fraction; months, days and hours may have
    one digit; a date is its midnight; `start`; and `now` if the evaluation provides it.

    >>> parse_time("2003-11-1T10:12:56+01:00")
    datetime.datetime(2003, 11, 1, 9, 12, 56)
    """
    # the form that we write ourselves and that most data has: parse it directly
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
        f"'{shown}' is not a valid time",
        span,
        hints=["write a time as 2003-10-23T12:23:34 or a date as 2003-10-23, in UTC"],
    )


def _is_plain_end(text: str) -> bool:
    """Whether the text after the seconds of a time is empty or only a fraction."""
    return not text or (text[0] == "." and text[1:].isascii() and text[1:].isdigit())


def _standard_form(text: str) -> str:
    """The text in standard ISO 8601 form; raises ValueError if it has none."""
    match = _EXTENDED.fullmatch(text)
    if match is None:
        if _OTHER_FORMS.fullmatch(text):
            return text
        raise ValueError(text)
    year, month, day = match["year"], match["month"], match["day"]
    hour, rest, zone = match["hour"] or "0", match["rest"] or "00", match["zone"] or ""
    return f"{year}-{month:0>2}-{day:0>2}T{hour:0>2}:{rest}{zone}"


def to_utc(instant: datetime) -> datetime:
    """A `datetime` as an instant: in UTC, without a zone; without a zone it is taken as UTC."""
    if instant.tzinfo is None:
        return instant
    return instant.astimezone(UTC).replace(tzinfo=None)


def format_time(instant: datetime) -> str:
    """The standard form of times: UTC, no zone, a fraction only if there is one.

    >>> format_time(datetime(2003, 10, 23, 12, 23, 34, 500_000))
    '2003-10-23T12:23:34.5'
    """
    text = instant.isoformat()
    return text.rstrip("0") if instant.microsecond else text


def format_begin(instant: datetime) -> str:
    """The value of `vtFrom`: the symbol `start` for the beginning of time."""
    return START_SYMBOL if instant == START else format_time(instant)


def format_end(instant: datetime | None) -> str:
    """The value of `vtTo`: the symbol `now` for None, which means still valid."""
    return NOW_SYMBOL if instant is None else format_time(instant)
