"""Jobs on Spark: one that Ctrl-C cancels, rows that are handed out in parts, Python work."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from pyspark import InheritableThread
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import udf

from xcql.store.processes import Piece, Result, Run, outcome, result_of
from xcql_runtime.spark.failures import understood

T = TypeVar("T")

# seconds to wait for a job that is being cancelled
_PATIENCE = 10


def interruptible(spark: SparkSession, job: Callable[[], T]) -> T:
    """The result of a job; when Ctrl-C comes, what the job has started is cancelled.

    It runs in a thread of its own, for a call that waits for Spark cannot be left half-way.
    """
    tag = f"xcql-{uuid.uuid4().hex}"
    outcome: list[Any] = [None, None]

    def work() -> None:
        try:
            spark.addTag(tag)
            try:
                outcome[0] = job()
            finally:
                spark.removeTag(tag)
        except BaseException as problem:
            outcome[1] = problem

    thread = InheritableThread(target=work, session=spark, daemon=True)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        spark.interruptTag(tag)
        thread.join(_PATIENCE)
        raise
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]  # type: ignore[no-any-return]


def iterate_rows(frame: DataFrame, *, ahead: bool = False) -> Iterator[Row]:
    """The rows one after the other; Java holds one part of them at a time, or two if `ahead`.

    `DataFrame.toLocalIterator` does the same, but classic Spark 4 keeps each part that it handed
    out for as long as the session lives: the jobs of a query are forgotten when the query ends,
    and the jobs of these parts come after that end. Those of an RDD belong to no query.
    """
    try:
        if isinstance(frame.sparkSession, SparkSession):
            yield from frame.rdd.toLocalIterator(prefetchPartitions=ahead)
        else:
            # a server of Spark Connect hands out parts as they are made
            yield from frame.toLocalIterator(prefetchPartitions=ahead)
    except EOFError:
        raise ConnectionError("Java ended in the middle of an answer") from None


def on_workers(spark: SparkSession) -> Run:
    """A function that does what `run_here` does, in parallel: one Spark task per piece.

    For work on the cores of this machine, see `xcql.store.processes`.
    """

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
