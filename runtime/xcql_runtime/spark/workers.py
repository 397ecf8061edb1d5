"""Independent pieces of Python work on Spark's workers; see `xcql.store.processes` for others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from xcql.store.processes import Piece, Result, Run, outcome, result_of
from xcql_runtime.spark.failures import understood


def on_workers(spark: SparkSession) -> Run:
    """A function that does what `run_here` does, in parallel: one Spark task per piece."""

    def run(function: Callable[[Piece], Result], pieces: Sequence[Piece]) -> list[Result]:
        if not pieces:
            return []
        # a plain function: those over Arrow batches would need pandas, for nothing
        work = udf(lambda number: outcome(function, pieces[number]), "binary", useArrow=False)
        numbers = spark.range(0, len(pieces), 1, len(pieces))
        with understood():
            rows = numbers.select("id", work("id").alias("outcome")).collect()
        results: list[Any] = [None] * len(pieces)
        for row in rows:
            results[row["id"]] = result_of(bytes(row["outcome"]))
        return results

    return run
