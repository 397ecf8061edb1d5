"""Strings."""

from __future__ import annotations

from functools import partial

from xcql.algebra.operations import TOPICS, Operation
from xcql.algebra.operators import Unit, Unnest
from xcql.algebra.scalars import Call, Column, Constant, Scalar, call
from xcql.compile.functions.sequences import argument_or_context
from xcql.compile.library.atomization import atomized, one_atomic, one_text, single
from xcql.compile.library.casts import NUMBERS, STRINGS, cast, number, text_or_empty
from xcql.compile.library.serialisation import string_value
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic, Item
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.values import (
    EMPTY,
    Single,
    Value,
    at_most_one,
    boolean,
    each,
    gather,
    nullable,
)

native = NativeFunctions()


def text(site: CallSite, number: int) -> Scalar:
    """An argument of type xs:string?; the empty string if it is empty."""
    item = one_atomic(site.arguments[number], site.scope, site.span)
    if item is None:
        return Constant("")
    if item.type not in STRINGS:
        raise NotNative("a value that is not a string", site.span)
    return text_or_empty(item)


def string(scalar: Scalar) -> Value:
    return Single(Atomic(scalar, "xs:string"))


@native("string", 0, 1)
def _string(site: CallSite) -> Value:
    value = argument_or_context(site)
    if value == EMPTY:
        return string(Constant(""))
    if isinstance(value, Single):
        return string(string_value(value.item, site.scope))
    scalar = single(
        value,
        lambda item: string_value(item, site.scope),
        site.scope,
        site.span,
        "one item at most",
    )
    return string(call("coalesce", scalar, Constant("")))


@native("concat", *range(2, 100))
def _concat(site: CallSite) -> Value:
    parts = (one_text(argument, site.scope, site.span) for argument in site.arguments)
    return string(Call("concat", tuple(parts)))


@native("string-join", 1, 2)
def _string_join(site: CallSite) -> Value:
    if not all(isinstance(one, Single) for one in site.arguments[1:]):
        raise NotNative("a separator that may be absent", site.span)
    separator = text(site, 1) if len(site.arguments) == 2 else Constant("")
    value = site.arguments[0]
    if value == EMPTY:
        return string(Constant(""))

    def read(item: Item) -> Scalar:
        return string_value(item, site.scope)

    if isinstance(value, Single):
        return string(read(value.item))
    return string(call("join_texts", gather(value, read), separator))


def _of_texts(operation: Operation, site: CallSite) -> Value:
    """An operation on strings; without arguments, on the string value of the context item."""
    count = len(operation.parameters)
    texts = [text(site, number) for number in range(count)] if site.arguments else [_context(site)]
    result = call(operation.name, *texts)
    return Single(Atomic(result, f"xs:{_RESULTS[operation.result]}"))


def _context(site: CallSite) -> Scalar:
    value = _string(CallSite(site.scope, site.span, (), ()))
    assert isinstance(value, Single)
    assert isinstance(value.item, Atomic)
    return value.item.scalar


_RESULTS = {"text": "string", "boolean": "boolean", "integer": "integer"}
_SIMPLE = (
    "contains starts-with ends-with upper-case lower-case substring-before substring-after"
    " translate encode-for-uri string-length normalize-space"
)
_OF_CONTEXT = ("string-length", "normalize-space")

for _operation in TOPICS["texts"]:
    for _name in _operation.functions:
        _local = _name.removeprefix("fn:")
        if _local in _SIMPLE.split():
            _arities = (0, 1) if _local in _OF_CONTEXT else (len(_operation.parameters),)
            native(_local, *_arities)(partial(_of_texts, _operation))


@native("substring", 2, 3)
def _substring(site: CallSite) -> Value:
    numbers = [_position(site, argument) for argument in site.arguments[1:]]
    subject = text(site, 0)
    if all(number.type == "xs:integer" for number in numbers):
        return string(call("substring_of_text", subject, *(one.scalar for one in numbers)))
    doubles = [
        call("round_half_up", cast(one, "xs:double", site.scope, site.span).scalar)
        for one in numbers
    ]
    return string(call("substring_by_doubles", subject, *doubles))


def _position(site: CallSite, argument: Value) -> Atomic:
    """A required argument of type xs:double; integers stay integers."""
    item = one_atomic(argument, site.scope, site.span)
    if item is None or not isinstance(argument, Single):
        raise NotNative("a position that may be missing", site.span)
    item = number(item, site.scope, site.span)
    if item.type not in NUMBERS:
        raise NotNative("a position that is not a number", site.span)
    return item


def _of_two(site: CallSite, operation: str, type_: str) -> Value:
    """A function of two strings that is empty if one of them is."""
    items = [one_atomic(argument, site.scope, site.span) for argument in site.arguments]
    scalars: list[Scalar] = []
    for item in items:
        if item is None:
            return EMPTY
        if item.type not in STRINGS:
            raise NotNative("a value that is not a string", site.span)
        scalars.append(item.scalar)
    return nullable(Atomic(call(operation, *scalars), type_), *site.arguments)


native("compare", 2)(partial(_of_two, operation="text_order", type_="xs:integer"))
native("codepoint-equal", 2)(partial(_of_two, operation="=", type_="xs:boolean"))


@native("contains-token", 2)
def _contains_token(site: CallSite) -> Value:
    token = call("trimmed", text(site, 1))
    if not isinstance(site.arguments[1], Single):
        raise NotNative("a token that may be missing", site.span)
    if not at_most_one(site.arguments[0]):
        raise NotNative("a token of several strings", site.span)
    return boolean(call("has_word", call("collapsed", text(site, 0)), token))


@native("string-to-codepoints", 1)
def _codepoints(site: CallSite) -> Value:
    fresh = site.compilation.fresh
    item, position = fresh("codepoint"), fresh("codepoint_at")
    plan = Unnest(Unit(), call("codepoints", text(site, 0)), item, position)
    return each(plan, Single(Atomic(Column(item), "xs:integer")))


@native("codepoints-to-string", 1)
def _of_codepoints(site: CallSite) -> Value:
    value = site.arguments[0]
    if value == EMPTY:
        return string(Constant(""))

    def read(item: Item) -> Scalar:
        found = atomized(item, site.scope)
        if found.type == "xs:untypedAtomic":
            found = cast(found, "xs:integer", site.scope, site.span)
        if found.type != "xs:integer":
            raise NotNative("code points that are not integers", site.span)
        return found.scalar

    bad = site.compilation.error("FOCH0001", "not the code point of an XML character", site.span)
    return string(call("text_of_codepoints", gather(value, read), bad))
