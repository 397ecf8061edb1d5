"""The nearest tuples of a plan, by their numbers: where no join of the engine finds them.

nearest 2 on $a.key < $b.key        inner join on ($count - 1) = $number
  a                            =>     tally count of $a.key < $b.key
  b                                     a
                                        b
                                      number number
                                        order by $b.key descending
                                          b

So many tuples compare, and the last of them is the nearest. An engine that can join with the
nearest one asks that one for its number instead.

Tests: tests/compile/syntax/test_nearest_steps.py
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import chain, count

from xcql.algebra.operators import (
    Join,
    Merge,
    Nearest,
    Number,
    Order,
    Plan,
    Select,
    SortKey,
    Tally,
    columns,
)
from xcql.algebra.scalars import TRUE, Column, Constant, Scalar, call, conjunction


def by_numbers(plan: Nearest, joins_nearest: bool) -> Plan:
    """The same tuples; the nearest is asked for its number if the engine can join with it."""
    taken = columns(plan.left) | columns(plan.right)
    number, counted = _free("near.number", taken), _free("near.count", taken)
    value = plan.values[1]
    keys = tuple(key for _, key in plan.keys)
    there = conjunction(*(call("is_not_null", one) for one in (*keys, value)))
    by = SortKey(value, "key", descending=plan.comparison.startswith("<"))
    numbered = Number(Order(Select(plan.right, there), (by,)), number, keys)
    left: Plan = Tally(plan.left, plan.right, plan.keys, plan.comparison, plan.values, counted)
    if joins_nearest:
        made: dict[str, Scalar] = {counted: Column(number)}
        made |= {_free(f"near.key{index}", taken): key for index, key in enumerate(keys)}
        made[_free("near.value", taken)] = value
        _, *names, last = made
        only = Merge((numbered,), tuple((name, (one,)) for name, one in made.items()), ())
        left = replace(
            plan,
            right=only,
            keys=tuple((a, Column(name)) for (a, _), name in zip(plan.keys, names, strict=True)),
            values=(plan.values[0], Column(last)),
            position=1,
        )
    partner = call("-", Column(counted), Constant(plan.position - 1))
    return Join(
        left, numbered, (*plan.keys, (partner, Column(number))), TRUE, plan.kind, is_lookup=True
    )


def _free(name: str, taken: Collection[str]) -> str:
    several = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(one for one in several if one not in taken)
