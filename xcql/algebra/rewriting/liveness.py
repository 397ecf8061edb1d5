"""Which columns of its inputs an operator needs, if some of its own are asked for.

Tests: tests/algebra/rules
"""

from __future__ import annotations

from xcql.algebra.operators import (
    Aggregate,
    Distinct,
    Join,
    Merge,
    Nearest,
    Nest,
    Number,
    Order,
    Over,
    Plan,
    Project,
    Tally,
    Unit,
    columns,
    free,
    inputs,
    order,
    own_columns,
    scalars,
    used,
    with_inputs,
)
from xcql.algebra.scalars import Scalar

# reductions that look at the order of the tuples in some dialect
_ORDERED = frozenset({"collect", "join", "first", "sum_doubles", "min_doubles", "max_doubles"})


def is_ordered(one: Aggregate) -> bool:
    """Whether a reduction may look at the order of the tuples."""
    return one.reduction in _ORDERED


def needed_below(plan: Plan, needed: frozenset[str]) -> tuple[frozenset[str], ...]:
    """The columns that an operator needs of each of its inputs."""
    match plan:
        case Order():
            # what depends on the order asks for its columns
            return (needed,)
        case Project(name=name, scalar=scalar):
            looks = used(scalar) if name in needed else frozenset[str]()
            return ((needed - {name}) | looks,)
        case Nest(input=below, keys=keys, fields=fields):
            wanted = [one for name, one in fields if name in needed]
            looks = _used(*(scalar for _, scalar in keys), *(one.value for one in wanted))
            return (looks | _order_of(below) if any(map(is_ordered, wanted)) else looks,)
        case Merge(inputs=several, columns=shared):
            kept = [each for name, each in shared if name in needed]
            return tuple(_used(*(each[index] for each in kept)) for index in range(len(several)))
        case Number(input=below, partition=partition):
            return ((needed - own_columns(plan)) | _used(*partition) | _order_of(below),)
        case Over(input=below):
            looks = _used(*scalars(plan)) | _order_of(below)
            return ((needed - own_columns(plan)) | looks,)
        case Distinct(key=key, within=within):
            return (needed | _used(key, *within),)
        case (
            Join(left=left, right=right)
            | Tally(left=left, right=right)
            | Nearest(left=left, right=right)
        ):
            both = needed | _used(*scalars(plan))
            return both & columns(left), both & columns(right)
    looks = free(with_inputs(plan, *(Unit() for _ in inputs(plan))))
    return tuple((needed - own_columns(plan)) | looks for _ in inputs(plan))


def _used(*several: Scalar) -> frozenset[str]:
    return frozenset().union(*map(used, several))


def _order_of(plan: Plan) -> frozenset[str]:
    return _used(*(key.scalar for key in order(plan)))
