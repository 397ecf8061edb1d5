"""format-number and format-dateTime with simple, constant pictures."""

from __future__ import annotations

import re
from functools import partial

from xcql.algebra.scalars import Call, Constant, Scalar, call
from xcql.compile.functions.strings import string
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import cast, local_time, number
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.values import EMPTY, Single, Value, guarded
from xcql.syntax.prolog import DecimalFormatDecl

native = NativeFunctions()

_NUMBER = re.compile(r"(?P<group>#,##|#*)0(?:\.(?P<least>0*)(?P<more>#*))?")
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


def _picture(site: CallSite) -> str:
    match site.arguments[1]:
        case Single(item=Atomic(scalar=Constant(value=str(picture)))):
            return picture
    raise NotNative("a picture that is computed", site.span)


@native("format-number", 2)
def _format_number(site: CallSite) -> Value:
    picture = _picture(site)
    form = _NUMBER.fullmatch(picture)
    formats = any(
        isinstance(one, DecimalFormatDecl) for one in site.compilation.module.declarations
    )
    if form is None or formats or picture.endswith("."):
        raise NotNative("a picture that is not simple", site.span)
    least, more = form["least"] or "", form["more"] or ""
    if len(least) + len(more) > 10:
        raise NotNative("so many digits", site.span)
    item = one_atomic(site.arguments[0], site.scope, site.span)
    if item is None:
        return string(Constant("NaN"))
    item = number(item, site.scope, site.span)
    if item.type not in ("xs:integer", "xs:decimal", "xs:double"):
        raise NotNative(f"{item.type} as a number", site.span)
    written = call(
        "formatted_number",
        item.scalar,
        Constant(len(least)),
        Constant(len(least) + len(more)),
        Constant("," in picture),
        Constant(item.type == "xs:double"),
    )
    return string(written)


def _format(site: CallSite, type_: str) -> Value:
    item = one_atomic(site.arguments[0], site.scope, site.span)
    if item is None:
        return EMPTY
    if item.type == "xs:untypedAtomic":
        item = cast(item, type_, site.scope, site.span)
    if item.type != type_:
        raise NotNative(f"{item.type} as a time", site.span)
    moment = local_time(item) if type_ == "xs:dateTime" else item.scalar
    parts: list[Scalar] = []
    for text, component in re.findall(r"([^\[\]]+)|\[([^\[\]]*)\]", _checked(site)):
        if text:
            parts.append(Constant(text))
            continue
        if component in _NAMES:
            parts.append(call(_NAMES[component], moment))
            continue
        part, digits = _COMPONENTS.get(component, ("", 0))
        if not part or (part in _TIMES_OF_DAY and type_ == "xs:date"):
            raise NotNative(f"the component {component} of a picture", site.span)
        parts.append(call("filled_up", call(part, moment), Constant(digits)))
    scalar = Call("concat", (Constant(""), *parts))
    result = string(scalar)
    if isinstance(site.arguments[0], Single):
        return result
    return guarded(call("is_not_null", moment), result)


native("format-dateTime", 2)(partial(_format, type_="xs:dateTime"))
native("format-date", 2)(partial(_format, type_="xs:date"))


def _checked(site: CallSite) -> str:
    picture = _picture(site)
    if not re.fullmatch(r"(?:[^\[\]]|\[[^\[\]]*\])*", picture):
        raise NotNative("a picture that is not simple", site.span)
    return picture
