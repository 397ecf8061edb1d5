"""What a source of fragments is, for a continuous query."""

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

        The source may keep in `folder`, which is a part of the checkpoint, what it needs to read
        a batch again. At most `max_fragments` rows should be in one batch.
        """


def source_columns(
    frame: DataFrame, place: Column, position: Column, data: Column, *, is_file: bool = False
) -> DataFrame:
    """The rows of a source.

    place     what orders the rows of a stream: a file's path, a partition
    position  and the position of a row in it
    data      bytes: a fragment, or a whole file
    is_file   which of the two
    """
    return frame.select(
        place.alias("place"),
        position.cast("long").alias("position"),
        data.cast("binary").alias("data"),
        lit(is_file).alias("is_file"),
    )
