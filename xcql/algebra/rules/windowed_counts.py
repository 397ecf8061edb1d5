"""A sum over what overlaps an interval of another tuple becomes a count, which can be joined.

sum(case(overlaps($b.vtFrom, $b.vtTo, $x, $y), 1, 0) for {b})
  => count(True for {select overlaps($b.vtFrom, $b.vtTo, $x, $y); b})

if $x or $y belong to the tuple that the count is for. Otherwise the sum is the better form:
it can be computed together with other sums over the same tuples.
"""

from __future__ import annotations

from functools import partial

from xcql.algebra.operators import Plan, Select, columns, used, with_scalars
from xcql.algebra.rewriting.everywhere import everywhere
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.scalars import (
    TRUE,
    Call,
    Constant,
    Nested,
    Scalar,
    has_nested,
    rebuilt,
    remembered,
)


def windowed_counts(plan: Plan) -> Plan:
    """The plan with such sums as counts."""
    return everywhere(plan, partial(with_scalars, change=_changed))


@remembered
def _changed(scalar: Scalar) -> Scalar:
    if not has_nested(scalar):
        return scalar
    match rebuilt(scalar, _changed):
        case Nested(
            plan=plan,
            reduction="sum",
            value=Call(
                function="case",
                arguments=(Call(function="overlaps") as meets, Constant(1), Constant(0)),
            ),
        ) if used(meets) - columns(plan):
            return Nested(Select(plan, meets), "count", TRUE)
        case other:
            return other


RULE = Rule(windowed_counts, "sums over what meets an interval become counts, which can be joined")
