"""count, sum, avg, min, max."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial

from xcql.algebra.operators import Order, Select, SortKey, order
from xcql.algebra.scalars import (
    NULL,
    Call,
    Constant,
    Nested,
    Scalar,
    call,
    case,
    disjunction,
    field,
)
from xcql.compile.library.arithmetic import arithmetic
from xcql.compile.library.atomization import atomized, one_atomic
from xcql.compile.library.casts import (
    INSTANTS,
    NUMBERS,
    cast,
    common_number,
    limited_months,
    on_time_line,
)
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic, Item
from xcql.compile.terms.mapping import mapped_items
from xcql.compile.terms.native_functions import CallSite, NativeFunction, NativeFunctions
from xcql.compile.terms.values import (
    EMPTY,
    Concat,
    Each,
    Merged,
    Single,
    Value,
    at_most_one,
    concat,
    conditional,
    count,
    each,
    exists,
    gather,
    guarded,
    is_optional,
    leaves,
    uniform,
)

native = NativeFunctions()

DURATIONS = frozenset({"xs:dayTimeDuration", "xs:yearMonthDuration"})


@native("count", 1)
def _count(site: CallSite) -> Value:
    return Single(Atomic(count(site.arguments[0]), "xs:integer"))


def common_type(site: CallSite, value: Value) -> str:
    """The type in which the items are added or compared."""
    types = set()
    for leaf in leaves(value):
        type_ = atomized(leaf.item, site.scope).type
        types.add("xs:double" if type_ == "xs:untypedAtomic" else type_)
    if types <= NUMBERS:
        type_ = common_number(list(types))
        if len(types) > 1 and type_ == "xs:double" and not _may_be_doubles(site, value):
            raise MaybeDoubles("numbers that may or may not include a double", site.span)
        return type_
    if types == {"xs:string"}:
        return "xs:string"
    if len(types) == 1:
        return types.pop()
    raise NotNative("items of several types", site.span)


def _by_data(compute: NativeFunction) -> NativeFunction:
    """Compute with doubles if there are any, else without them: the result has another type."""

    def chosen(site: CallSite) -> Value:
        try:
            return compute(site)
        except MaybeDoubles:
            value = concat(site.arguments)
        others = _without_doubles(site, value)
        doubles = [leaf for leaf in leaves(value) if _is_double(site, leaf.item)]
        is_there = disjunction(*(exists(each(leaf.plan, Single(leaf.item))) for leaf in doubles))

        def as_double(item: Item) -> Item:
            return cast(atomized(item, site.scope), "xs:double", site.scope, site.span)

        converted = mapped_items(value, as_double)
        alternatives = (replace(site, arguments=(one,)) for one in (converted, others))
        return conditional(is_there, *map(compute, alternatives))

    return chosen


def _is_double(site: CallSite, item: Item) -> bool:
    return atomized(item, site.scope).type in ("xs:double", "xs:untypedAtomic")


def _without_doubles(site: CallSite, value: Value) -> Value:
    kinds = {_is_double(site, leaf.item) for leaf in leaves(value)}
    if kinds == {True}:
        return EMPTY
    if kinds != {True, False}:
        return value
    if not isinstance(value, Concat) or value.exclusive:
        raise NotNative("numbers that may or may not include a double", site.span)
    return concat([_without_doubles(site, one) for one in value.values])


class MaybeDoubles(NotNative):
    """Only the data tell whether there is a double among some numbers."""


def _may_be_doubles(site: CallSite, value: Value) -> bool:
    """Whether treating all numbers as doubles goes unnoticed, even if no double is among them."""
    return _has_double(site, value) or (
        site.only_compared and all(_fits_double(leaf.item, site) for leaf in leaves(value))
    )


def _fits_double(item: Item, site: CallSite) -> bool:
    """Whether it is a double, or an integer that a double represents exactly."""
    number = atomized(item, site.scope)
    if number.type in ("xs:double", "xs:untypedAtomic"):
        return True
    match number.scalar:
        case Constant(value=int(value)):
            return abs(value) <= 2**53
    return False


def _has_double(site: CallSite, value: Value) -> bool:
    """Whether one of the items is certainly a double: then all of them are converted to doubles."""
    if isinstance(value, Single):
        type_ = atomized(value.item, site.scope).type
        return type_ in ("xs:double", "xs:untypedAtomic")
    if isinstance(value, Concat) and value.values:
        found = [_has_double(site, one) for one in value.values]
        return all(found) if value.exclusive else any(found)
    return False


def values_of(site: CallSite, value: Value, type_: str, reduction: str) -> Scalar:
    """A reduction of the items in one type: of a plan if possible, else of an array."""

    def read(item: Item) -> Scalar:
        return cast(atomized(item, site.scope), type_, site.scope, site.span).scalar

    if reduction == "sum":
        return _reduced(value, read, _reduction(reduction, type_))
    return _reduced(value, read, _reduction(reduction, type_), f"array_{reduction}")


def _reduced(
    value: Value, read: Callable[[Item], Scalar], reduction: str, of_array: str = ""
) -> Scalar:
    """A reduction of a scalar of the items; `of_array` is the one of arrays, if named otherwise."""
    match value:
        case Each(plan=plan, value=Single(item=item)) if not is_optional(plan):
            return Nested(plan, reduction, read(item))
        case Concat(values=several) | Merged(values=several) if several and reduction in _EXTREMES:
            # the extreme of those of the parts: no array of all items, and no order
            found = (_reduced(one, read, reduction, of_array) for one in several)
            return call(f"array_{reduction}", call("array", *found))
    return call(of_array or f"array_{reduction}", gather(value, read))


# for which the order of the items does not matter: they have no -0
_EXTREMES = frozenset({"min", "max"})


def _reduction(reduction: str, type_: str) -> str:
    """The reduction for a type.

    Sums of doubles depend on the order, so they add items in order; and of -0 and 0, the first one
    is the least or greatest.
    """
    if type_ == "xs:double":
        return f"{reduction}_doubles"
    return "sum_decimals" if (reduction, type_) == ("sum", "xs:decimal") else reduction


@native("sum", 1)
@_by_data
def _sum(site: CallSite) -> Value:
    (value,) = site.arguments
    if value == EMPTY:
        return Single(Atomic(Constant(0), "xs:integer"))
    type_ = common_type(site, value)
    if type_ in DURATIONS:
        # the sum of no durations at all is a number
        total = _total_duration(site, value, type_)
        duration = Single(Atomic(total, type_))
        return conditional(exists(value), duration, Single(Atomic(Constant(0), "xs:integer")))
    if type_ not in NUMBERS:
        raise NotNative(f"a sum of {type_}", site.span)
    if at_most_one(value):
        item = one_atomic(value, site.scope, site.span)
        assert item is not None
        scalar = cast(item, type_, site.scope, site.span).scalar
        return Single(Atomic(call("coalesce", scalar, zero(type_)), type_))
    total = call("coalesce", values_of(site, value, type_, "sum"), zero(type_))
    return Single(Atomic(total, type_))


def _total_duration(site: CallSite, value: Value, type_: str) -> Scalar:
    total = values_of(site, value, type_, "sum")
    return limited_months(total, site.scope, site.span) if "Month" in type_ else total


def zero(type_: str) -> Constant:
    if type_ == "xs:decimal":
        return Constant(Decimal(0))
    return Constant(0.0) if type_ == "xs:double" else Constant(0)


@native("sum", 2)
def _sum_with_zero(site: CallSite) -> Value:
    value, zero_ = site.arguments
    if value == EMPTY:
        return zero_
    type_ = common_type(site, value)
    if type_ in DURATIONS:
        total: Value = Single(Atomic(_total_duration(site, value, type_), type_))
    else:
        total = _sum(CallSite(site.scope, site.span, (value,), site.expressions[:1]))
    return conditional(exists(value), total, zero_)


@native("avg", 1)
@_by_data
def _avg(site: CallSite) -> Value:
    (value,) = site.arguments
    if value == EMPTY:
        return EMPTY
    type_ = common_type(site, value)
    if type_ not in NUMBERS and type_ not in DURATIONS:
        raise NotNative(f"an average of {type_}", site.span)
    total = Atomic(values_of(site, value, type_, "sum"), type_)
    number = Atomic(count(value), "xs:integer")
    mean = arithmetic("div", total, number, site.scope, site.span)
    scalar = case((call("=", number.scalar, Constant(0)), NULL), otherwise=mean.scalar)
    return guarded(call("is_not_null", scalar), Single(Atomic(scalar, mean.type)))


def _all_arguments(site: CallSite) -> Value:
    """The arguments as one sequence: the paper has `max(a, b)`; a second string is a collation."""
    for second in site.arguments[1:]:
        kinds = [leaf.item.type if isinstance(leaf.item, Atomic) else "" for leaf in leaves(second)]
        if not kinds or not NUMBERS.issuperset(kinds):
            raise NotNative("a collation", site.span)
    return concat(site.arguments)


def _extreme(site: CallSite, which: str) -> Value:
    value = _all_arguments(site)
    if value == EMPTY:
        return EMPTY
    type_ = common_type(site, value)
    if type_ not in NUMBERS | DURATIONS | {"xs:string", "xs:dateTime", "xs:date", "xs:boolean"}:
        raise NotNative(f"the {which} of {type_}", site.span)
    if type_ in INSTANTS:
        return _extreme_instant(site, value, which)
    scalar = values_of(site, value, type_, which)
    if type_ == "xs:double" and which == "min":
        # NaN, if there is one: SQL treats it as the greatest number
        most = values_of(site, value, type_, "max")
        scalar = case((call("is_nan", most), most), otherwise=scalar)
    return guarded(call("is_not_null", scalar), Single(Atomic(scalar, type_)))


def _extreme_instant(site: CallSite, value: Value, which: str) -> Value:
    """The first of the extreme times of a type; each of them may have a zone of its own."""
    times = [atomized(leaf.item, site.scope) for leaf in leaves(value)]
    zones = {one.zone for one in times}
    if len(zones) == 1 and isinstance(zone := next(iter(zones)), Constant | None):
        scalar = values_of(site, value, times[0].type, which)
        return guarded(call("is_not_null", scalar), Single(Atomic(scalar, times[0].type, zone)))

    def read(item: Item) -> Scalar:
        time = atomized(item, site.scope)
        parts = (
            *(Constant("scalar"), time.scalar),
            *(Constant("zone"), time.zone or Constant("")),
            *(Constant("moment"), on_time_line(time)),
        )
        return case((call("is_not_null", time.scalar), Call("named_struct", parts)))

    found = uniform(value, read, site.compilation.fresh)
    if not isinstance(found, tuple):
        raise NotNative("times whose zones only the data tell", site.span)
    plan, column = found
    key = SortKey(field(column, "moment"), "number", descending=which == "max")
    plan = Order(Select(plan, call("is_not_null", column)), (key, *order(plan)))
    first = Nested(plan, "first", column)
    item = Atomic(field(first, "scalar"), times[0].type, field(first, "zone"))
    return guarded(call("is_not_null", item.scalar), Single(item))


native("min", 1, 2)(_by_data(partial(_extreme, which="min")))
native("max", 1, 2)(_by_data(partial(_extreme, which="max")))
