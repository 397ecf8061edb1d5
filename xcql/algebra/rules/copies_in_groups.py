"""Where copies change nothing, they are not removed first.

nest by (key := $node.name): at := min($a.key)        nest by (key := $node.name): at := min($a.key)
  distinct $a.key                                =>     nodes
    nodes

A step gives each node once, however many nodes lead to it; finding the copies needs all of them at
once. But the least and the greatest of values, and whether there are any, do not depend on copies.
"""

from __future__ import annotations

from xcql.algebra.operators import (
    Distinct,
    Join,
    Merge,
    Nest,
    Order,
    Plan,
    Project,
    Select,
    Unnest,
    inputs,
    with_inputs,
)
from xcql.algebra.rewriting.everywhere import everywhere
from xcql.algebra.rewriting.rule import Rule

_INDIFFERENT = frozenset({"min", "max", "any", "exists"})


def copies_in_groups(plan: Plan) -> Plan:
    """The plan with copies where they make no difference."""
    return everywhere(plan, _changed)


def _changed(plan: Plan) -> Plan:
    if isinstance(plan, Nest) and all(one.reduction in _INDIFFERENT for _, one in plan.fields):
        return with_inputs(plan, _with_copies(plan.input))
    return plan


def _with_copies(plan: Plan) -> Plan:
    match plan:
        case Distinct(input=below):
            return _with_copies(below)
        case Order() | Project() | Select() | Unnest() | Merge():
            return with_inputs(plan, *map(_with_copies, inputs(plan)))
        case Join(left=left, right=right):
            return with_inputs(plan, _with_copies(left), right)
    return plan


RULE = Rule(copies_in_groups, "copies are removed only where they make a difference")
