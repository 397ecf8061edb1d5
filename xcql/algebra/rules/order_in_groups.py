"""Values in groups are not ordered by what cannot differ any more.

nest by (key := $name): all := collect($value)         nest by (key := $name): …
  order by $name, $value, $at                     =>     order by $value
    nest by (name := …, value := …): at := min(…)          nest by (name := …, value := …): …

In a group, the keys of the group are the same for all tuples. And when the keys before have told
all tuples apart, others decide nothing.
"""

from __future__ import annotations

from dataclasses import replace

from xcql.algebra.operators import Nest, Order, Plan, order
from xcql.algebra.rewriting.everywhere import everywhere
from xcql.algebra.rewriting.order_keys import deciding
from xcql.algebra.rewriting.rule import Rule


def order_in_groups(plan: Plan) -> Plan:
    """The plan with shorter orders in groups."""
    return everywhere(plan, _changed)


def _changed(plan: Plan) -> Plan:
    if not isinstance(plan, Nest):
        return plan
    by = order(plan.input)
    kept = deciding(plan.input, by, [scalar for _, scalar in plan.keys])
    if len(kept) == len(by):
        return plan
    below = plan.input.input if isinstance(plan.input, Order) else plan.input
    return replace(plan, input=Order(below, kept, span=plan.input.span))


RULE = Rule(order_in_groups, "groups are not sorted by what cannot differ in them")
