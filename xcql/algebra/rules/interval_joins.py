"""Overlapping intervals are joined by time buckets instead of comparing all pairs.

inner join on overlaps($b.vtFrom, $b.vtTo, $x, $y)     inner join on $near = $near_2 and (…)
  a                                               =>     spread near over $x to $y
  b                                                        a
                                                         spread near_2 over $b.vtFrom to $b.vtTo
                                                           b

`…` is the old condition, and the test that this is the first bucket that both share. The rule
applies wherever two intervals must overlap: `$a.x < $b.y and $b.z < $a.w` implies that too.
Comparing few pairs is faster than making buckets, and pairs with equal keys are few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial

from xcql.algebra import operators as ops
from xcql.algebra.rewriting.everywhere import everywhere
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.scalars import (
    NOW,
    TURNED,
    Call,
    Column,
    Constant,
    Scalar,
    call,
    conjunction,
    conjuncts,
)
from xcql.model.time import START

# by stream and tag
Rows = Mapping[str, Mapping[str, int]]
# an interval of a left tuple, and one of a right tuple
Spans = tuple[tuple[Scalar, Scalar], tuple[Scalar, Scalar]]

# comparing more pairs than this is slower than making buckets
MANY = 5_000_000

_TIMES = ("vtFrom", "vtTo", "pathFrom", "pathTo")


def interval_joins(plan: ops.Plan, fresh: Callable[[str], str], rows: Rows) -> ops.Plan:
    """The plan with large joins on overlapping intervals done by buckets."""
    return everywhere(plan, partial(_changed, fresh=fresh, rows=rows))


def _changed(plan: ops.Plan, fresh: Callable[[str], str], rows: Rows) -> ops.Plan:
    if not isinstance(plan, ops.Join) or plan.kind != "inner" or plan.keys:
        return plan
    if _size(plan.left, rows) * _size(plan.right, rows) <= MANY:
        return plan
    found = next(_spans(plan), None)
    if found is None:
        return plan
    left, right = fresh("near"), fresh("near")
    is_first = call("or", Column(f"{left}.first"), Column(f"{right}.first"))
    return replace(
        plan,
        left=ops.Spread(plan.left, *found[0], left, is_left=True, span=plan.span),
        right=ops.Spread(plan.right, *found[1], right, is_left=False, span=plan.span),
        keys=((Column(left), Column(right)),),
        condition=conjunction(plan.condition, is_first),
    )


def _size(plan: ops.Plan, rows: Rows) -> int:
    """An estimate of the number of tuples: the number of rows of the largest table."""
    return max(
        (
            sum(rows.get(one.stream, {}).get(tag, 0) for tag in one.tags)
            for one in ops.walk_plan(plan)
            if isinstance(one, ops.Extract | ops.Follow)
        ),
        default=0,
    )


def _spans(join: ops.Join) -> Iterator[Spans]:
    """The intervals that the condition requires to overlap."""
    left, right = ops.columns(join.left), ops.columns(join.right)
    times = {
        ops.row_column(one.row, name)
        for one in ops.walk_plan(join)
        if isinstance(one, ops.Extract | ops.Follow)
        for name in _TIMES
    }

    def is_of(side: frozenset[str], *several: Scalar) -> bool:
        looks = frozenset().union(*map(ops.used, several))
        return bool(looks) and looks <= side and all(_is_time(one, times) for one in several)

    before: list[tuple[Scalar, Scalar]] = []
    after: list[tuple[Scalar, Scalar]] = []
    for one in conjuncts(join.condition):
        match one:
            case Call(function="overlaps", arguments=(begin, end, first, last)):
                lifespan = call("coalesce", begin, Constant(START)), call("coalesce", end, NOW)
                if is_of(left, *lifespan) and is_of(right, first, last):
                    yield lifespan, (first, last)
                if is_of(right, *lifespan) and is_of(left, first, last):
                    yield (first, last), lifespan
            case Call(function=sign, arguments=(a, b)) if sign in TURNED:
                if is_of(right, a) and is_of(left, b):
                    sign, a, b = TURNED[sign], b, a
                if is_of(left, a) and is_of(right, b):
                    (before if sign in ("<", "<=") else after).append((a, b))
    for (begin, last), (end, first) in zip(before, after, strict=False):
        yield (begin, end), (first, last)


def _is_time(scalar: Scalar, times: set[Column]) -> bool:
    """Whether a scalar is an instant."""
    match scalar:
        case Constant(value=value):
            return isinstance(value, datetime)
        case Column():
            return scalar in times
        case Call(function="coalesce" | "greatest" | "least", arguments=several):
            return all(_is_time(one, times) for one in several)
        case Call(function="add_microseconds" | "add_months", arguments=(moment, _)):
            return _is_time(moment, times)
    return scalar == NOW


RULE = Rule(interval_joins, "intervals that overlap are found by buckets of time")
