"""Existence tests become semi-joins; their negations become anti-joins.

select exists(for t with t.ref = $p.id)        semi join on $p.id = t.ref
  p                                      =>      p
                                                 t
"""

from __future__ import annotations

from collections.abc import Callable

from xcql.algebra.operators import (
    Distinct,
    Join,
    Merge,
    Nest,
    Number,
    Over,
    Plan,
    Unit,
    columns,
    inputs,
)
from xcql.algebra.rewriting.correlation import split
from xcql.algebra.scalars import Call, Nested, Scalar, conjunction


def semi_join(base: Plan, part: Scalar, unnest: Callable[[Plan], Plan]) -> Plan | None:
    """The tuples that meet the condition, or None if a semi-join cannot check it.

    `unnest` removes nested plans from the plan that is joined.
    """
    kind = "semi"
    while isinstance(part, Call) and part.function in ("not", "is_true"):
        if part.function == "not":
            kind = "anti" if kind == "semi" else "semi"
        part = part.arguments[0]
    if not isinstance(part, Nested) or part.reduction != "exists":
        return None
    if isinstance(base, Unit):
        return None
    found = split(part.plan, columns(base), mixed=True)
    if found is None:
        return None
    inner, keys, outside, mixed = found
    if _depends_on_set(part.plan) and keys:
        return None
    right = unnest(inner)
    return Join(base, right, keys, conjunction(*outside, *mixed), kind)  # type: ignore[arg-type]


def _depends_on_set(plan: Plan) -> bool:
    match plan:
        case Number() | Over() | Distinct() | Nest() | Merge():
            return True
    return any(map(_depends_on_set, inputs(plan)))
