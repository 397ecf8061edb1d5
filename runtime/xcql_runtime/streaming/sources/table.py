"""All kinds of sources, and the rows of the sources that a query reads.

All sources of a query form one streaming frame, so that there is one sequence of batches. Its
columns are `stream`, the name, and those of `source.source_columns`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit
from pyspark.sql.types import StringType

from xcql.diagnostics import XcqlError, error
from xcql.publish.addresses import parse_address
from xcql.store.state import folder_name
from xcql_runtime.streaming.sources.folder_source import FolderSource
from xcql_runtime.streaming.sources.kafka import KafkaSource
from xcql_runtime.streaming.sources.source import StreamSource, source_columns
from xcql_runtime.streaming.sources.tcp_source import TcpSource

SourceLike = str | Path | DataFrame

# every kind of address that a stream can come from
SOURCES: tuple[type[StreamSource], ...] = (TcpSource, FolderSource, KafkaSource)


def source_rows(
    spark: SparkSession, sources: Mapping[str, SourceLike], spool: Path, max_fragments: int
) -> DataFrame:
    """The rows of all sources of a query; `sources` is keyed by stream name."""

    def rows(name: str, source: SourceLike) -> DataFrame:
        if isinstance(source, DataFrame):
            frame = _frame_rows(source, name)
        else:
            address = parse_address(str(source), SOURCES)
            frame = address.rows(spark, spool / folder_name(name), max_fragments)
        return frame.select(lit(name).alias("stream"), "*")

    return reduce(DataFrame.unionAll, (rows(*one) for one in sources.items()))


def _frame_rows(frame: DataFrame, name: str) -> DataFrame:
    """The rows of a streaming DataFrame with a text column, in their original order."""
    if not frame.isStreaming:
        raise error(
            "XCQL0726",
            f"the DataFrame for the stream '{name}' is not a streaming one",
            hints=["create it with spark.readStream", "use session.query for complete data"],
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


def resolved(
    source: SourceLike | Mapping[str, SourceLike], named: frozenset[str] | None, known: list[str]
) -> dict[str, SourceLike]:
    """The sources by stream name; a single source belongs to the query's only stream."""
    if isinstance(source, Mapping):
        if not source:
            raise _no_source("no source")
        return dict(source)
    names = known if named is None else sorted(named)
    if len(names) == 1:
        return {names[0]: source}
    if not names:
        raise _no_source("it is not clear which stream the source is for")
    raise _no_source(f"the query reads {len(names)} streams: {', '.join(names)}")


def _no_source(reason: str) -> XcqlError:
    return error(
        "XCQL0727",
        reason,
        hints=[
            'name the streams: source={"name": "tcp://host:port"}',
            "on the command line: --source NAME=ADDRESS",
        ],
    )
