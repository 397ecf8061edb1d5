"""Overlapping intervals have one common bucket that is the first of one of them."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import TYPE_CHECKING

from sqlglot import exp

from xcql.dialects.forms.times import time_buckets
from xcql.dialects.spark import spark_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# in seconds: from the year 1 to the year 9999
EARLIEST, LATEST = -62_135_596_800, 253_402_300_799


def test_each_pair_that_meets_meets_once(spark: SparkSession) -> None:
    random = Random(7)
    left, right = ([_interval(random) for _ in range(250)] for _ in range(2))
    buckets = [_buckets(spark, side, is_left) for side, is_left in ((left, True), (right, False))]
    for i, (begin, end) in enumerate(left):
        for j, (first, last) in enumerate(right):
            here, there = buckets[0][i], buckets[1][j]
            common = [one for one in here.keys() & there.keys() if here[one] or there[one]]
            if begin <= last and first <= end:
                assert len(common) == 1, (begin, end, first, last)
            else:
                assert len(common) <= 1


def test_an_interval_is_in_few_buckets(spark: SparkSession) -> None:
    intervals = [(EARLIEST, LATEST), (0, 0), (-1, 1), (15, 16), (0, 16**5), (5, 16**5 + 6)]
    for is_left in (True, False):
        assert all(len(one) <= 24 for one in _buckets(spark, intervals, is_left))


def _interval(random: Random) -> tuple[int, int]:
    """An interval of any length, near others."""
    length = random.choice([0, 0, 1, 10, 16, 100, 4096, 10**6, 10**9, LATEST - EARLIEST])
    begin = random.choice([random.randrange(-50, 50), random.randrange(10**6), 10**9, EARLIEST])
    return begin, min(begin + random.randint(0, length), LATEST)


def _buckets(
    spark: SparkSession, intervals: list[tuple[int, int]], is_left: bool
) -> list[dict[int, bool]]:
    """The buckets of each interval, and whether they are its first ones."""
    frame = spark.createDataFrame(
        [(number, *one) for number, one in enumerate(intervals)], "n BIGINT, b BIGINT, e BIGINT"
    )
    made = spark_text(time_buckets(exp.column("b"), exp.column("e"), exp.Boolean(this=is_left)))
    found: dict[int, dict[int, bool]] = defaultdict(dict)
    for row in frame.selectExpr("n", f"inline({made}) AS (bucket, first)").collect():
        assert row.bucket not in found[row.n]
        found[row.n][row.bucket] = row["first"]
    return [found[number] for number in range(len(intervals))]
