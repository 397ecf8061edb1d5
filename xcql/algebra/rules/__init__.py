"""The rules that make a plan ready to run, each a small function in a module of its own.

| rule | does |
| --- | --- |
| `fold_holes` | chains of hole look-ups that nothing looks into become one scan (QaC+) |
| `hole_joins` | other look-ups become joins, by place (QaC+), or by hole id (QaC) |
| `chains` | scans become look-ups from the root along the holes (QaC) |
| `in_row` | nested plans over arrays of the tuple itself become functions of arrays |
| `windowed_counts` | counts of what meets an interval become counts of a join |
| `semi_join` | existential conditions become semi-joins |
| `outer_join` | other nested plans become outer joins with nests |
| `join_keys` | conditions go down to the plans they are of, and become keys of joins |
| `valid_now` | what is valid now in a settled stream is what has not ended |
| `nests_together` | several counts for the same tuples are counted together |
| `tallies` | pairs by "less than" that are only counted are never made |
| `interval_joins` | many intervals that meet are found by buckets of time |
| `presence` | whether there is a number is asked of what it is computed from |
| `sides_apart` | what a join compares is computed once a tuple, not once a pair |
| `evaluations_apart` | what workers compute gets a column of its own |

`rewritten` runs them in this order; `join_keys` again after `outer_join`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xcql.algebra.operators import Plan
from xcql.algebra.rules.chains import Depths
from xcql.algebra.rules.evaluations import evaluations_apart
from xcql.algebra.rules.fold_holes import fold_holes
from xcql.algebra.rules.hole_joins import hole_joins
from xcql.algebra.rules.in_row import in_row
from xcql.algebra.rules.interval_joins import Rows, interval_joins
from xcql.algebra.rules.join_keys import join_keys
from xcql.algebra.rules.nests_together import nests_together
from xcql.algebra.rules.outer_join import outer_join
from xcql.algebra.rules.presence import presence
from xcql.algebra.rules.sides_apart import sides_apart
from xcql.algebra.rules.tallies import tallies
from xcql.algebra.rules.valid_now import valid_now
from xcql.algebra.rules.windowed_counts import windowed_counts
from xcql.analysis.graph import TagGraph

__all__ = ["rewritten"]


def rewritten(
    plan: Plan,
    strategy: str,
    graphs: dict[str, TagGraph],
    fresh: Callable[[str], str],
    wanted: frozenset[str],
    depths: dict[str, Depths] | None = None,
    rows: Rows | None = None,
    settled: frozenset[str] = frozenset(),
    steps: list[tuple[str, Plan]] | None = None,
) -> Plan:
    """The plan without nested plans, for a strategy; `wanted` are the columns of its answer.

    `depths` are, for each stream, the levels on which the fillers of a tag stand, `rows` how many
    there are. `settled` are the streams to which `now` is late. `steps` gets the name of each rule
    that ran, with the plan that it made.
    """
    rules: list[Callable[[Plan], Plan]] = [
        partial(hole_joins, strategy=strategy, graphs=graphs, fresh=fresh, depths=depths),
        in_row,
        windowed_counts,
        join_keys,
        partial(outer_join, fresh=fresh),
        join_keys,
        partial(valid_now, settled=settled),
        partial(nests_together, fresh=fresh),
        partial(tallies, fresh=fresh),
        partial(interval_joins, fresh=fresh, rows=rows or {}),
        presence,
        partial(sides_apart, fresh=fresh),
        partial(evaluations_apart, fresh=fresh),
    ]
    if strategy == "qac+":
        rules.insert(0, partial(fold_holes, graphs=graphs, wanted=wanted))
    for rule in rules:
        plan = rule(plan)
        if steps is not None:
            steps.append((getattr(rule, "func", rule).__name__, plan))
    return plan
