"""Converts between instants of the timeline and xs:dateTime values; lifespans of nodes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from elementpath import datatypes as ep

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.context import Context
from xcql.evaluate.dates import build
from xcql.history.lifespan import lifespan
from xcql.model.time import START, parse_time
from xcql.source import Span
from xcql.xdm.atomic import instant, type_of
from xcql.xdm.nodes import Node

_EPOCH = datetime(1970, 1, 1)


def utc_now(context: Context) -> datetime:
    """The instant of evaluation on the timeline: in UTC, without a zone."""
    return context.now.astimezone(UTC).replace(tzinfo=None)


def datetime_value(moment: datetime) -> ep.DateTime:
    """An instant as an xs:dateTime without a zone."""
    clock = ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1_000_000
    return build(ep.DateTime, moment.year, moment.month, moment.day, clock + moment.microsecond)


def instant_of(value: Any, now: datetime, span: Span | None) -> datetime:
    """The instant of a bound of an interval: a date means its midnight.

    Text is parsed like a validTime. A time outside the years 1 to 9999 becomes the earliest or
    the latest possible time.
    """
    if isinstance(value, (ep.DateTime, ep.Date)):
        days, microseconds = instant(value)
        try:
            return _EPOCH + timedelta(days=days, microseconds=microseconds)
        except OverflowError:
            return START if days < 0 else datetime.max
    if isinstance(value, str):
        return parse_time(value, now, span)
    if isinstance(value, ep.UntypedAtomic):
        return parse_time(value.value, now, span)
    raise error(
        "XCQL0002",
        f"a bound of an interval must be a time; this is {type_of(value)}",
        span,
        hints=["write a time such as 2003-10-23T12:23:34, a date, now or start"],
    )


def lifespan_columns(item: Any, now: datetime) -> tuple[datetime | None, datetime | None]:
    """The columns `vtFrom` and `vtTo` of an item: None for `start`, for `now`, and without a
    lifespan: for an atomic value, or if attributes of these names are not times.

    A lifespan that ends exactly at the instant of evaluation does not end at `now`.
    """
    if not isinstance(item, Node):
        return None, None
    try:
        found = lifespan(item, now)
        end: datetime | None = found.end
        # a `now` later than everything else shows whether the end is the symbol `now`
        if end == now and lifespan(item, datetime.max).end == datetime.max:
            end = None
    except XcqlError:
        return None, None
    return None if found.begin == START else found.begin, end
