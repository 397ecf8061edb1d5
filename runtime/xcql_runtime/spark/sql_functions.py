"""Parts of a query that SQL cannot express: SQL functions that the evaluator computes.

Spark's SQL only calls registered functions, so each query registers its own, under unique names.
Concurrent queries and the user's functions do not interfere. Classic Spark resolves the functions
when it creates the DataFrame; they are dropped right after that, which leaves the session
unchanged. Spark Connect resolves them at each run of the DataFrame, so there they stay until the
session ends.
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
from xcql_runtime.evaluator.answering import Surroundings, row_function

SEQUENCE_COLUMNS = (
    "array<struct<kind: string, value: string, vtFrom: timestamp_ntz, vtTo: timestamp_ntz>>"
)


@contextmanager
def registered(
    spark: SparkSession, evaluations: Sequence[Evaluation], around: Surroundings
) -> Iterator[dict[str, str]]:
    """Map the evaluations' own names to the names under which SQL can call them in this block."""
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
