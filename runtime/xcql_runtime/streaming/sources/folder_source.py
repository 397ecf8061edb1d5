"""Files of fragments that are dropped into a folder."""

from __future__ import annotations

import re
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit

from xcql.diagnostics import error
from xcql.publish.addresses import FolderAddress
from xcql_runtime.streaming.sources.source import source_columns

# a batch has at most this many bytes of files, or a single file
_MAX_BYTES = 1 << 25
# characters that Spark would take for a glob pattern in the path of a folder
_PATTERN = re.compile(r"[][{}*?\\]")
_FILES = "path string, modificationTime timestamp, length long, content binary"


class FolderSource(FolderAddress):
    """The files of a folder, in the order of their names."""

    __slots__ = ()

    def rows(self, spark: SparkSession, folder: Path, max_fragments: int) -> DataFrame:
        if not self.path.exists():
            raise error(
                "XCQL0725",
                f"there is no folder '{self.path}' to watch",
                hints=[f"make it first: mkdir -p {self.path}"],
            )
        frame = (
            spark.readStream.format("binaryFile")
            .schema(_FILES)
            .option("maxBytesPerTrigger", _MAX_BYTES)
            # Spark would skip files that are older than others by more than a week
            .option("maxFileAge", "36500d")
            .load(_PATTERN.sub(r"\\\g<0>", str(self.path.absolute())))
        )
        return source_columns(frame, col("path"), lit(0), col("content"), is_file=True)
