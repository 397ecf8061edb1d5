"""Strings."""

from __future__ import annotations

from xcql.algebra.scalars import Call, Constant, Scalar, call
from xcql.compile.access import atomized
from xcql.compile.calls import CallSite, function
from xcql.compile.casts import STRINGS, one_atomic, to_string
from xcql.compile.expressions import text_or_empty
from xcql.compile.functions.sequences import boolean, context
from xcql.compile.items import Atomic, Item
from xcql.compile.result import NotNative
from xcql.compile.values import EMPTY, Single, Value, gather


def text(site: CallSite, number: int) -> Scalar:
    """An argument of type xs:string?, the empty string for nothing."""
    item = one_atomic(site.arguments[number], site.scope, site.span)
    if item is None:
        return Constant("")
    if item.type not in STRINGS:
        raise NotNative("a value that is no string", site.span)
    return text_or_empty(item)


def string(scalar: Scalar) -> Value:
    return Single(Atomic(scalar, "xs:string"))


@function("string", 0, 1)
def _string(site: CallSite) -> Value:
    from xcql.compile.access import string_value

    value = site.arguments[0] if site.arguments else context(site)
    if value == EMPTY:
        return string(Constant(""))
    if isinstance(value, Single):
        return string(string_value(value.item, site.scope))
    from xcql.compile.casts import single

    scalar = single(
        value,
        lambda item: string_value(item, site.scope),
        site.scope,
        site.span,
        "one item at most",
    )
    return string(call("coalesce", scalar, Constant("")))


@function("concat", *range(2, 20))
def _concat(site: CallSite) -> Value:
    parts = []
    for argument in site.arguments:
        item = one_atomic(argument, site.scope, site.span)
        parts.append(Constant("") if item is None else text_or_empty(item))
    return string(Call("concat", tuple(parts)))


@function("string-join", 1, 2)
def _string_join(site: CallSite) -> Value:
    separator = text(site, 1) if len(site.arguments) == 2 else Constant("")
    value = site.arguments[0]
    if value == EMPTY:
        return string(Constant(""))

    def read(item: Item) -> Scalar:
        return to_string(atomized(item, site.scope))

    if isinstance(value, Single):
        return string(read(value.item))
    return string(call("join_texts", gather(value, read), separator))


@function("contains", 2)
def _contains(site: CallSite) -> Value:
    return boolean(call("contains", text(site, 0), text(site, 1)))


@function("starts-with", 2)
def _starts_with(site: CallSite) -> Value:
    return boolean(call("startswith", text(site, 0), text(site, 1)))


@function("ends-with", 2)
def _ends_with(site: CallSite) -> Value:
    return boolean(call("endswith", text(site, 0), text(site, 1)))


@function("string-length", 0, 1)
def _length(site: CallSite) -> Value:
    if site.arguments:
        return Single(Atomic(call("length_of_text", text(site, 0)), "xs:integer"))
    inner = _string(CallSite(site.scope, site.span, (), ()))
    assert isinstance(inner, Single)
    return Single(Atomic(call("length_of_text", inner.item.scalar), "xs:integer"))  # type: ignore[attr-defined]


@function("upper-case", 1)
def _upper(site: CallSite) -> Value:
    return string(call("upper", text(site, 0)))


@function("lower-case", 1)
def _lower(site: CallSite) -> Value:
    return string(call("lower", text(site, 0)))


@function("normalize-space", 0, 1)
def _normalize(site: CallSite) -> Value:
    if site.arguments:
        return string(call("collapsed", text(site, 0)))
    inner = _string(CallSite(site.scope, site.span, (), ()))
    assert isinstance(inner, Single)
    return string(call("collapsed", inner.item.scalar))  # type: ignore[attr-defined]


@function("substring", 2, 3)
def _substring(site: CallSite) -> Value:
    numbers = []
    for argument in site.arguments[1:]:
        item = one_atomic(argument, site.scope, site.span)
        if item is None or item.type != "xs:integer":
            raise NotNative("a substring by something else than integers", site.span)
        numbers.append(item.scalar)
    return string(call("substring_of_text", text(site, 0), *numbers))


@function("substring-before", 2)
def _before(site: CallSite) -> Value:
    return string(call("text_before", text(site, 0), text(site, 1)))


@function("substring-after", 2)
def _after(site: CallSite) -> Value:
    return string(call("text_after", text(site, 0), text(site, 1)))


@function("translate", 3)
def _translate(site: CallSite) -> Value:
    return string(call("translate", text(site, 0), text(site, 1), text(site, 2)))
