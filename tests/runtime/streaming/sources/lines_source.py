"""An example of an added source: files in a folder with one fragment per line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit

from xcql_runtime.streaming.sources.source import source_columns


@dataclass(frozen=True, slots=True)
class LinesSource:
    """The lines of the text files in a folder."""

    scheme: ClassVar[str] = "lines"
    form: ClassVar[str] = "lines:FOLDER"
    folder: str

    @classmethod
    def parse(cls, text: str) -> Self:
        if not text:
            raise ValueError("it names no folder")
        return cls(text)

    def rows(self, spark: SparkSession, folder: Path, max_fragments: int) -> DataFrame:
        frame = spark.readStream.text(self.folder)
        return source_columns(frame, lit(""), lit(0), col("value"))
