"""The parts of durations."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from elementpath import datatypes as ep

from xcql.evaluate.registry import CallContext, function


def _whole(value: Decimal, unit: int, modulus: int | None = None) -> int:
    """The number of whole units, with the sign of the duration."""
    count = int(abs(value)) // unit
    if modulus is not None:
        count %= modulus
    return -count if value < 0 else count


def _declare(part: str, read: Callable[[ep.Duration], Decimal | int], result: str) -> None:
    def body(call: CallContext, value: ep.Duration | None) -> Decimal | int | None:
        return None if value is None else read(value)

    function(f"fn:{part}-from-duration(xs:duration?) as {result}?")(body)


_declare("years", lambda value: _whole(Decimal(value.months), 12), "xs:integer")
_declare("months", lambda value: _whole(Decimal(value.months), 1, 12), "xs:integer")
_declare("days", lambda value: _whole(value.seconds, 86400), "xs:integer")
_declare("hours", lambda value: _whole(value.seconds, 3600, 24), "xs:integer")
_declare("minutes", lambda value: _whole(value.seconds, 60, 60), "xs:integer")
_declare("seconds", lambda value: value.seconds % 60, "xs:decimal")
