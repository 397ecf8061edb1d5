"""The rules that prepare a plan for execution, one module per rule.

A module's docstring shows a plan before and after its rule; `tests/algebra/rules/<rule>.spec` has
more examples. Code that several rules share is in `xcql.algebra.rewriting`.

Tests: tests/algebra/rules
"""

from __future__ import annotations

from xcql.algebra.operators import Plan
from xcql.algebra.rewriting.rule import Facts, Rule
from xcql.algebra.rules import (
    columns_in_use,
    copies_in_groups,
    evaluations_apart,
    fold_holes,
    hole_joins,
    in_row,
    interval_joins,
    join_keys,
    members_as_tuples,
    nests_together,
    only_tuples,
    order_in_groups,
    outer_join,
    presence,
    sides_apart,
    tallies,
    valid_now,
    windowed_counts,
)

# in the order in which they run
RULES: tuple[Rule, ...] = (
    fold_holes.RULE,
    hole_joins.RULE,
    in_row.RULE,
    windowed_counts.RULE,
    join_keys.RULE,
    outer_join.RULE,
    # joins that replaced nested plans have conditions to push down, too
    join_keys.RULE,
    valid_now.RULE,
    order_in_groups.RULE,
    copies_in_groups.RULE,
    nests_together.RULE,
    tallies.RULE,
    interval_joins.RULE,
    presence.RULE,
    only_tuples.RULE,
    sides_apart.RULE,
    evaluations_apart.RULE,
    members_as_tuples.RULE,
    columns_in_use.RULE,
)


def rewritten(plan: Plan, facts: Facts) -> tuple[tuple[str, Plan], ...]:
    """The plan, under no name, then the result of each rule in turn, under the rule's name.

    The last plan has no nested plans.
    """
    steps = [("", plan)]
    for rule in RULES:
        plan = rule(plan, facts)
        steps.append((rule.name, plan))
    return tuple(steps)
