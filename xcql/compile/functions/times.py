"""Dates, times, lifespans."""

from __future__ import annotations

from functools import partial

from xcql.algebra.scalars import Constant, Scalar, call, case, negation
from xcql.compile.library.access import START
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import cast, in_utc, local_time, on_time_line
from xcql.compile.library.lifespans import lifespan_bound
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.values import EMPTY, Single, Value, guarded, nullable

native = NativeFunctions()


def _bound(site: CallSite, which: int) -> Value:
    (value,) = site.arguments
    if value == EMPTY:
        return EMPTY
    scalar = lifespan_bound(value, which, site.scope, site.span)
    return nullable(Atomic(scalar, "xs:dateTime", Constant("")), value)


native("vtFrom", 1)(partial(_bound, which=0))
native("vtTo", 1)(partial(_bound, which=1))


@native("now", 0)
def _now(site: CallSite) -> Value:
    return Single(Atomic(site.scope.now, "xs:dateTime", Constant("")))


@native("start", 0)
def _start(site: CallSite) -> Value:
    return Single(Atomic(START, "xs:dateTime", Constant("")))


@native("current-dateTime", 0)
@native("currentDateTime", 0)
def _current(site: CallSite) -> Value:
    return Single(Atomic(site.scope.now, "xs:dateTime", Constant("Z")))


@native("current-date", 0)
@native("currentDate", 0)
def _today(site: CallSite) -> Value:
    return Single(Atomic(call("to_date", site.scope.now), "xs:date", Constant("Z")))


def _argument(site: CallSite, *types: str) -> Atomic | None:
    """The first argument; None if it is always empty. Untyped data is read as the type."""
    item = one_atomic(site.arguments[0], site.scope, site.span)
    if item is None:
        return None
    if item.type == "xs:untypedAtomic" and len(types) == 1:
        item = cast(item, types[0], site.scope, site.span)
    if item.type not in types:
        raise NotNative(f"a part of {item.type}", site.span)
    return item


def _part(site: CallSite, part: str, type_: str) -> Value:
    item = _argument(site, type_)
    if item is None:
        return EMPTY
    # a date is stored as it reads, a time as an instant
    moment = local_time(item) if type_ == "xs:dateTime" else item.scalar
    kind = "xs:decimal" if part == "second_of" else "xs:integer"
    return nullable(Atomic(call(part, moment), kind), site.arguments[0])


for _name in ("year", "month", "day"):
    for _type in ("dateTime", "date"):

        @native(f"{_name}-from-{_type}", 1)
        def _day_part(site: CallSite, part: str = _name, type_: str = _type) -> Value:
            return _part(site, part, f"xs:{type_}")


for _name in ("hours", "minutes", "seconds"):

    @native(f"{_name}-from-dateTime", 1)
    def _time_part(site: CallSite, part: str = _name) -> Value:
        name = {"hours": "hour", "minutes": "minute", "seconds": "second_of"}[part]
        return _part(site, name, "xs:dateTime")


# name, the duration's type, the unit, and the number at which the part wraps around
_DURATION_PARTS = (
    ("years", "xs:yearMonthDuration", 12, None),
    ("months", "xs:yearMonthDuration", 1, 12),
    ("days", "xs:dayTimeDuration", 86_400_000_000, None),
    ("hours", "xs:dayTimeDuration", 3_600_000_000, 24),
    ("minutes", "xs:dayTimeDuration", 60_000_000, 60),
)
_DURATIONS = ("xs:dayTimeDuration", "xs:yearMonthDuration")

for _name, _type, _unit, _most in _DURATION_PARTS:

    @native(f"{_name}-from-duration", 1)
    def _duration_part(
        site: CallSite, type_: str = _type, unit: int = _unit, most: int | None = _most
    ) -> Value:
        item = _argument(site, *_DURATIONS)
        if item is None:
            return EMPTY
        scalar: Scalar = call("idiv", item.scalar, Constant(unit))
        if most is not None:
            scalar = call("%", scalar, Constant(most))
        if item.type != type_:
            scalar = cast(item, type_, site.scope, site.span).scalar
        return nullable(Atomic(scalar, "xs:integer"), site.arguments[0])


@native("seconds-from-duration", 1)
def _duration_seconds(site: CallSite) -> Value:
    item = _argument(site, *_DURATIONS)
    if item is None:
        return EMPTY
    length = cast(item, "xs:dayTimeDuration", site.scope, site.span).scalar
    scalar = call("from_millionths", call("%", length, Constant(60_000_000)))
    return nullable(Atomic(scalar, "xs:decimal"), site.arguments[0])


