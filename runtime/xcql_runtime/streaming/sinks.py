"""Where the updates of a continuous query go.

A sink is told, when it begins, what it may have missed. One that knows what it has, such as the
change log, gets each batch once, whatever happens. One that does not may get the last batch twice
after a crash: the rows carry their batch's number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from xcql.continuous import Continuous, Update
from xcql.diagnostics import error
from xcql.durable import write_whole
from xcql.publish.addresses import KafkaAddress
from xcql_runtime.streaming.sources.kafka import write_messages
from xcql_runtime.tables.frames import structure

UPDATES = pa.schema(
    [
        ("batch", pa.int64()),
        ("op", pa.string()),
        ("key", pa.string()),
        ("position", pa.int64()),
        ("item", pa.string()),
        ("vtFrom", pa.timestamp("us")),
        ("vtTo", pa.timestamp("us")),
    ]
)


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a sink is told at the start: the query as it stands, which checkpoint it is that of,
    and up to which batch all sinks had everything when it was last stopped (-1: none)."""

    query: Continuous
    id: str
    delivered: int


class Sink(Protocol):
    """Takes the updates of one batch after the other."""

    def begin(self, beginning: Beginning) -> int:
        """Get ready, and say which batch is the last that need not be told."""

    def write(self, batch: int, updates: Sequence[Update]) -> None:
        """Take the updates of a batch; there are some."""

    def close(self) -> None:
        """Nothing more will come."""


class ForgetfulSink:
    """A sink that does not know which batches it has."""

    def begin(self, beginning: Beginning) -> int:
        return beginning.delivered

    def close(self) -> None:
        pass


class Callback(ForgetfulSink):
    """Calls a function with the updates of each batch, a list.

    >>> sink = Callback(lambda updates: print(updates[0].item))
    """

    def __init__(self, function: Callable[[Sequence[Update]], Any]) -> None:
        self._function = function

    def write(self, batch: int, updates: Sequence[Update]) -> None:
        self._function(updates)


class FrameCallback(ForgetfulSink):
    """Calls a function with the updates of each batch as a DataFrame, and the batch's number."""

    def __init__(self, spark: SparkSession, function: Callable[[DataFrame, int], Any]) -> None:
        self._spark = spark
        self._function = function

    def write(self, batch: int, updates: Sequence[Update]) -> None:
        self._function(update_frame(self._spark, updates), batch)


class KafkaTopic(ForgetfulSink):
    """Sends each update as a message: its key, and the row as JSON."""

    def __init__(self, spark: SparkSession, address: KafkaAddress) -> None:
        self._spark = spark
        self._address = address

    def write(self, batch: int, updates: Sequence[Update]) -> None:
        rows = [(update.key, as_json(update)) for update in updates]
        frame = self._spark.createDataFrame(rows, "key string, value string")
        write_messages(frame.coalesce(1), self._address)


class ParquetLog:
    """A change log: a folder with one Parquet file for each batch that changed something.

        FOLDER/batch-000000000012.parquet    the rows of batch 12, in their order
        FOLDER/_checkpoint                   which checkpoint folder it goes with

    A file has its batch's number, and appears whole; the same batch gives the same file.
    """

    _NAME = re.compile(r"batch-(\d{12})\.parquet")

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def begin(self, beginning: Beginning) -> int:
        self.folder.mkdir(parents=True, exist_ok=True)
        mark = self.folder / "_checkpoint"
        if mark.exists():
            owner = mark.read_text(encoding="utf-8").strip()
        else:
            owner = "" if any(self.folder.iterdir()) else beginning.id
        if owner != beginning.id:
            raise error(
                "XCQL0728",
                f"the folder '{self.folder}' is not the change log of this checkpoint",
                hints=["give a new folder, or the checkpoint of the log"],
            )
        write_whole(mark, f"{beginning.id}\n".encode())
        found = [self._NAME.fullmatch(path.name) for path in self.folder.iterdir()]
        return max((int(name[1]) for name in found if name), default=-1)

    def write(self, batch: int, updates: Sequence[Update]) -> None:
        data = pa.BufferOutputStream()
        pq.write_table(update_table(updates), data, compression="zstd")
        write_whole(self.folder / f"batch-{batch:012}.parquet", data.getvalue().to_pybytes())

    def close(self) -> None:
        pass


def read_log(folder: str | Path) -> list[Update]:
    """The updates of a change log, in their order."""
    files = sorted(Path(folder).glob("batch-*.parquet"))
    return [
        Update(**row) for file in files for row in pq.read_table(file, schema=UPDATES).to_pylist()
    ]


def update_table(updates: Sequence[Update]) -> pa.Table:
    columns = [[getattr(update, name) for update in updates] for name in UPDATES.names]
    return pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, UPDATES, strict=True)],
        schema=UPDATES,
    )


def update_frame(spark: SparkSession, updates: Sequence[Update]) -> DataFrame:
    """Updates as a DataFrame, in one partition and in their order."""
    rows = [tuple(asdict(update).values()) for update in updates]
    return spark.createDataFrame(rows, structure(UPDATES)).coalesce(1)


def as_json(update: Update) -> str:
    """An update as one line of JSON; `vtFrom` and `vtTo` are null for start and for now."""
    values = {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in asdict(update).items()
    }
    return json.dumps(values, ensure_ascii=False)
