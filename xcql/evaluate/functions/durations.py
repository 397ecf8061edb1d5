"""The parts of durations."""

from __future__ import annotations

from decimal import Decimal

from elementpath import datatypes as ep

from xcql.evaluate.registry import CallContext, function


def _whole(value: Decimal, unit: int, modulus: int | None = None) -> int:
    """The number of whole units, with the sign of the duration."""
    count = int(abs(value)) // unit
    if modulus is not None:
        count %= modulus
    return -count if value < 0 else count


@function("fn:years-from-duration", "xs:duration?", returns="xs:integer?")
def years_from_duration(call: CallContext, value: ep.Duration | None) -> int | None:
    return None if value is None else _whole(Decimal(value.months), 12)


@function("fn:months-from-duration", "xs:duration?", returns="xs:integer?")
def months_from_duration(call: CallContext, value: ep.Duration | None) -> int | None:
    return None if value is None else _whole(Decimal(value.months), 1, 12)


@function("fn:days-from-duration", "xs:duration?", returns="xs:integer?")
def days_from_duration(call: CallContext, value: ep.Duration | None) -> int | None:
    return None if value is None else _whole(value.seconds, 86400)


@function("fn:hours-from-duration", "xs:duration?", returns="xs:integer?")
def hours_from_duration(call: CallContext, value: ep.Duration | None) -> int | None:
    return None if value is None else _whole(value.seconds, 3600, 24)


@function("fn:minutes-from-duration", "xs:duration?", returns="xs:integer?")
def minutes_from_duration(call: CallContext, value: ep.Duration | None) -> int | None:
    return None if value is None else _whole(value.seconds, 60, 60)


@function("fn:seconds-from-duration", "xs:duration?", returns="xs:decimal?")
def seconds_from_duration(call: CallContext, value: ep.Duration | None) -> Decimal | None:
    return None if value is None else value.seconds % 60
