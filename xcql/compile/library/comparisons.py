"""Comparisons, and effective boolean values."""

from __future__ import annotations

import math
from collections.abc import Callable

from xcql.algebra.nulls import is_null_with
from xcql.algebra.operators import Select, columns
from xcql.algebra.scalars import (
    FALSE,
    Call,
    Constant,
    Given,
    Nested,
    Scalar,
    call,
    case,
    conjunction,
    conjuncts,
    disjunction,
)
from xcql.compile.library import casts
from xcql.compile.library.atomization import atomized
from xcql.compile.library.serialisation import as_pair
from xcql.compile.result import NotNative
from xcql.compile.terms import values
from xcql.compile.terms.items import Atomic, Dynamic, Item, is_node
from xcql.compile.terms.scope import Scope
from xcql.source import Span

# values of types in different classes are never compared
_CLASSES = (
    dict.fromkeys(casts.NUMBERS, "number")
    | dict.fromkeys(casts.STRINGS, "text")
    | {one: one for one in (*casts.INSTANTS, "xs:boolean", "xs:time")}
    | dict.fromkeys(("xs:duration", "xs:dayTimeDuration", "xs:yearMonthDuration"), "duration")
)


def general(sign: str, left: values.Value, right: values.Value, scope: Scope, span: Span) -> Scalar:
    """Whether some pair of items of the two values compares so; never NULL."""
    found = []
    for a in values.leaves(left):
        for b in values.leaves(right):
            found.append(_some(sign, a, b, scope, span))
    return disjunction(*found)


def _some(sign: str, a: values.Leaf, b: values.Leaf, scope: Scope, span: Span) -> Scalar:
    one, known_one = _optional(a)
    other, known_other = _optional(b)
    x, y = atomized(a.item, scope), atomized(b.item, scope)
    if known_one is not None:
        x = _with(x, known_one)
    if known_other is not None:
        y = _with(y, known_other)
    condition = compared(sign, *_general_pair(x, y, scope, span), scope, span)
    if known_one is not None and known_other is not None:
        beside = _beside(condition, one, other)
        if _fails(condition):
            # in a conjunction, it could be computed first
            return call("is_true", case((conjunction(*beside[:-1]), condition)))
        return call("is_true", conjunction(*beside))
    if known_one is not None:
        inner = Nested(Select(b.plan, condition), "exists", Constant(True))
        return conjunction(one, inner)
    if known_other is not None:
        inner = Nested(Select(a.plan, condition), "exists", Constant(True))
        return conjunction(other, inner)
    # compare pairs of one tuple from each side
    value = values.apart(values.Each(b.plan, values.Single(b.item)), columns(a.plan) | scope.taken)
    (second,) = values.leaves(value)
    y = atomized(second.item, scope)
    condition = compared(sign, *_general_pair(x, y, scope, span), scope, span)
    inner = Nested(Select(second.plan, condition), "exists", Constant(True))
    return Nested(Select(a.plan, inner), "exists", Constant(True))


def _fails(comparison: Scalar) -> bool:
    """Whether it fails for all values: their types cannot be compared."""
    match comparison:
        case Call(function="case", arguments=(_, Call(function="fail"), _)):
            return True
    return False


def _beside(condition: Scalar, *guards: Scalar) -> tuple[Scalar, ...]:
    """The condition and its guards, without guards that it implies, since NULL is not true."""
    kept = [
        guard
        for one in guards
        for guard in conjuncts(one)
        if not (
            isinstance(guard, Call)
            and guard.function in ("is_not_null", "present")
            and is_null_with(condition, guard.arguments[0])
        )
    ]
    return (*kept, condition)


def _optional(leaf: values.Leaf):  # type: ignore[no-untyped-def]
    if values.is_optional(leaf.plan):
        return values.condition_of(leaf.plan)
    return None, None


def _with(item: Atomic, known: dict[str, Scalar]) -> Atomic:
    zone = None if item.zone is None else values.replaced(item.zone, known)
    return Atomic(values.replaced(item.scalar, known), item.type, zone)


def _general_pair(a: Atomic, b: Atomic, scope: Scope, span: Span) -> tuple[Atomic, Atomic]:
    """Convert untyped data to the type that it is compared with."""
    if a.type == "xs:untypedAtomic" and b.type == "xs:untypedAtomic":
        return Atomic(a.scalar, "xs:string"), Atomic(b.scalar, "xs:string")
    if a.type == "xs:untypedAtomic":
        return casts.cast(a, _partner(b.type), scope, span), b
    if b.type == "xs:untypedAtomic":
        return a, casts.cast(b, _partner(a.type), scope, span)
    return a, b


def _partner(type_: str) -> str:
    if type_ in casts.NUMBERS:
        return "xs:double"
    return "xs:string" if type_ in casts.STRINGS else type_


