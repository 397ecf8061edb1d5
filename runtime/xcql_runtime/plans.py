"""Plans of Spark that are run more than once."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from xcql.algebra.operators import Extract, Nest, Project, Select, Unit, Unnest, walk_plan
from xcql.compile import Compiled


def repeatable(frame: DataFrame, compiled: Compiled, in_one_task: bool) -> Callable[[], DataFrame]:
    """What gives a DataFrame that computes everything anew, each time it is called.

    That is the DataFrame itself, with its plan, if that goes from files to items without a stop.
    What rows are exchanged between tasks a plan of Spark holds for ever: who ran it again would get
    what it held. So others have a plan of their own each time.
    """
    if _goes_through(compiled, in_one_task):
        return lambda: frame
    return lambda: frame.select("*")


def _goes_through(compiled: Compiled, in_one_task: bool) -> bool:
    row_by_row = (Unit, Extract, Unnest, Select, Project)
    # of one task, rows need not be exchanged to be counted
    allowed = (*row_by_row, Nest) if in_one_task else row_by_row
    return bool(compiled.steps) and all(
        isinstance(operator, allowed) for operator in walk_plan(compiled.steps[-1][1])
    )
