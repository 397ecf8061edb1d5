"""Atomizing values, and reading them as one atomic item."""

from __future__ import annotations

from xcql.algebra.scalars import Constant, Scalar, call
from xcql.compile.library.casts import INSTANTS, NUMBERS, STRINGS, cast
from xcql.compile.library.serialisation import string_value
from xcql.compile.result import NotNative
from xcql.compile.terms.items import AnyNode, Atomic, Dynamic, Item, Markup
from xcql.compile.terms.mapping import mapped_items
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import (
    EMPTY,
    Value,
    at_most_one,
    count,
    gather,
    leaves,
    single_scalar,
)
from xcql.source import Span


def atomized(item: Item, scope: Scope) -> Atomic:
    """The typed value of an item."""
    match item:
        case Atomic():
            return item
        case Markup(value=value):
            return Atomic(value, "xs:string")
        case AnyNode() if item.kinds & {"comment", "processing-instruction"}:
            raise NotNative("the values of comments or processing instructions")
        case Dynamic(attribute=(_, value)):
            return Atomic(value, "xs:untypedAtomic")
        case Dynamic(reason=reason):
            # its type is known only when the query runs
            raise NotNative(reason)
    return Atomic(string_value(item, scope), "xs:untypedAtomic")


def data(value: Value, scope: Scope) -> Value:
    """The atomized value."""
    return mapped_items(value, lambda item: atomized(item, scope))


def one_atomic(
    value: Value,
    scope: Scope,
    span: Span,
    what: str = "one value at most",
    *,
    is_of_one_type: bool = False,
) -> Atomic | None:
    """The value as one atomic item; NULL if it is empty, None if it always is.

    More than one item is XPTY0004. With `is_of_one_type`, values of different types would mostly
    be an error: the first type counts, and the evaluator answers the query if another one occurs.
    """
    kinds: dict[str, None] = {}
    zones: set[Scalar | None] = set()
    for leaf in leaves(value):
        item = atomized(leaf.item, scope)
        kinds[item.type] = None
        zones.add(item.zone)
    if not kinds:
        return None
    types = list(kinds)
    if len(types) == 1:
        type_ = types[0]
    elif set(types) <= {"xs:integer", "xs:decimal"}:
        # an integer is a decimal; as a double it would be computed and printed differently
        type_ = "xs:decimal"
    elif all(one in STRINGS for one in types):
        type_ = "xs:string"
    elif is_of_one_type and len(NUMBERS.intersection(types)) < 2:
        type_ = types[0]
    else:
        raise NotNative("a value of several types", span)

    def read(item: Item) -> Scalar:
        found = atomized(item, scope)
        if is_of_one_type and found.type != type_:
            return scope.compilation.limit(span, "values of several types")
        return cast(found, type_, scope, span).scalar

    zone: Scalar | None = None
    if type_ in INSTANTS | {"xs:time"} and zones != {None}:
        zone = next(iter(zones))
        if len(zones) > 1 or not isinstance(zone, Constant):
            zone = single(value, lambda item: _zone(item, scope), scope, span, what)
    return Atomic(single(value, read, scope, span, what), type_, zone)


def _zone(item: Item, scope: Scope) -> Scalar:
    return atomized(item, scope).zone or Constant("")


def one_text(value: Value, scope: Scope, span: Span) -> Scalar:
    """The only item as a string, whatever its type; the empty string if there is none."""
    if value == EMPTY:
        return Constant("")
    text = single(value, lambda item: string_value(item, scope), scope, span, "one value at most")
    return text if isinstance(text, Constant) else call("coalesce", text, Constant(""))


def single(value: Value, read, scope: Scope, span: Span, what: str) -> Scalar:  # type: ignore[no-untyped-def]
    """A scalar of the only item; XPTY0004 if there are several."""
    if at_most_one(value):
        return single_scalar(value, read)
    too_many = scope.compilation.error(
        "XPTY0004",
        f"a sequence of {{}} items, where {what} is needed",
        span,
        call("to_string", count(value)),
    )
    return call("only", gather(value, read), too_many)
