"""Fragments in the text column of any streaming DataFrame."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, lit
from pyspark.sql.types import StringType

from xcql.diagnostics import error
from xcql_runtime.streaming.sources.source import source_columns


def frame_rows(frame: DataFrame, name: str) -> DataFrame:
    """The rows of a frame for a stream; they stay in the order of the frame."""
    if not frame.isStreaming:
        raise error(
            "XCQL0726",
            f"the DataFrame for the stream '{name}' is not a streaming one",
            hints=["make it with spark.readStream", "what is complete is asked with session.query"],
        )
    texts = [field.name for field in frame.schema if isinstance(field.dataType, StringType)]
    if "value" in texts:
        texts = ["value"]
    if len(texts) != 1:
        found = ", ".join(texts) or "none"
        raise error(
            "XCQL0726",
            f"the DataFrame for the stream '{name}' needs one text column; it has {found}",
            hints=["select the column with the fragments, or call it 'value'"],
        )
    return source_columns(frame, lit(""), lit(0), col(f"`{texts[0]}`"))
