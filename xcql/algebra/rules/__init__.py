"""The rules that make a plan ready to run, each a small function in a module of its own.

| rule | does |
| --- | --- |
| `fold_holes` | chains of hole look-ups that nothing looks into become one scan (QaC+) |
| `hole_joins` | other look-ups become joins, by place (QaC+), or by hole id (QaC) |
| `chains` | scans become look-ups from the root along the holes (QaC) |
| `in_row` | nested plans over arrays of the tuple itself become functions of arrays |
| `semi_join` | existential conditions become semi-joins |
| `outer_join` | other nested plans become outer joins with nests |
| `join_keys` | conditions go down to the plans they are of, and become keys of joins |

`rewritten` runs them in this order; `join_keys` again at the end.
"""

from __future__ import annotations

from collections.abc import Callable

from xcql.algebra.operators import Plan
from xcql.algebra.rules.chains import Depths
from xcql.algebra.rules.fold_holes import fold_holes
from xcql.algebra.rules.hole_joins import hole_joins
from xcql.algebra.rules.in_row import in_row
from xcql.algebra.rules.join_keys import join_keys
from xcql.algebra.rules.outer_join import outer_join
from xcql.analysis.graph import TagGraph

__all__ = ["rewritten"]


def rewritten(
    plan: Plan,
    strategy: str,
    graphs: dict[str, TagGraph],
    fresh: Callable[[str], str],
    wanted: frozenset[str],
    depths: dict[str, Depths] | None = None,
) -> Plan:
    """The plan without nested plans, for a strategy; `wanted` are the columns of its answer.

    `depths` are, for each stream, the levels on which the fillers of a tag stand.
    """
    if strategy == "qac+":
        plan = fold_holes(plan, graphs, wanted)
    plan = hole_joins(plan, strategy, graphs, fresh, depths)
    plan = in_row(plan)
    plan = join_keys(plan)
    plan = outer_join(plan, fresh)
    return join_keys(plan)
