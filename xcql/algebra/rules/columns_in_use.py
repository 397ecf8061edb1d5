"""Columns that nothing asks for are removed.

nest by (key := $a.parent): n := count(True)        nest by (key := $a.parent): n := count(True)
  project m := $member.a.limit                 =>     project a.parent := $member.a.parent
    project a.parent := $member.a.parent                a
      a

The lowering would not compute them either. But the fields of collected structs that only they read
are not collected then.
"""

from __future__ import annotations

from xcql.algebra.operators import Plan, Project, inputs, with_inputs
from xcql.algebra.rewriting.liveness import needed_below
from xcql.algebra.rewriting.rule import Rule


def columns_in_use(plan: Plan, wanted: frozenset[str]) -> Plan:
    """The plan without columns that neither it nor the answer uses."""
    while isinstance(plan, Project) and plan.name not in wanted:
        plan = plan.input
    below = zip(inputs(plan), needed_below(plan, wanted), strict=True)
    return with_inputs(plan, *(columns_in_use(one, needed) for one, needed in below))


RULE = Rule(columns_in_use, "columns that nothing asks for are removed")
