"""The interface of a source of fragments for a continuous query."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import lit

from xcql.publish.addresses import Address


class StreamSource(Address, Protocol):
    """An address that Spark can read a stream of fragments from."""

    def rows(self, spark: SparkSession, folder: Path, max_fragments: int) -> DataFrame:
        """A streaming frame with the columns that `source_columns` selects.

        The source may use `folder`, which is part of the checkpoint, to keep what it needs to read
        a batch again. A batch should have at most `max_fragments` rows.
        """


def source_columns(
    frame: DataFrame, place: Column, position: Column, data: Column, *, is_file: bool = False
) -> DataFrame:
    """Select the columns that every source provides.

    place     orders the rows of a stream: a file's path, a partition
    position  the position of a row within its place
    data      bytes: a fragment, or a whole file
    is_file   whether `data` is a whole file
    """
    return frame.select(
        place.alias("place"),
        position.cast("long").alias("position"),
        data.cast("binary").alias("data"),
        lit(is_file).alias("is_file"),
    )