@native("implicit-timezone", 0)
def _implicit(site: CallSite) -> Value:
    return Single(Atomic(Constant(0), "xs:dayTimeDuration"))


for _type in ("dateTime", "date"):

    @native(f"timezone-from-{_type}", 1)
    def _timezone(site: CallSite, type_: str = _type) -> Value:
        item = _argument(site, f"xs:{type_}")
        if item is None or item.zone in (None, Constant("")):
            return EMPTY
        assert item.zone is not None
        length = call("zone_length", item.zone)
        scalar = case((call("is_not_null", item.scalar), length))
        return guarded(call("is_not_null", scalar), Single(Atomic(scalar, "xs:dayTimeDuration")))

    @native(f"adjust-{_type}-to-timezone", 1, 2)
    def _adjusted(site: CallSite, type_: str = _type) -> Value:
        item = _argument(site, f"xs:{type_}")
        if item is None:
            return EMPTY
        zone = _wanted_zone(site)
        local = local_time(item) if type_ == "dateTime" else call("to_instant", item.scalar)
        # a time without a zone reads the same afterwards, and so does one that loses its zone
        kept, moved = in_utc(local, zone), on_time_line(item)
        has_zone = negation(call("=", item.zone or Constant(""), Constant("")))
        if isinstance(item.zone, Constant) or item.zone is None:
            has_zone = Constant(item.zone not in (None, Constant("")))
        moment = kept if zone == Constant("") else case((has_zone, moved), otherwise=kept)
        if type_ == "dateTime":
            return nullable(Atomic(moment, "xs:dateTime", zone), site.arguments[0])
        day = call("to_date", local_time(Atomic(moment, "xs:dateTime", zone)))
        return nullable(Atomic(day, "xs:date", zone), site.arguments[0])


def _wanted_zone(site: CallSite) -> Constant:
    """The requested zone, as written; the empty string if the time should have none."""
    if len(site.arguments) == 1:
        return Constant("Z")
    if site.arguments[1] == EMPTY:
        return Constant("")
    item = one_atomic(site.arguments[1], site.scope, site.span)
    if item is None or item.type != "xs:dayTimeDuration" or not isinstance(item.scalar, Constant):
        raise NotNative("a zone that is not known", site.span)
    length = item.scalar.value
    assert isinstance(length, int)
    minutes, rest = divmod(abs(length), 60_000_000)
    if rest or minutes > 14 * 60:
        raise NotNative("not a valid time zone", site.span)
    if minutes == 0:
        return Constant("Z")
    return Constant(f"{'-' if length < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}")


# the parts of a time: the unit, and the number at which the part wraps around
for _name, _unit, _most in (("hours", 3_600_000_000, 24), ("minutes", 60_000_000, 60)):

    @native(f"{_name}-from-time", 1)
    def _clock_part(site: CallSite, unit: int = _unit, most: int = _most) -> Value:
        item = _argument(site, "xs:time")
        if item is None:
            return EMPTY
        part = call("%", call("idiv", item.scalar, Constant(unit)), Constant(most))
        return nullable(Atomic(part, "xs:integer"), site.arguments[0])


@native("seconds-from-time", 1)
def _clock_seconds(site: CallSite) -> Value:
    item = _argument(site, "xs:time")
    if item is None:
        return EMPTY
    seconds = call("from_millionths", call("%", item.scalar, Constant(60_000_000)))
    return nullable(Atomic(seconds, "xs:decimal"), site.arguments[0])


@native("dateTime", 2)
def _date_and_time(site: CallSite) -> Value:
    parts: list[Atomic] = []
    for argument, type_ in zip(site.arguments, ("xs:date", "xs:time"), strict=True):
        item = one_atomic(argument, site.scope, site.span)
        if item is None:
            return EMPTY
        if item.type == "xs:untypedAtomic":
            item = cast(item, type_, site.scope, site.span)
        if item.type != type_:
            raise NotNative(f"a time of {item.type}", site.span)
        parts.append(item)
    day, clock = parts
    first, second = (one.zone or Constant("") for one in parts)
    none = Constant("")
    apart = site.compilation.error(
        "FORG0008", "the date and the time have different time zones", site.span
    )
    zone: Scalar = case(
        (_same(first, none), second),
        (_same(second, none), first),
        (_same(first, second), first),
        otherwise=apart,
    )
    local = call("add_microseconds", call("to_instant", day.scalar), clock.scalar)
    scalar = in_utc(local, zone)
    return nullable(Atomic(scalar, "xs:dateTime", zone), *site.arguments)


def _same(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, Constant) and isinstance(b, Constant):
        return Constant(a == b)
    return call("=", a, b)
