"""Existence tests become semi-joins; their negations become anti-joins.

select exists(for t with t.ref = $p.id)        semi join on $p.id = t.ref
  p                                      =>      p
                                                 t

If a test of pairs of tuples is all that links them, they are joined through its values, and the
pairs are never built:

select exists(for t with t.a = $p.id and t.b = $q.id)     inner join on t.b = $q.id
  inner join on all                                         inner join on $p.id = t.a
    p                                                  =>     p
    q                                                         nest by (t.a, t.b)
                                                                t
                                                            q
"""

from __future__ import annotations

from collections.abc import Callable

from xcql.algebra.operators import (
    Distinct,
    Join,
    Merge,
    Nest,
    Number,
    Order,
    Over,
    Plan,
    Unit,
    columns,
    free,
    inputs,
    order,
    used,
)
from xcql.algebra.rewriting.correlation import split
from xcql.algebra.scalars import TRUE, Call, Column, Nested, Scalar, conjunction

Keys = tuple[tuple[Scalar, Scalar], ...]


def semi_join(
    base: Plan, part: Scalar, unnest: Callable[[Plan], Plan], fresh: Callable[[str], str]
) -> Plan | None:
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
    if kind == "semi" and not outside and not mixed:
        linked = _linked(base, right, keys, fresh)
        if linked is not None:
            return linked
    return Join(base, right, keys, conjunction(*outside, *mixed), kind)  # type: ignore[arg-type]


def _linked(base: Plan, right: Plan, keys: Keys, fresh: Callable[[str], str]) -> Plan | None:
    """The pairs of tuples that the keys link; None if they are no pairs, or linked otherwise."""
    match base:
        case Join(kind="inner", keys=(), left=left, right=other) if not free(other) & columns(left):
            named = tuple((fresh("link"), value) for _, value in keys)
        case _:
            return None
    pairs: dict[bool, list[tuple[Scalar, Scalar]]] = {True: [], False: []}
    for (value, _), (name, _) in zip(keys, named, strict=True):
        looks, is_left = used(value), bool(used(value) & columns(left))
        if not looks or not looks <= columns(left if is_left else other):
            return None
        pairs[is_left].append((value, Column(name)))
    if not all(pairs.values()):
        return None
    links = Join(left, Nest(right, named, ()), tuple(pairs[True]), TRUE)
    partners = tuple((name, value) for value, name in pairs[False])
    return Order(Join(links, other, partners, base.condition, span=base.span), order(base))


def _depends_on_set(plan: Plan) -> bool:
    match plan:
        case Number() | Over() | Distinct() | Nest() | Merge():
            return True
    return any(map(_depends_on_set, inputs(plan)))
