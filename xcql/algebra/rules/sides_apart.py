"""What a join compares is computed once a tuple, not once a pair.

inner join on number($a.x) > number($b.y)        inner join on $side > $side_2
  a                                        =>      project side := number($a.x)
  b                                                  a
                                                   project side_2 := number($b.y)
                                                     b
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from xcql.algebra.operators import Join, Plan, Project, columns, used
from xcql.algebra.rules.everywhere import everywhere
from xcql.algebra.scalars import Call, Column, Constant, Nested, Scalar, rebuilt, walk_scalar


def sides_apart(plan: Plan, fresh: Callable[[str], str]) -> Plan:
    """The plan with joins that compare nothing but columns."""
    return everywhere(plan, partial(_changed, fresh=fresh))


def _changed(plan: Plan, fresh: Callable[[str], str]) -> Plan:
    if not isinstance(plan, Join):
        return plan
    sides = [plan.left, plan.right]
    known: dict[Scalar, Column] = {}

    def apart(scalar: Scalar) -> Scalar:
        if not _is_work(scalar):
            return scalar
        looks = used(scalar)
        for index, own in enumerate((columns(plan.left), columns(plan.right))):
            if looks and looks <= own:
                if scalar not in known:
                    known[scalar] = Column(fresh("side"))
                    sides[index] = Project(sides[index], known[scalar].name, scalar, span=plan.span)
                return known[scalar]
        return rebuilt(scalar, apart)

    condition = apart(plan.condition)
    return replace(plan, left=sides[0], right=sides[1], condition=condition) if known else plan


def _is_work(scalar: Scalar) -> bool:
    """Whether there is something to compute, in one tuple, other than looking at a field."""
    match scalar:
        case Call(function="field", arguments=(base, Constant())):
            return _is_work(base)
        case Call():
            return not any(isinstance(one, Nested) for one in walk_scalar(scalar))
    return False
