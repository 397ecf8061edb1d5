"""Which order keys decide the order of tuples: others cannot differ where it comes to them.

Tests: tests/algebra/rules
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xcql.algebra.operators import (
    Merge,
    Nest,
    NodeScan,
    Plan,
    Project,
    SortKey,
    Spread,
    Versions,
    columns,
    identity,
    inputs,
    used,
)
from xcql.algebra.scalars import Column, Scalar


def deciding(plan: Plan, by: tuple[SortKey, ...], same: Sequence[Scalar]) -> tuple[SortKey, ...]:
    """The keys that order the tuples of a plan among which some scalars are the same."""
    known = set(same)
    fixed = _settled(plan, known)
    kept: list[SortKey] = []
    for key in by:
        looks = used(key.scalar)
        if key.scalar in known or (looks and looks <= fixed):
            continue
        kept.append(key)
        known.add(key.scalar)
        fixed = _settled(plan, known)
    return tuple(kept)


def _settled(plan: Plan, known: set[Scalar]) -> frozenset[str]:
    """The columns that are the same for all tuples with the same values of the known scalars."""
    equal = set(known)
    parts = list(_chain(plan))
    found: frozenset[str] = frozenset()
    while True:
        before = len(equal), len(found)
        for part in parts:
            if isinstance(part, Project):
                # two names of one value
                pair = {Column(part.name), part.scalar}
                if equal & pair:
                    equal |= pair
            if all(one in equal or _is_fixed(one, found) for one in identity(part)):
                found |= columns(part)
        if before == (len(equal), len(found)):
            return found


def _is_fixed(scalar: Scalar, found: frozenset[str]) -> bool:
    looks = used(scalar)
    return bool(looks) and looks <= found


def _chain(plan: Plan) -> Iterator[Plan]:
    """The plans whose columns are those of a plan, too, and whose identity tells tuples apart."""
    while not isinstance(plan, NodeScan | Versions | Spread):
        if isinstance(plan, Merge) and not plan.by:
            return
        yield plan
        if isinstance(plan, Nest | Merge) or not inputs(plan):
            return
        plan = inputs(plan)[0]
