"""Columns replaced by the scalars that define them."""

from __future__ import annotations

from collections.abc import Mapping

from xcql.algebra.operators import Plan, inputs, used, with_inputs, with_scalars
from xcql.algebra.scalars import Column, Nested, Scalar, once, rebuilt


def substituted(scalar: Scalar, known: Mapping[str, Scalar]) -> Scalar:
    """The scalar with columns replaced, in nested plans too."""

    @once
    def inside(one: Scalar) -> Scalar:
        if used(one).isdisjoint(known):
            return one
        match one:
            case Column(name=name):
                return known.get(name, one)
            case Nested(plan=plan, reduction=reduction, value=value):
                return Nested(substituted_plan(plan, known), reduction, inside(value))
        return rebuilt(one, inside)

    return inside(scalar) if known else scalar


def substituted_plan(plan: Plan, known: Mapping[str, Scalar]) -> Plan:
    below = tuple(substituted_plan(one, known) for one in inputs(plan))
    return with_scalars(with_inputs(plan, *below), lambda one: substituted(one, known))
