"""Values that a join compares are computed once per tuple, not once per pair.

inner join on number($a.x) > number($b.y)        inner join on $side > $side_2
  a                                        =>      project side := number($a.x)
  b                                                  a
                                                   project side_2 := number($b.y)
                                                     b

Tuples without a partner must not fail: a value that may fail is NULL on its side, and is computed
again for a pair, where it fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from xcql.algebra.operators import Join, Plan, Project, columns, used
from xcql.algebra.rewriting.apart import can_be_apart, without_failures
from xcql.algebra.rewriting.everywhere import everywhere
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.scalars import Call, Column, Scalar, call, once, rebuilt


def sides_apart(plan: Plan, fresh: Callable[[str], str]) -> Plan:
    """The plan with joins that compare only columns."""
    return everywhere(plan, partial(_changed, fresh=fresh))


def _changed(plan: Plan, fresh: Callable[[str], str]) -> Plan:
    if not isinstance(plan, Join):
        return plan
    sides = [plan.left, plan.right]
    known: dict[Scalar, Scalar] = {}

    @once
    def apart(scalar: Scalar) -> Scalar:
        if not can_be_apart(scalar):
            return rebuilt(scalar, apart) if isinstance(scalar, Call) else scalar
        looks = used(scalar)
        for index, own in enumerate((columns(plan.left), columns(plan.right))):
            if looks and looks <= own:
                if scalar not in known:
                    name = fresh("side")
                    without = without_failures(scalar)
                    sides[index] = Project(sides[index], name, without, span=plan.span)
                    there = Column(name)
                    known[scalar] = there if without == scalar else call("coalesce", there, scalar)
                return known[scalar]
        return rebuilt(scalar, apart)

    condition = apart(plan.condition)
    return replace(plan, left=sides[0], right=sides[1], condition=condition) if known else plan


RULE = Rule(sides_apart, "what a join compares is computed once per item, not once per pair")