def compared(sign: str, a: Atomic, b: Atomic, scope: Scope, span: Span) -> Scalar:
    """A comparison of two values; NULL if one of them is."""
    if a.type in casts.NUMBERS and b.type in casts.NUMBERS:
        type_ = casts.common_number([a.type, b.type])
        x, y = (casts.cast(one, type_, scope, span).scalar for one in (a, b))
        plain = call(sign, x, y)
        if type_ != "xs:double":
            return plain
        # in SQL, NaN equals itself and is greater than any number
        if sign in ("=", "<>"):
            if _is_number(x) or _is_number(y):
                return plain
            nan = call("is_nan", x)
            return Call("or", (plain, nan)) if sign == "<>" else _and_not(plain, nan)
        small, large = (x, y) if sign in ("<", "<=") else (y, x)
        if _is_number(large):
            return plain
        if _is_number(small):
            # use it only once: it may be long
            least = call("least_if_nan", large)
            return call(sign, *((small, least) if sign in ("<", "<=") else (least, small)))
        return _and_not(plain, call("is_nan", large))
    classes = [_CLASSES.get(one.type) for one in (a, b)]
    if None not in classes and classes[0] != classes[1]:
        found = [call("is_not_null", one.scalar) for one in (a, b)]
        wrong = scope.compilation.error(
            "XPTY0004", f"{a.type} cannot be compared with {b.type}", span
        )
        return case((conjunction(*found), wrong))
    if a.type == b.type == "xs:QName" and sign in ("=", "<>"):
        return call(sign, a.scalar, b.scalar)
    same = a.type == b.type or (a.type in casts.STRINGS and b.type in casts.STRINGS)
    if not same or a.type not in casts.STRINGS | casts.INSTANTS | {
        "xs:boolean",
        "xs:dayTimeDuration",
        "xs:yearMonthDuration",
    }:
        raise NotNative(f"a comparison of {a.type} with {b.type}", span)
    if a.type == "xs:date" and not (casts.is_plain_zone(a.zone) and casts.is_plain_zone(b.zone)):
        return call(sign, casts.on_time_line(a), casts.on_time_line(b))
    return call(sign, a.scalar, b.scalar)


def _and_not(condition: Scalar, excluded: Scalar) -> Scalar:
    return Call("and", (condition, call("not", excluded)))


def _is_number(scalar: Scalar) -> bool:
    """Whether it is certainly a number, neither NaN nor infinite."""
    match scalar:
        case Constant(value=None):
            return True
        case Constant(value=int() | float() as value):
            return math.isfinite(value)
        case Call(function="to_double", arguments=(inner,)):
            return isinstance(inner, Constant | Given) or (
                isinstance(inner, Nested) and inner.reduction == "count"
            )
    return False


def truth(value: values.Value, scope: Scope, span: Span) -> Scalar:
    """The effective boolean value; never NULL."""
    match value:
        case values.Concat(values=()):
            return FALSE
        case values.Single(item=item) if not isinstance(item, Dynamic):
            return item_truth(item, span)
        case values.Concat(values=several, exclusive=True):
            return disjunction(*(truth(one, scope, span) for one in several))
    found = values.leaves(value)
    if all(is_node(leaf.item) for leaf in found):
        return values.exists(value)
    if any(isinstance(leaf.item, Dynamic) for leaf in found):
        return _truth_of_pairs(value, scope, span)
    if values.at_most_one(value):
        return call("is_true", values.single_scalar(value, lambda item: item_truth(item, span)))
    if not all(isinstance(leaf.item, Atomic) for leaf in found):
        return _truth_of_pairs(value, scope, span)

    def read(item: Item) -> Scalar:
        return item_truth(item, span)

    return call("is_true", only_one(value, read, scope, span))


def _truth_of_pairs(value: values.Value, scope: Scope, span: Span) -> Scalar:
    """The truth of items whose kinds are known only when the query runs."""
    for leaf in values.leaves(value):
        _check_truth(leaf.item, span)
    pairs = values.gather(value, lambda item: as_pair(item, scope))
    limit = scope.compilation.limit(span, "the truth of items that may have none")
    return call("is_true", call("coalesce", call("dynamic_truth", pairs), limit))


def _check_truth(item: Item, span: Span) -> None:
    """Raise `NotNative` for an item that certainly has no truth value: that is an error."""
    match item:
        case Dynamic(scalar=Call(function="evaluator_item", arguments=(Constant(value=kind), *_))):
            if str(kind).startswith("xs:"):
                raise NotNative(item.reason, span)
        case Atomic():
            item_truth(item, span)


def only_one(
    value: values.Value, read: Callable[[Item], Scalar], scope: Scope, span: Span
) -> Scalar:
    """A scalar of the only item; several items are neither true nor false."""
    bad = scope.compilation.error(
        "FORG0006",
        "a sequence of {} items is neither true nor false",
        span,
        call("to_string", values.count(value)),
    )
    return call("only", values.gather(value, read), bad)


def item_truth(item: Item, span: Span) -> Scalar:
    if is_node(item):
        return Constant(True)
    if isinstance(item, Atomic):
        if item.type == "xs:boolean":
            return item.scalar
        if item.type in casts.STRINGS:
            return call("<>", item.scalar, Constant(""))
        if item.type in casts.NUMBERS:
            return casts.number_truth(item)
    raise NotNative("the truth of such a value", span)
