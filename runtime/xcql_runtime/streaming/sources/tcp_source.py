"""A Spark data source for lines broadcast over TCP.

    spark.dataSource.register(BroadcastLines)
    spark.readStream.format("xcql-tcp").options(host="localhost", port=9000, spool=FOLDER).load()

Its rows are lines: `number` from 0, and `data`, the line's bytes. A process of the driver receives
the lines and keeps them in the folder `spool` until Spark has processed them, so that a batch can
be read again. A batch has at most `maxLines` lines.

Tests: tests/runtime/streaming/sources/test_table.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.functions import col, lit
from pyspark.sql.types import StructType

from xcql.publish.addresses import TcpAddress
from xcql_runtime.streaming.sources.receiver import Receiver
from xcql_runtime.streaming.sources.source import source_columns
from xcql_runtime.streaming.sources.spool import spooled

Offset = dict[str, int]
MAX_LINES = 10_000


class TcpSource(TcpAddress):
    """The lines broadcast at a port; each is a fragment."""

    __slots__ = ()

    def rows(self, spark: SparkSession, folder: Path, max_fragments: int) -> DataFrame:
        spark.dataSource.register(BroadcastLines)
        frame = (
            spark.readStream.format(BroadcastLines.name())
            .option("host", self.host)
            .option("port", self.port)
            .option("spool", str(folder.absolute()))
            .option("maxLines", max_fragments)
            .load()
        )
        return source_columns(frame, lit(""), col("number"), col("data"))


class BroadcastLines(DataSource):
    """The data source `xcql-tcp`."""

    @classmethod
    def name(cls) -> str:
        return "xcql-tcp"

    def schema(self) -> str:
        return "number long, data binary"

    def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:
        options = self.options
        return LineReader(
            TcpAddress(options["host"], int(options["port"])),
            Path(options["spool"]),
            int(options.get("maxLines", MAX_LINES)),
        )


class LineReader(SimpleDataSourceStreamReader):
    """Tells Spark what has arrived. It starts to receive at the first read."""

    def __init__(self, address: TcpAddress, folder: Path, max_lines: int) -> None:
        self._address = address
        self._folder = folder
        self._max_lines = max_lines
        self._receiver: Receiver | None = None

    def initialOffset(self) -> Offset:
        return {"line": 0}

    def read(self, start: Offset) -> tuple[Iterator[tuple[Any, ...]], Offset]:
        if self._receiver is None:
            self._receiver = Receiver(self._address, self._folder)
        first = start["line"]
        end = min(self._receiver.end(first), first + self._max_lines)
        if end <= first:
            return iter([]), start
        return self.readBetweenOffsets(start, {"line": end}), {"line": end}

    def readBetweenOffsets(self, start: Offset, end: Offset) -> Iterator[tuple[Any, ...]]:
        # Spark copies the iterator, and a generator cannot be copied
        lines = spooled(self._folder, start["line"], end["line"])
        return iter(list(enumerate(lines, start["line"])))

    def commit(self, end: Offset) -> None:
        if self._receiver is not None:
            self._receiver.forget(end["line"])
