"""Comparing atomic values: value comparisons (`eq`), general comparisons (`=`), order, equality.

This module decides which values can be compared and how; FLWOR's `order by`, `fn:sort`,
`fn:distinct-values`, `fn:deep-equal` and the operators all use it.

Tests: tests/evaluate/test_atomic_operators.py
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from decimal import Decimal
from typing import Any, Literal

from elementpath import datatypes as ep

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.casting import cast, to_double
from xcql.evaluate.collations import CODEPOINT, Collation
from xcql.xdm.atomic import Atomic, instant, make_float, type_of

Relation = Literal["eq", "ne", "lt", "le", "gt", "ge"]

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_FAMILIES = {
    "untypedAtomic": "string",
    "string": "string",
    "anyURI": "string",
    "decimal": "number",
    "float": "number",
    "double": "number",
}
_EQUALITY_ONLY = frozenset(
    ["QName", "NOTATION", "gYear", "gYearMonth", "gMonth", "gMonthDay", "gDay"]
)


def compare(
    relation: Relation, left: Atomic, right: Atomic, collation: Collation = CODEPOINT
) -> bool:
    """A value comparison such as `eq`; untyped values count as strings.

    >>> compare("lt", 1, Decimal("1.5")), compare("eq", "a", "b")
    (True, False)
    """
    kind = type(left)
    if kind is type(right) and (kind is int or (kind is str and collation is CODEPOINT)):
        return _OPERATORS[relation](left, right)
    a, b = comparable_pair(left, right, collation, ordered=relation not in ("eq", "ne"))
    return _OPERATORS[relation](a, b)


def compare_general(
    relation: Relation, left: Atomic, right: Atomic, collation: Collation = CODEPOINT
) -> bool:
    """Compare two atoms in a general comparison such as `=`: untyped values are cast.

    >>> compare_general("eq", ep.UntypedAtomic("1.0"), 1)
    True
    """
    if type(left) is ep.UntypedAtomic:
        left = _adapted(left, right)
    elif type(right) is ep.UntypedAtomic:
        right = _adapted(right, left)
    return compare(relation, left, right, collation)


def _adapted(untyped: ep.UntypedAtomic, other: Atomic) -> Atomic:
    kind = type_of(other)
    if kind.primitive in ("decimal", "float", "double"):
        return cast(untyped, "double")
    if kind.primitive in ("untypedAtomic", "string", "anyURI"):
        return untyped.value
    if kind.name in ("dayTimeDuration", "yearMonthDuration"):
        return cast(untyped, kind.name)
    return cast(untyped, kind.primitive)


def comparable_pair(
    left: Atomic, right: Atomic, collation: Collation = CODEPOINT, *, ordered: bool = True
) -> tuple[Any, Any]:
    """Two Python values that compare like the two atomic values; XPTY0004 if there are none."""
    a, b = type_of(left), type_of(right)
    family = _FAMILIES.get(a.primitive, a.primitive)
    if family != _FAMILIES.get(b.primitive, b.primitive):
        raise _incomparable(left, right)
    if family == "number":
        return promoted(left, right)
    if family == "string":
        return collation.key(text_of(left)), collation.key(text_of(right))
    if family == "boolean":
        return left, right
    if ordered and family in _EQUALITY_ONLY:
        raise _incomparable(left, right)
    if family == "duration":
        if ordered and (a.name != b.name or a.name == "duration"):
            raise _incomparable(left, right)
        return (left.months, left.seconds), (right.months, right.seconds)
    if family in ("QName", "NOTATION"):
        return (left.uri or "", left.local_name), (right.uri or "", right.local_name)
    if family in ("hexBinary", "base64Binary"):
        return left.decode(), right.decode()
    return instant(left), instant(right)


def promoted(left: Atomic, right: Atomic) -> tuple[Any, Any]:
    """Two numbers in the wider type of both: xs:decimal, xs:float or xs:double."""
    a, b = type(left), type(right)
    if a is float or b is float:
        return to_double(left), to_double(right)
    if a is ep.Float or b is ep.Float:
        return float(make_float(to_double(left))), float(make_float(to_double(right)))
    return left, right


def text_of(value: Atomic) -> str:
    """The text of a string, URI or untyped value."""
    return str.__str__(value) if isinstance(value, str) else str(value.value)


def _incomparable(left: Atomic, right: Atomic) -> XcqlError:
    return error("XPTY0004", f"{type_of(left)} and {type_of(right)} cannot be compared in this way")


def order(left: Atomic | None, right: Atomic | None, collation: Collation = CODEPOINT) -> int:
    """-1, 0 or 1, as `order by … empty least` sorts: the empty sequence first, then NaN."""
    if left is None or right is None:
        return (left is not None) - (right is not None)
    a, b = comparable_pair(left, right, collation)
    if isinstance(a, float) and (a != a or b != b):
        return int(a == a) - int(b == b)
    return int(a > b) - int(a < b)


def same_value(left: Atomic, right: Atomic, collation: Collation = CODEPOINT) -> bool:
    """Equality that never fails: NaN equals itself, values that cannot be compared differ.

    This is the equality of fn:deep-equal, fn:distinct-values and fn:index-of.
    """
    try:
        a, b = comparable_pair(left, right, collation, ordered=False)
    except XcqlError:
        return False
    return bool(a == b or (a != a and b != b))


def bucket(value: Atomic, collation: Collation = CODEPOINT) -> Hashable:
    """A hashable value that is equal for any two values that are `same_value`."""
    kind = type_of(value)
    family = _FAMILIES.get(kind.primitive, kind.primitive)
    if family == "number":
        number = float(make_float(to_double(value)))
        return ("number", number if number == number else "NaN")
    if family == "string":
        key = collation.key(text_of(value))
        return ("string", key if isinstance(key, str) else repr(key))
    return (family, comparable_pair(value, value, ordered=False)[0])


def exact(value: int | float | Decimal) -> Decimal:
    """A finite number as a decimal, digit for digit."""
    return Decimal(float(value)) if isinstance(value, float) else Decimal(value)
