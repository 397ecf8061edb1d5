"""Comparing atomic values: the operators eq, ne, lt, le, gt, ge.

Values of types that cannot be compared raise XPTY0004. Untyped values compare as strings here;
general comparisons cast them first (`operators.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from elementpath import datatypes as ep

from xcql.diagnostics import XcqlError, error
from xcql.xdm.atomic import Atomic, instant, make_float, string_of, type_of

# turns a string into a value whose order is the collation's; None is the order of code points
CollationKey = Callable[[str], Any]

_G_TYPES = frozenset(["gYearMonth", "gYear", "gMonthDay", "gDay", "gMonth"])
_DATES = frozenset(["dateTime", "date", "time"])


def equal(left: Atomic, right: Atomic, collation: CollationKey | None = None) -> bool:
    """`left eq right`

    >>> equal(1, 1.0), equal("a", "b")
    (True, False)
    """
    kind = type(left)
    if kind is type(right) and kind in _PLAIN and (kind is not str or collation is None):
        return bool(left == right)
    a, b = _comparable(left, right, collation, ordered=False)
    return bool(a == b)


def less(left: Atomic, right: Atomic, collation: CollationKey | None = None) -> bool:
    """`left lt right`"""
    kind = type(left)
    if kind is type(right) and kind in _PLAIN and (kind is not str or collation is None):
        return bool(left < right)
    a, b = _comparable(left, right, collation, ordered=True)
    return bool(a < b)


def less_or_equal(left: Atomic, right: Atomic, collation: CollationKey | None = None) -> bool:
    """`left le right`: not the same as `not(right lt left)`, because of NaN."""
    kind = type(left)
    if kind is type(right) and kind in _PLAIN and (kind is not str or collation is None):
        return bool(left <= right)
    a, b = _comparable(left, right, collation, ordered=True)
    return bool(a <= b)


_PLAIN = frozenset([int, str, float, Decimal, bool])


def compare(op: str, left: Atomic, right: Atomic, collation: CollationKey | None = None) -> bool:
    """`left op right` for one of the six value comparisons."""
    return VALUE_COMPARISONS[op](left, right, collation)


VALUE_COMPARISONS: dict[str, Callable[[Atomic, Atomic, CollationKey | None], bool]] = {
    "eq": equal,
    "ne": lambda a, b, c: not equal(a, b, c),
    "lt": less,
    "le": less_or_equal,
    "gt": lambda a, b, c: less(b, a, c),
    "ge": lambda a, b, c: less_or_equal(b, a, c),
}


def is_comparable(left: Atomic, right: Atomic) -> bool:
    """Whether `left eq right` is no type error."""
    try:
        equal(left, right)
    except XcqlError:
        return False
    return True


def _comparable(
    left: Atomic, right: Atomic, collation: CollationKey | None, *, ordered: bool
) -> tuple[Any, Any]:
    """Two Python values that compare as the atomic values do."""
    left_type, right_type = type_of(left), type_of(right)
    a, b = left_type.primitive, right_type.primitive
    if a in _STRINGS and b in _STRINGS:
        text_a, text_b = string_of(left), string_of(right)
        return (text_a, text_b) if collation is None else (collation(text_a), collation(text_b))
    if a in _NUMBERS and b in _NUMBERS:
        return comparable_numbers(left, right)
    if a == b:
        if a == "boolean":
            return left, right
        if a in _DATES or (a in _G_TYPES and not ordered):
            return instant(left), instant(right)
        if a == "duration":
            if not ordered:
                return (left.months, left.seconds), (right.months, right.seconds)
            if left_type.name == right_type.name != "duration":
                return (left.months, left.seconds), (right.months, right.seconds)
        if a in ("hexBinary", "base64Binary"):
            return left.decode(), right.decode()
        if a == "QName" and not ordered:
            return (left.uri or "", left.local_name), (right.uri or "", right.local_name)
    how = "compared by order" if ordered else "compared"
    raise error("XPTY0004", f"an {left_type} and an {right_type} cannot be {how}")


_STRINGS = frozenset(["string", "anyURI", "untypedAtomic"])
_NUMBERS = frozenset(["decimal", "float", "double"])


def comparable_numbers(left: Atomic, right: Atomic) -> tuple[Any, Any]:
    """Two numbers in the wider of their types."""
    if not isinstance(left, float) and not isinstance(right, float):
        return left, right
    left_is_double = isinstance(left, float) and not isinstance(left, ep.Float)
    right_is_double = isinstance(right, float) and not isinstance(right, ep.Float)
    if left_is_double or right_is_double:
        return to_double(left), to_double(right)
    return float(make_float(to_double(left))), float(make_float(to_double(right)))


def to_double(value: Atomic) -> float:
    """A number as a double; too large a decimal becomes INF."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
