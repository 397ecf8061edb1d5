"""Apply a change everywhere in a plan, including in plans nested in its scalars."""

from __future__ import annotations

from collections.abc import Callable

from xcql.algebra.operators import Plan, inputs, scalars, with_inputs, with_scalars
from xcql.algebra.scalars import Nested, Scalar, has_nested, once, rebuilt, with_plan


def everywhere(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """The plan with `change` applied to every operator, bottom up.

    What occurs several times is changed once.
    """
    return _Everywhere(change).plan(plan)


class _Everywhere:
    def __init__(self, change: Callable[[Plan], Plan]) -> None:
        self._change = change
        # by identity, what has been changed
        self._known: dict[int, tuple[Plan, Plan]] = {}
        self.scalar = once(self._scalar)

    def plan(self, plan: Plan) -> Plan:
        known = self._known.get(id(plan))
        if known is None:
            new = with_inputs(plan, *map(self.plan, inputs(plan)))
            if any(map(has_nested, scalars(plan))):
                new = with_scalars(new, self.scalar)
            known = self._known[id(plan)] = plan, self._change(new)
        return known[1]

    def _scalar(self, scalar: Scalar) -> Scalar:
        if not has_nested(scalar):
            return scalar
        scalar = rebuilt(scalar, self.scalar)
        if isinstance(scalar, Nested):
            return with_plan(scalar, self.plan(scalar.plan))
        return scalar
