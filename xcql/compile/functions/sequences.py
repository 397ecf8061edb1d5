"""exists, empty, not, distinct-values, subsequences, and the like."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from xcql.algebra.operators import (
    Aggregate,
    Nest,
    Number,
    Order,
    Project,
    Select,
    SortKey,
    order,
)
from xcql.algebra.scalars import FALSE, TRUE, Call, Column, Constant, Scalar, call, case, negation
from xcql.compile.library.atomization import atomized, data, one_atomic
from xcql.compile.library.casts import (
    INSTANTS,
    NUMBERS,
    STRINGS,
    as_string,
    cast,
    is_plain_zone,
    on_time_line,
)
from xcql.compile.library.comparisons import compared, truth
from xcql.compile.library.equality import equal_text
from xcql.compile.library.function_items import applied
from xcql.compile.library.ordering import in_order_of_appearance, sortable
from xcql.compile.library.several_kinds import as_one_kind, as_one_leaf
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic, Item
from xcql.compile.terms.mapping import mapped_within
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.values import (
    EMPTY,
    Concat,
    Single,
    Value,
    apart,
    at_most_one,
    boolean,
    concat,
    count,
    each,
    exists,
    gather,
    guarded,
    leaves,
)

native = NativeFunctions()


@native("exists", 1)
def _exists(site: CallSite) -> Value:
    return boolean(exists(site.arguments[0]))


@native("empty", 1)
def _empty(site: CallSite) -> Value:
    return boolean(negation(exists(site.arguments[0])))


@native("not", 1)
def _not(site: CallSite) -> Value:
    return boolean(negation(truth(site.arguments[0], site.scope, site.span)))


@native("boolean", 1)
def _boolean(site: CallSite) -> Value:
    return boolean(truth(site.arguments[0], site.scope, site.span))


@native("true", 0)
def _true(site: CallSite) -> Value:
    return boolean(TRUE)


@native("false", 0)
def _false(site: CallSite) -> Value:
    return boolean(FALSE)


@native("data", 0, 1)
def _data(site: CallSite) -> Value:
    return data(argument_or_context(site), site.scope)


def argument_or_context(site: CallSite) -> Value:
    """The argument, or without one, the context item."""
    if site.arguments:
        return site.arguments[0]
    if site.scope.context is None:
        raise NotNative("there is no context item", site.span)
    return site.scope.context


@native("position", 0)
def _position(site: CallSite) -> Value:
    if site.scope.position is None:
        raise NotNative("the position is not known here", site.span)
    return Single(Atomic(site.scope.position, "xs:integer"))


@native("last", 0)
def _last(site: CallSite) -> Value:
    if site.scope.last is None:
        raise NotNative("the number of items is not known here", site.span)
    return Single(Atomic(site.scope.last(), "xs:integer"))


def _checked(site: CallSite, code: str, message: str, sign: str) -> Value:
    (value,) = site.arguments
    if isinstance(value, Single) or (sign == "<=" and at_most_one(value)):
        return value
    number = count(value)
    bad = site.compilation.error(code, message, site.span, call("to_string", number))
    fits = exists(value) if at_most_one(value) else call(sign, number, Constant(1))
    if value == EMPTY:
        raise NotNative("a sequence that must not be empty", site.span)
    checked = call("is_true", case((fits, TRUE), otherwise=bad))
    if at_most_one(value):
        # if there is an item, it always fits
        return first_of(value, site, checked)
    return first_of(value, site, checked) if sign != ">=" else guarded(checked, value)


def _declare_check(name: str, code: str, sign: str) -> None:
    native(name, 1)(lambda site: _checked(site, code, f"{name}() of {{}} items", sign))


_declare_check("zero-or-one", "FORG0003", "<=")
_declare_check("exactly-one", "FORG0005", "=")
_declare_check("one-or-more", "FORG0004", ">=")


def first_of(value: Value, site: CallSite, condition: Scalar) -> Value:
    """The only item of a value that passes a check."""
    if at_most_one(value):
        return guarded(condition, value)
    found = leaves(value)
    if len(found) != 1:
        return guarded(condition, value)
    leaf = found[0]
    numbered = Number(leaf.plan, site.compilation.fresh("position"))
    plan = Select(numbered, call("=", Column(numbered.name), Constant(1)))
    return guarded(condition, each(plan, Single(leaf.item)))


def _at(site: CallSite, sign: str, number: Scalar) -> Value:
    value = site.arguments[0]
    if value == EMPTY:
        return EMPTY
    if at_most_one(value) and number == Constant(1) and sign in ("=", ">"):
        return value if sign == "=" else EMPTY
    plan, item = as_one_kind(value, site.scope, site.span)
    numbered = Number(plan, site.compilation.fresh("position"))
    return each(Select(numbered, call(sign, Column(numbered.name), number)), item)


native("head", 1)(partial(_at, sign="=", number=Constant(1)))
native("tail", 1)(partial(_at, sign=">", number=Constant(1)))


@native("subsequence", 2, 3)
def _subsequence(site: CallSite) -> Value:
    value = site.arguments[0]
    if value == EMPTY:
        return EMPTY
    numbers: list[Scalar] = []
    for argument in site.arguments[1:]:
        item = one_atomic(argument, site.scope, site.span)
        if item is None or item.type not in NUMBERS or not isinstance(argument, Single):
            raise NotNative("a subsequence with bounds that are not numbers", site.span)
        if item.type != "xs:integer":
            # positions are compared as doubles: NaN is greater than any, but never a bound
            double = cast(item, "xs:double", site.scope, site.span).scalar
            numbers.append(call("round_half_up", double))
            continue
        numbers.append(item.scalar)
    plan, items = as_one_kind(value, site.scope, site.span)
    numbered = Number(plan, site.compilation.fresh("position"))
    at = Column(numbered.name)
    condition: Scalar = call(">=", at, numbers[0])
    if len(numbers) == 2:
        end = call("+", *numbers)
        condition = Call("and", (condition, call("<", at, end)))
        if any(isinstance(one, Call) and one.function == "round_half_up" for one in numbers):
            # SQL sorts NaN after all numbers, but nothing is less than NaN
            condition = Call("and", (condition, call("not", call("is_nan", end))))
    return each(Select(numbered, condition), items)


@native("reverse", 1)
def _reverse(site: CallSite) -> Value:
    value = site.arguments[0]
    if at_most_one(value):
        return value
    plan, item = as_one_kind(value, site.scope, site.span)
    numbered = Number(plan, site.compilation.fresh("position"))
    backwards = SortKey(Column(numbered.name), "number", descending=True)
    return each(Order(numbered, (backwards,)), item)


@native("unordered", 1)
def _unordered(site: CallSite) -> Value:
    return site.arguments[0]


@native("distinct-values", 1)
def _distinct_values(site: CallSite) -> Value:
    value = site.arguments[0]
    if value == EMPTY:
        return EMPTY
    types = {atomized(leaf.item, site.scope).type for leaf in leaves(value)}
    if len(types) == 1:
        (type_,) = types
    elif types <= {"xs:integer", "xs:decimal"}:
        type_ = "xs:decimal"
    elif types <= STRINGS:
        raise NotNative("distinct values of strings and untyped data", site.span)
    else:
        raise NotNative("distinct values of several types", site.span)
    typed = data(value, site.scope)
    leaf = as_one_leaf(typed, site.scope, site.span)
    item = leaf.item
    assert isinstance(item, Atomic)
    has_zone = not is_plain_zone(item.zone)
    if has_zone and item.type not in INSTANTS:
        raise NotNative("distinct times with zones", site.span)
    # each value is at the position of its first occurrence
    fresh = site.compilation.fresh
    name = fresh("value")
    keys = order(leaf.plan)
    scalar = cast(item, type_, site.scope, site.span).scalar
    if not keys:
        return typed
    if has_zone:
        # the same instant may be written in several zones
        assert item.zone is not None
        first, zone = fresh("first_value"), fresh("zone")
        nest = Nest(leaf.plan, ((name, on_time_line(item)),), ())
        plan = in_order_of_appearance(nest, [(first, scalar), (zone, item.zone)], fresh)
        return each(plan, Single(replace(item, scalar=Column(first), zone=Column(zone))))
    if type_ == "xs:double" or any(key.descending or key.empty_greatest for key in keys):
        first = fresh("first_value")
        nest = Nest(leaf.plan, ((name, scalar),), ())
        plan = in_order_of_appearance(nest, [(first, scalar)], fresh)
        return each(plan, Single(replace(item, scalar=Column(first), type=type_)))
    at = fresh("value_at")
    first_key = keys[0].scalar if len(keys) == 1 else call("struct", *(one.scalar for one in keys))
    nest = Nest(leaf.plan, ((name, scalar),), ((at, Aggregate("min", first_key)),))
    ordered = Order(nest, (SortKey(Column(at), "other"),))
    return each(ordered, Single(replace(item, scalar=Column(name), type=type_)))


@native("index-of", 2)
def _index_of(site: CallSite) -> Value:
    value, wanted = site.arguments
    item = one_atomic(wanted, site.scope, site.span)
    if item is None:
        raise NotNative("a search for nothing", site.span)
    if value == EMPTY:
        return EMPTY
    if not isinstance(wanted, Single):
        bad = site.compilation.error("XPTY0004", "index-of() of an empty sequence", site.span)
        item = replace(item, scalar=call("coalesce", item.scalar, bad))
    leaf = as_one_leaf(data(value, site.scope), site.scope, site.span, only_compared=True)
    numbered = Number(leaf.plan, site.compilation.fresh("position"))
    assert isinstance(leaf.item, Atomic)
    types = {leaf.item.type, item.type}
    if len(types) > 1 and not (types <= NUMBERS or types <= STRINGS):
        raise NotNative("a search for a value of another type", site.span)
    condition = compared("=", as_string(leaf.item), as_string(item), site.scope, site.span)
    return each(Select(numbered, condition), Single(Atomic(Column(numbered.name), "xs:integer")))


@native("for-each", 2)
def _for_each(site: CallSite) -> Value:
    sequence, code = site.arguments
    if len(leaves(sequence)) > 1 and not at_most_one(sequence):
        return mapped_within(
            sequence,
            site.scope,
            lambda item, inside: applied(code, [Single(item)], inside, site.span),
        )
    return _mapped_leaf(sequence, code, site)


def _mapped_leaf(sequence: Value, code: Value, site: CallSite) -> Value:
    if sequence == EMPTY:
        return EMPTY
    if isinstance(sequence, Single):
        return applied(code, [sequence], site.scope, site.span)
    (leaf,) = leaves(sequence)
    inside = site.scope.within(leaf.plan)
    return each(leaf.plan, applied(code, [Single(leaf.item)], inside, site.span))


@native("filter", 2)
def _filter(site: CallSite) -> Value:
    sequence, code = site.arguments
    if sequence == EMPTY:
        return EMPTY
    return filtered(sequence, code, site)


def filtered(sequence: Value, code: Value, site: CallSite) -> Value:
    """The items for which a function returns true; it has to return a boolean."""
    plan, item = as_one_kind(sequence, site.scope, site.span)
    match applied(code, [item], site.scope.within(plan), site.span):
        case Single(item=Atomic(scalar=condition, type="xs:boolean")):
            return each(Select(plan, condition), item)
    raise NotNative("a filter by something that may not be a boolean", site.span)


@native("sort", 1, 2, 3)
def _sort(site: CallSite) -> Value:
    sequence = site.arguments[0]
    if len(site.arguments) > 1 and site.arguments[1] != EMPTY:
        raise NotNative("a collation", site.span)
    if sequence == EMPTY:
        return EMPTY
    plan, item = as_one_kind(sequence, site.scope, site.span)
    inside = site.scope.within(plan)
    key = item
    if len(site.arguments) == 3:
        key = applied(site.arguments[2], [key], inside, site.span)
    by: list[SortKey] = []
    before = order(plan)
    parts = _sort_keys(key, site)
    for part in parts:
        found = one_atomic(part, inside, site.span)
        assert found is not None
        if part is not parts[-1] and not isinstance(part, Single):
            # without it, the next value would be compared in its place
            limit = site.compilation.limit(site.span, "a sort key without some of its values")
            found = replace(found, scalar=call("coalesce", found.scalar, limit))
        scalar, kind = sortable(as_string(found), site.span)
        name = site.compilation.fresh("sort")
        plan = Project(plan, name, scalar)
        by.append(SortKey(Column(name), kind))
    return each(Order(plan, (*by, *before)), item)


def _sort_keys(key: Value, site: CallSite) -> list[Value]:
    """The values to sort by, one after the other; a sequence is less than one that goes on."""
    parts = key.values if isinstance(key, Concat) and not key.exclusive else (key,)
    parts = tuple(part for part in parts if part != EMPTY)
    if not all(map(at_most_one, parts)):
        raise NotNative("sorting by several values", site.span)
    return list(parts)


@native("remove", 2)
def _remove(site: CallSite) -> Value:
    return _at(site, "<>", _integer(site, 1))


@native("insert-before", 3)
def _insert_before(site: CallSite) -> Value:
    sequence, _, inserted = site.arguments
    at = _integer(site, 1)
    if sequence == EMPTY or inserted == EMPTY:
        return concat([sequence, inserted])
    before = _at(site, "<", at)
    after = _at(site, ">=", at)
    return concat([before, inserted, apart(after, site.scope.taken)])


def _integer(site: CallSite, number: int) -> Scalar:
    item = one_atomic(site.arguments[number], site.scope, site.span)
    if item is None or not isinstance(site.arguments[number], Single):
        raise NotNative("a position that may be missing", site.span)
    if item.type == "xs:untypedAtomic":
        item = cast(item, "xs:integer", site.scope, site.span)
    if item.type != "xs:integer":
        raise NotNative("a position that is not an integer", site.span)
    return item.scalar


@native("deep-equal", 2)
def _deep_equal(site: CallSite) -> Value:
    """Compare sequences of atomic values of one kind, or of nodes, as arrays."""
    types = {
        leaf.item.type if isinstance(leaf.item, Atomic) else "node"
        for value in site.arguments
        for leaf in leaves(value)
    }
    if EMPTY in site.arguments:
        other = concat([one for one in site.arguments if one != EMPTY])
        return boolean(negation(exists(other)))
    if types <= STRINGS:
        type_ = "xs:string"
    elif len(types) == 1 and types <= {"xs:integer", "xs:double", "xs:decimal", "xs:boolean"}:
        (type_,) = types
    elif types == {"node"}:
        return boolean(
            call(
                "=",
                *(
                    gather(value, lambda item: equal_text(item, site.scope, site.span))
                    for value in site.arguments
                ),
            )
        )
    else:
        raise NotNative("equality of several types", site.span)

    def read(item: Item) -> Scalar:
        return cast(atomized(item, site.scope), type_, site.scope, site.span).scalar

    return boolean(call("=", *(gather(value, read) for value in site.arguments)))
