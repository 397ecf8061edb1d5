"""The rows of a DataFrame one after the other, however many they are."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame, Row, SparkSession


def iterate_rows(frame: DataFrame, *, ahead: bool = False) -> Iterator[Row]:
    """The rows, of which Java holds one part at a time; of the next one too, if asked to be ahead.

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
        raise ConnectionError("Java has ended in the midst of an answer") from None
