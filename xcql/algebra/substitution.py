"""Columns replaced by the scalars that define them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xcql.algebra.operators import Plan, inputs, used, with_inputs, with_scalars
from xcql.algebra.scalars import Column, Nested, Scalar, once, rebuilt


def substituted(scalar: Scalar, known: Mapping[str, Scalar]) -> Scalar:
    """The scalar with columns replaced, in nested plans too."""
    return _substitution(known)(scalar) if known else scalar


def _substitution(known: Mapping[str, Scalar]) -> Callable[[Scalar], Scalar]:
    @once
    def inside(one: Scalar) -> Scalar:
        if used(one).isdisjoint(known):
            return one
        match one:
            case Column(name=name):
                return known.get(name, one)
            case Nested(plan=plan, reduction=reduction, value=value):
                return Nested(_substituted_plan(plan, inside), reduction, inside(value))
        return rebuilt(one, inside)

    return inside


def substituted_plan(plan: Plan, known: Mapping[str, Scalar]) -> Plan:
    return _substituted_plan(plan, _substitution(known)) if known else plan


def _substituted_plan(plan: Plan, change: Callable[[Scalar], Scalar]) -> Plan:
    below = tuple(_substituted_plan(one, change) for one in inputs(plan))
    return with_scalars(with_inputs(plan, *below), change)
