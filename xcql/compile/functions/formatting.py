"""format-number, format-dateTime, format-date and format-time with constant pictures."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from xcql.algebra.scalars import Call, Constant, Scalar, call
from xcql.compile.functions.strings import string
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import cast, local_time, number, to_string
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.native_functions import CallSite, NativeFunctions, supported
from xcql.compile.terms.values import EMPTY, Single, Value, guarded
from xcql.diagnostics import XcqlError
from xcql.evaluate.casting import from_text
from xcql.evaluate.functions import format_dates, format_numbers
from xcql.syntax.prolog import DecimalFormatDecl

native = NativeFunctions()

# components of a picture: the part of the time, and the number of digits to pad it to
_COMPONENTS = {
    "Y0001": ("year", 4),
    "Y": ("year", 1),
    "M01": ("month", 2),
    "M": ("month", 1),
    "M1": ("month", 1),
    "D01": ("day", 2),
    "D": ("day", 1),
    "D1": ("day", 1),
    "H01": ("hour", 2),
    "m01": ("minute", 2),
    "m": ("minute", 2),
    "s01": ("second", 2),
    "s": ("second", 2),
}
_TIMES_OF_DAY = frozenset({"hour", "minute", "second"})
_NAMES = {"MNn": "month_name"}
_CALENDARS = ("", "AD", "ISO")
_PARTS = re.compile(r"(?:[^\[\]]|\[[^\[\]]*\])*")
_SAMPLES = {"dateTime": "2004-02-29T13:14:15.678", "date": "2004-02-29", "time": "13:14:15.678"}


def _picture(site: CallSite) -> str:
    picture = _constant(site.arguments[1])
    if not picture:
        raise NotNative("a picture that is computed", site.span)
    return picture


def _constant(value: Value) -> str | None:
    """The text that a value always is; empty for the empty sequence, None if it is computed."""
    match value:
        case Single(item=Atomic(scalar=Constant(value=str(text)))):
            return text
    return "" if value == EMPTY else None


@native("format-number", 2)
def _format_number(site: CallSite) -> Value:
    picture = _picture(site)
    if any(isinstance(one, DecimalFormatDecl) for one in site.compilation.module.declarations):
        raise NotNative("a decimal format of the query", site.span)
    _check(lambda: format_numbers.formatted(1, picture, format_numbers.DecimalFormat()), site)
    item = one_atomic(site.arguments[0], site.scope, site.span)
    if item is None:
        return string(Constant("NaN"))
    item = number(item, site.scope, site.span)
    if item.type not in ("xs:integer", "xs:decimal", "xs:double"):
        raise NotNative(f"{item.type} as a number", site.span)
    is_double = Constant(item.type == "xs:double")
    return string(
        supported(call("formatted_number", item.scalar, Constant(picture), is_double), site)
    )


def _format(site: CallSite, type_: str) -> Value:
    options = list(map(_constant, site.arguments[2:]))
    if None in options or (options and options[1] not in _CALENDARS):
        raise NotNative("a calendar, or a language that is computed", site.span)
    item = one_atomic(site.arguments[0], site.scope, site.span)
    if item is None:
        return EMPTY
    if item.type == "xs:untypedAtomic":
        item = cast(item, type_, site.scope, site.span)
    if item.type != type_:
        raise NotNative(f"{item.type} as a time", site.span)
    result = string(_by_parts(item, site) or _as_a_whole(item, site))
    if isinstance(site.arguments[0], Single):
        return result
    return guarded(call("is_not_null", item.scalar), result)


def _by_parts(item: Atomic, site: CallSite) -> Scalar | None:
    """A picture whose components are parts of the time: their texts, concatenated."""
    picture = _picture(site)
    if item.type == "xs:time" or not _PARTS.fullmatch(picture):
        return None
    moment = local_time(item) if item.type == "xs:dateTime" else item.scalar
    parts: list[Scalar] = []
    for text, component in re.findall(r"([^\[\]]+)|\[([^\[\]]*)\]", picture):
        if text:
            parts.append(Constant(text))
            continue
        if component in _NAMES:
            parts.append(call(_NAMES[component], moment))
            continue
        part, digits = _COMPONENTS.get(component, ("", 0))
        if not part or (part in _TIMES_OF_DAY and item.type == "xs:date"):
            return None
        parts.append(call("filled_up", call(part, moment), Constant(digits)))
    return Call("concat", (Constant(""), *parts))


def _as_a_whole(item: Atomic, site: CallSite) -> Scalar:
    picture, type_ = _picture(site), item.type.removeprefix("xs:")
    for zone in ("", "Z", "-05:30"):
        sample = from_text(_SAMPLES[type_] + zone, type_)
        _check(partial(format_dates.formatted, sample, picture, type_), site)
    written = call("formatted_time", to_string(item), Constant(type_), Constant(picture))
    return supported(written, site)


def _check(formatted: Callable[[], str], site: CallSite) -> None:
    """Leave a picture that fails to the evaluator, which may never come to use it."""
    try:
        formatted()
    except XcqlError:
        raise NotNative("an invalid picture", site.span) from None


native("format-dateTime", 2, 5)(partial(_format, type_="xs:dateTime"))
native("format-date", 2, 5)(partial(_format, type_="xs:date"))
native("format-time", 2, 5)(partial(_format, type_="xs:time"))
