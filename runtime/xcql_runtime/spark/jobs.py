"""Jobs on Spark: jobs that Ctrl-C cancels, rows fetched in parts, Python work on workers.

Tests: tests/runtime/answers/test_cancel.py
"""

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
    """Run a job and return its result; Ctrl-C cancels everything that the job has started.

    It runs in its own thread, because a call that waits for Spark cannot be interrupted.
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
    """Iterate over the rows; Java holds one partition of them at a time, or two if `ahead`.

    `DataFrame.toLocalIterator` does the same, but classic Spark 4 keeps each partition that it
    returned for as long as the session lives: it forgets the jobs of a query when the query ends,
    and the jobs for these partitions run after that end. Jobs of an RDD belong to no query.
    """
    try:
        if isinstance(frame.sparkSession, SparkSession):
            yield from frame.rdd.toLocalIterator(prefetchPartitions=ahead)
        else:
            # a Spark Connect server returns partitions as they are computed
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
        # a plain function: Arrow UDFs would need pandas, without any benefit
        work = udf(lambda number: outcome(function, pieces[number]), "binary", useArrow=False)
        numbers = spark.range(0, len(pieces), 1, len(pieces))
        with understood():
            rows = numbers.select("id", work("id").alias("outcome")).collect()
        results: list[Any] = [None] * len(pieces)
        for row in rows:
            results[row["id"]] = result_of(bytes(row["outcome"]))
        return results

    return run
