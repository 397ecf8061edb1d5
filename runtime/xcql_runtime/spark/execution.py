"""How a compiled query runs on Spark: in how many tasks, and whether its plan can be reused."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from xcql.algebra.operators import Extract, Nest, Plan, Project, Select, Unit, Unnest, walk_plan
from xcql.compile import Compiled
from xcql.store.state import StoreState
from xcql_runtime.spark.open_tables import is_little

# operators that process each row independently of the others
_ROW_BY_ROW: tuple[type[Plan], ...] = (Unit, Extract, Unnest, Select, Project)


def runs_in_one_task(compiled: Compiled, state: StoreState) -> bool:
    """Whether to bring the rows together in one task from the start.

    This pays off if they have to come together anyway and there is little work before that. Rows
    evaluated in Python are excluded: each of them takes long.
    """
    return (
        not compiled.evaluations
        and not _is_made_of(compiled, _ROW_BY_ROW)
        and is_little(state, compiled.tables)
    )


def repeatable(frame: DataFrame, compiled: Compiled, in_one_task: bool) -> Callable[[], DataFrame]:
    """A function that returns a DataFrame which computes everything again on each call.

    If the plan goes from files to items without a shuffle, that is the DataFrame itself. Otherwise
    Spark keeps shuffle output in the plan, and running the plan again would return stale rows. So
    each call makes a new plan.
    """
    # in one task, an aggregate needs no shuffle
    allowed = (*_ROW_BY_ROW, Nest) if in_one_task else _ROW_BY_ROW
    if _is_made_of(compiled, allowed):
        return lambda: frame
    return lambda: frame.select("*")


def _is_made_of(compiled: Compiled, operators: tuple[type[Plan], ...]) -> bool:
    return bool(compiled.steps) and all(
        isinstance(one, operators) for one in walk_plan(compiled.steps[-1][1])
    )
