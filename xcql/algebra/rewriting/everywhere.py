"""Apply a change everywhere in a plan, including in plans nested in its scalars."""

from __future__ import annotations

from collections.abc import Callable

from xcql.algebra.operators import Plan, inputs, scalars, with_inputs, with_scalars
from xcql.algebra.scalars import Nested, Scalar, has_nested, rebuilt, with_plan


def everywhere(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """The plan with `change` applied to every operator, bottom up."""
    plan = with_inputs(plan, *(everywhere(one, change) for one in inputs(plan)))
    if any(map(has_nested, scalars(plan))):
        plan = with_scalars(plan, lambda scalar: _in_scalar(scalar, change))
    return change(plan)


def _in_scalar(scalar: Scalar, change: Callable[[Plan], Plan]) -> Scalar:
    if not has_nested(scalar):
        return scalar
    scalar = rebuilt(scalar, lambda one: _in_scalar(one, change))
    if isinstance(scalar, Nested):
        return with_plan(scalar, everywhere(scalar.plan, change))
    return scalar
