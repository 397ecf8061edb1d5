"""Dates, times, lifespans."""

from __future__ import annotations

from xcql.algebra.scalars import Constant, Scalar, call
from xcql.compile.access import START
from xcql.compile.calls import CallSite, function
from xcql.compile.casts import cast, one_atomic
from xcql.compile.items import Atomic
from xcql.compile.result import NotNative
from xcql.compile.temporal import lifespan_bound
from xcql.compile.values import EMPTY, Single, Value, guarded


@function("vtFrom", 1)
def _from(site: CallSite) -> Value:
    return lifespan_bound(site.arguments[0], 0, site.scope, site.span)


@function("vtTo", 1)
def _to(site: CallSite) -> Value:
    return lifespan_bound(site.arguments[0], 1, site.scope, site.span)


@function("now", 0)
def _now(site: CallSite) -> Value:
    return Single(Atomic(site.scope.now, "xs:dateTime", Constant("")))


@function("start", 0)
def _start(site: CallSite) -> Value:
    return Single(Atomic(START, "xs:dateTime", Constant("")))


@function("current-dateTime", 0)
@function("currentDateTime", 0)
def _current(site: CallSite) -> Value:
    return Single(Atomic(site.scope.now, "xs:dateTime", Constant("Z")))


@function("current-date", 0)
@function("currentDate", 0)
def _today(site: CallSite) -> Value:
    return Single(Atomic(call("to_date", site.scope.now), "xs:date", Constant("Z")))


def _part(site: CallSite, part: str, type_: str) -> Value:
    value = site.arguments[0]
    if value == EMPTY:
        return EMPTY
    item = one_atomic(value, site.scope, site.span)
    assert item is not None
    if item.type == "xs:untypedAtomic":
        item = cast(item, type_, site.scope, site.span)
    if item.type != type_:
        raise NotNative(f"a part of {item.type}", site.span)
    moment: Scalar = item.scalar
    if item.zone not in (None, Constant(""), Constant("Z")):
        moment = call("in_zone", moment, item.zone) if type_ == "xs:dateTime" else moment
    scalar = call(part, moment)
    kind = "xs:decimal" if part == "second_of" else "xs:integer"
    result = Single(Atomic(scalar, kind))
    return result if isinstance(value, Single) else guarded(call("is_not_null", scalar), result)


for _name in ("year", "month", "day"):
    for _type in ("dateTime", "date"):

        @function(f"{_name}-from-{_type}", 1)
        def _day_part(site: CallSite, part: str = _name, type_: str = _type) -> Value:
            return _part(site, part, f"xs:{type_}")


for _name in ("hours", "minutes", "seconds"):

    @function(f"{_name}-from-dateTime", 1)
    def _time_part(site: CallSite, part: str = _name) -> Value:
        name = {"hours": "hour", "minutes": "minute", "seconds": "second_of"}[part]
        return _part(site, name, "xs:dateTime")
