"""Kafka as a source and a target, through Spark's connector: a jar that Spark does not include."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from xcql.diagnostics import XcqlError, error
from xcql.publish.addresses import KafkaAddress
from xcql.publish.play import Pace, groups_of
from xcql_runtime.streaming.sources.source import source_columns


class KafkaSource(KafkaAddress):
    """The messages of a topic from its beginning."""

    __slots__ = ()

    def rows(self, spark: SparkSession, folder: Path, max_fragments: int) -> DataFrame:
        reader = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.servers)
            .option("subscribe", self.topic)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", max_fragments)
        )
        try:
            frame = reader.load()
        except AnalysisException as problem:
            raise _explained(problem, self) from None
        partition = col("partition").cast("string")
        return source_columns(frame, partition, col("offset"), col("value"))


def write_messages(frame: DataFrame, address: KafkaAddress) -> None:
    """Send rows with the columns `key` and `value`."""
    try:
        (
            frame.write.format("kafka")
            .option("kafka.bootstrap.servers", address.servers)
            .option("topic", address.topic)
            .save()
        )
    except AnalysisException as problem:
        raise _explained(problem, address) from None


def publish(
    spark: SparkSession, fragments: Iterator[bytes], address: KafkaAddress, pace: Pace
) -> int:
    """Play fragments to a topic, in groups; return how many were sent."""
    sent = 0
    for pause, group in groups_of(fragments, pace):
        time.sleep(pause)
        rows = [(None, bytearray(one)) for one in group]
        # one partition keeps the messages in order
        frame = spark.createDataFrame(rows, "key binary, value binary").coalesce(1)
        write_messages(frame, address)
        sent += len(group)
    return sent


def connector() -> str:
    """The package with the connector that matches the installed Spark.

    >>> connector()                                                       # doctest: +ELLIPSIS
    'org.apache.spark:spark-sql-kafka-0-10_2.1...:4...'
    """
    jars = Path(pyspark.__file__).parent / "jars"
    names = [re.match(r"scala-library-(\d+\.\d+)", path.name) for path in jars.glob("scala-*")]
    scala = next((name[1] for name in names if name), "2.13")
    return f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{pyspark.__version__}"


def _explained(problem: AnalysisException, address: KafkaAddress) -> XcqlError:
    if "kafka" not in str(problem).lower():
        raise problem
    return error(
        "XCQL0724",
        f"'{address}' cannot be reached: Spark's Kafka connector is not installed",
        hints=[
            f"it is in the package {connector()}",
            "let Spark fetch it: PYSPARK_SUBMIT_ARGS='--packages"
            f" {connector()} pyspark-shell' before the command",
            "or create the Spark session yourself with spark.jars.packages, and pass it:"
            " xcql.Session(store, spark=…)",
        ],
    )
