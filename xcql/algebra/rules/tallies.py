"""Pairs joined by "less than" that are only counted are never built.

nest by (key := $a.id): count := count(True)        nest by (key := $a.id): count := sum($tally)
  inner join on $a.income > $b.price           =>     select $tally > 0
    a                                                   tally tally of $a.income > $b.price
    b                                                     a
                                                          b

There may be very many pairs; to count them, it is enough to sort both sides together. If the
counts are joined back to the very tuples that they are for, that join is removed too:

left join on $a.key = $key                          project count := $tally
  a                                                   tally tally of case($a.x, $a.y) > $b.price
  nest by (key := $a.key): count := sum($tally) =>      a
    select $tally > 0                                   b
      tally tally of $a.y > $b.price
        select $a.x
          a
        b
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from xcql.algebra import operators as ops
from xcql.algebra.rewriting.everywhere import everywhere
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.scalars import (
    TRUE,
    TURNED,
    Call,
    Column,
    Constant,
    Scalar,
    call,
    case,
    conjunction,
    walk_scalar,
)


def tallies(plan: ops.Plan, fresh: Callable[[str], str]) -> ops.Plan:
    """The plan with counted inequality joins as tallies."""
    return everywhere(plan, partial(_changed, fresh=fresh))


def _changed(plan: ops.Plan, fresh: Callable[[str], str]) -> ops.Plan:
    if isinstance(plan, ops.Join):
        return _counted_for(plan) or plan
    if not isinstance(plan, ops.Nest) or any(one.reduction != "count" for _, one in plan.fields):
        return plan
    join = plan.input.input if isinstance(plan.input, ops.Order) else plan.input
    if not isinstance(join, ops.Join) or join.kind != "inner":
        return plan
    left = ops.columns(join.left)
    if any(ops.used(scalar) & ops.columns(join.right) for _, scalar in plan.keys):
        return plan
    match join.condition:
        case Call(function="<" | "<=" | ">" | ">=" as comparison, arguments=(a, b)):
            values: tuple[Scalar, Scalar] = (a, b)
        case _:
            return plan
    if ops.used(a) & ops.columns(join.right):
        values, comparison = (b, a), TURNED[comparison]
    if ops.used(values[0]) & ops.columns(join.right) or ops.used(values[1]) & left:
        return plan
    if join.keys and any(map(_may_fail, values)):
        # a tuple without a partner by the keys is compared with nothing, so it must not fail
        return plan
    name = fresh("tally")
    tally = ops.Tally(join.left, join.right, join.keys, comparison, values, name, span=plan.span)
    some = ops.Select(tally, call(">", Column(name), Constant(0)))
    fields = tuple((field, ops.Aggregate("sum", Column(name))) for field, _ in plan.fields)
    return replace(plan, input=some, fields=fields)


def _may_fail(scalar: Scalar) -> bool:
    return any(isinstance(one, Call) and one.function == "fail" for one in walk_scalar(scalar))


def _counted_for(join: ops.Join) -> ops.Plan | None:
    """A join of tuples with their own tallies, without the join."""
    match join:
        case ops.Join(
            left=base,
            right=ops.Nest(
                input=ops.Select(input=ops.Tally() as tally), keys=((key, own),), fields=fields
            ),
            keys=((outer, Column(name=joined)),),
            kind="left",
        ) if joined == key and outer == own and join.condition == TRUE:
            pass
        case _:
            return None
    condition: Scalar = TRUE
    left = tally.left
    while isinstance(left, ops.Select):
        condition = conjunction(left.condition, condition)
        left = left.input
    if left != base or ops.identity(base) != (own,):
        return None
    value = case((condition, tally.values[0]))
    counted: ops.Plan = replace(tally, left=base, values=(value, tally.values[1]))
    for name, _ in fields:
        counted = ops.Project(counted, name, Column(tally.name))
    return counted


RULE = Rule(tallies, "pairs that are only counted are never built")
