"""Parts of a query that SQL cannot say: functions of the SQL text that the evaluator computes.

Spark's SQL calls only functions that are registered. So they are, for each query under names of
its own: queries that run at the same time, and functions of the user's, stay apart. Classic Spark
has looked them up when the DataFrame is there, and they are dropped at once, which leaves the
session as it was. Spark Connect looks them up at each run of the DataFrame, so there they stay
until the session ends.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]
from pyspark.sql.utils import is_remote

from xcql.compile.result import Evaluation
from xcql_runtime.evaluator.worker import Surroundings, row_function

SEQUENCE_COLUMNS = "array<struct<kind: string, value: string>>"


@contextmanager
def registered(
    spark: SparkSession, evaluations: Sequence[Evaluation], around: Surroundings
) -> Iterator[dict[str, str]]:
    """Names for evaluations under which SQL can call them inside, by their own names."""
    names: dict[str, str] = {}
    try:
        for evaluation in evaluations:
            name = f"{evaluation.name}_{uuid.uuid4().hex}"
            function: Any = arrow_udf(row_function(evaluation, around), SEQUENCE_COLUMNS)
            spark.udf.register(name, function)
            names[evaluation.name] = name
        yield names
    finally:
        if not is_remote():
            for name in names.values():
                spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")
