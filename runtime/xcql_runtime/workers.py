"""Running independent pieces of Python work: on Spark's workers, or right here.

On the cores of one machine, see `processes`.

The pieces are values that can be pickled, and so are their results. An error of a piece is
raised here as it was raised there, without Spark's wrapping.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from xcql.garbage import uncollected
from xcql_runtime.failures import understood

Piece = TypeVar("Piece")
Result = TypeVar("Result")
Run = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


def run_here(function: Callable[[Piece], Result], pieces: Sequence[Piece]) -> list[Result]:
    """The results for all pieces, computed in this process."""
    return [function(piece) for piece in pieces]


def on_workers(spark: SparkSession) -> Run:
    """A function that does what `run_here` does, one Spark task a piece, in parallel."""

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


def outcome(function: Callable[[Any], Any], piece: Any) -> bytes:
    """What comes of a piece, a result or an error, on its way to who asked for it."""
    # the pieces build big lists of plain values, which the collector would walk again and again
    with uncollected():
        try:
            return pickle.dumps((function(piece), None))
        except Exception as problem:
            return pickle.dumps((None, problem))


def result_of(outcome: bytes) -> Any:
    """The result that has come, or else the error is raised."""
    result, problem = pickle.loads(outcome)
    if problem is not None:
        raise problem
    return result
