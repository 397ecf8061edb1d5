"""The function conversion rules: converting an argument to a parameter's type."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from elementpath.datatypes import AnyURI, Float, UntypedAtomic

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.casting import cast, to_double
from xcql.evaluate.sequences import Items, computed
from xcql.evaluate.types import (
    AnyItemType,
    AtomicItemType,
    FunctionType,
    ItemType,
    Signature,
    ValueType,
    all_match,
    signature_of,
)
from xcql.evaluate.values import atomize, kind_of
from xcql.source import Span
from xcql.xdm.atomic import is_numeric, make_float
from xcql.xdm.functions import Item, XdmFunction

# for a failed conversion, where the value was going: "argument 1 of substring"
Place = Callable[[], str]


def convert(items: Items, wanted: ValueType, place: Place, span: Span | None) -> Items:
    """Apply the function conversion rules to a value: atomize, cast, promote, check.

    A sequence that may be long is converted while it is read.
    """
    item_type, occurrence = wanted.item, wanted.occurrence
    if item_type is None:
        for item in items:
            raise _unfit(item, wanted, place, span)
        return ()
    if _fits(items, wanted, item_type):
        return items
    if item_type.atomic:
        items = atomize(items) if type(items) is not range else items
    elif isinstance(item_type, AnyItemType) and occurrence == "*":
        return items
    converted = _converted(items, item_type, wanted, place, span)
    if occurrence == "*":
        return converted
    if occurrence == "+":
        return _at_least_one(converted, wanted, place, span)
    found = []
    for item in converted:
        found.append(item)
        if len(found) > 1:
            raise error(
                "XPTY0004", f"{place()} must be {wanted}; it is a sequence of several items", span
            )
    if not found and occurrence == "":
        raise error("XPTY0004", f"{place()} must be {wanted}; it is an empty sequence", span)
    return found


def _fits(items: Items, wanted: ValueType, item_type: ItemType) -> bool:
    """Whether a computed value needs no conversion, which is the usual case."""
    if type(items) is not tuple and type(items) is not list:
        return False
    if len(items) == 1:
        return not isinstance(item_type, FunctionType) and item_type.matches(items[0])
    if not items:
        return wanted.occurrence in ("?", "*")
    return item_type.atomic and wanted.occurrence in ("*", "+") and all_match(item_type, items)


def _at_least_one(
    items: Iterator[Item], wanted: ValueType, place: Place, span: Span | None
) -> Iterator[Item]:
    empty = True
    for item in items:
        empty = False
        yield item
    if empty:
        raise error("XPTY0004", f"{place()} must be {wanted}; it is an empty sequence", span)


def _converted(
    items: Items, item_type: ItemType, wanted: ValueType, place: Place, span: Span | None
) -> Iterator[Item]:
    signature = item_type.signature if isinstance(item_type, FunctionType) else None
    matches = item_type.matches
    for item in items:
        if matches(item):
            yield item if signature is None else coerced(item, signature, span)
            continue
        fitted = _fitted(item, item_type, span)
        if fitted is None:
            raise _unfit(item, wanted, place, span)
        yield fitted


def _fitted(item: Item, item_type: ItemType, span: Span | None) -> Item | None:
    """The item after a cast of untyped data, a promotion, or a coercion; otherwise None."""
    if isinstance(item_type, AtomicItemType):
        name = item_type.name
        if type(item) is UntypedAtomic:
            if name in ("QName", "NOTATION"):
                raise error("XPTY0117", f"untyped data cannot be converted to {item_type}", span)
            return cast(item, "double" if name == "numeric" else name)
        if name == "double" and is_numeric(item):
            return to_double(item)
        if (name == "float" and isinstance(item, int)) or (name == "float" and is_decimal(item)):
            return make_float(to_double(item))
        if name == "string" and isinstance(item, AnyURI):
            return item.value
    elif isinstance(item_type, FunctionType) and isinstance(item, XdmFunction):
        signature = item_type.signature
        if signature is not None and len(signature.parameters) == item.arity:
            return coerced(item, signature, span)
    return None


def is_decimal(item: Item) -> bool:
    return is_numeric(item) and not isinstance(item, (float, Float))


def coerced(function: XdmFunction, signature: Signature, span: Span | None) -> XdmFunction:
    """A function with the given signature: each call converts arguments and result."""
    given = signature_of(function)

    def call(arguments: list[Items]) -> Items:
        passed: list[Items] = []
        for number, (argument, outer, inner) in enumerate(
            zip(arguments, signature.parameters, given.parameters, strict=True), 1
        ):
            place = _argument_place(number)
            value = computed(convert(argument, outer, place, span))
            passed.append(computed(convert(value, inner, place, span)))
        result = function.call(passed)
        return computed(convert(result, signature.result, lambda: "the function's result", span))

    return XdmFunction(function.name, function.arity, signature, call, function.annotations)


def _argument_place(number: int) -> Place:
    return lambda: f"argument {number} of the function"


def _unfit(item: Item, wanted: ValueType, place: Place, span: Span | None) -> XcqlError:
    return error("XPTY0004", f"{place()} must be {wanted}; it is {kind_of(item)}", span)
