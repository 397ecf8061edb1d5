"""Testing whether an array contains a value also gives a join key.

select exists($p.interest, i -> i.category = $c)   =>   $c = $member, of  unnest member: …
  p                                                       p

Each value is unnested once, so that no tuple finds the same partner twice.
"""

from __future__ import annotations

from typing import NamedTuple

from xcql.algebra.operators import Plan, Unnest, used
from xcql.algebra.scalars import Call, Column, Lambda, Scalar, call, conjunction, conjuncts


class Membership(NamedTuple):
    """A value of the outer tuple, and the array of the inner tuple that must contain it."""

    value: Scalar
    array: Scalar
    name: str

    def unnested(self, plan: Plan) -> Plan:
        """The inner tuples, one per value in the array."""
        return Unnest(plan, self.array, self.name, f"{self.name}.at")

    @property
    def key(self) -> tuple[Scalar, Scalar]:
        return self.value, Column(self.name)


def membership(part: Scalar, outer: frozenset[str], inner: frozenset[str]) -> Membership | None:
    """The condition as a membership test on both tuples, or None if it is not one."""
    while isinstance(part, Call) and part.function == "is_true":
        part = part.arguments[0]
    match part:
        case Call(function="exists", arguments=(array, Lambda(parameters=(item,), body=body))):
            pass
        case _:
            return None
    if used(array) & outer:
        return None
    kept: list[Scalar] = []
    pair: tuple[Scalar, Scalar] | None = None
    for one in conjuncts(body):
        if not used(one) & outer:
            kept.append(one)
        elif pair is not None or (pair := equal_sides(one, outer, inner | {item})) is None:
            return None
    if pair is None:
        return None
    value, element = pair
    kept.append(call("is_not_null", element))
    array = call("filter", array, Lambda((item,), conjunction(*kept)))
    array = call("array_distinct", call("transform", array, Lambda((item,), element)))
    return Membership(value, array, f"{item}.member")


def equal_sides(
    part: Scalar, left: frozenset[str], right: frozenset[str]
) -> tuple[Scalar, Scalar] | None:
    """The two values that a condition requires to be equal: the left tuple's, the right tuple's."""
    match part:
        case Call(function="=", arguments=(a, b)):
            for one, other in ((a, b), (b, a)):
                if not used(one) & right and not used(other) & left:
                    return one, other
    return None
