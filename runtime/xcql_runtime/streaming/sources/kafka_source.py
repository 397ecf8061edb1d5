"""Fragments that are messages of a Kafka topic."""

from __future__ import annotations

from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from xcql.publish.addresses import KafkaAddress
from xcql_runtime.streaming.kafka import explained
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
            raise explained(problem, self) from None
        partition = col("partition").cast("string")
        return source_columns(frame, partition, col("offset"), col("value"))
