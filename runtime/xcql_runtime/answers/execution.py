"""How a compiled query runs on Spark: in how many tasks, and what of its plan can be kept."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from xcql.algebra.operators import Extract, Nest, Plan, Project, Select, Unit, Unnest, walk_plan
from xcql.compile import Compiled
from xcql.store.state import StoreState
from xcql_runtime.tables.open_tables import is_little

# what makes of each row some others, whatever the rest are
_ROW_BY_ROW: tuple[type[Plan], ...] = (Unit, Extract, Unnest, Select, Project)


def runs_in_one_task(compiled: Compiled, state: StoreState) -> bool:
    """Whether rows are to be brought together in one task from the beginning.

    That is so if they have to come together anyway, and there is little to do before that. What
    Python evaluates takes long for each row.
    """
    return (
        not compiled.evaluations
        and not _is_made_of(compiled, _ROW_BY_ROW)
        and is_little(state, compiled.tables)
    )


def repeatable(frame: DataFrame, compiled: Compiled, in_one_task: bool) -> Callable[[], DataFrame]:
    """What gives a DataFrame that computes everything anew, each time it is called.

    That is the DataFrame itself, with its plan, if that goes from files to items without a stop.
    What rows are exchanged between tasks a plan of Spark holds for ever: who ran it again would get
    what it held. So others have a plan of their own each time.
    """
    # of one task, rows need not be exchanged to be counted
    allowed = (*_ROW_BY_ROW, Nest) if in_one_task else _ROW_BY_ROW
    if _is_made_of(compiled, allowed):
        return lambda: frame
    return lambda: frame.select("*")


def _is_made_of(compiled: Compiled, operators: tuple[type[Plan], ...]) -> bool:
    return bool(compiled.steps) and all(
        isinstance(one, operators) for one in walk_plan(compiled.steps[-1][1])
    )
