"""The sinks for the updates of a continuous query.

When a sink begins, it is told what it may have missed. A sink that knows what it has, such as the
change log, gets each batch exactly once. A sink that does not know may get the last batch twice
after a crash; the rows carry the number of their batch.
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
from xcql_runtime.spark.frames import structure
from xcql_runtime.streaming.sources.kafka import write_messages

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
    """What a sink is told at the start: the query in its current state, the id of its checkpoint,
    and the last batch that all sinks had received when it was last stopped (-1: none)."""

    query: Continuous
    id: str
    delivered: int


class Sink(Protocol):
    """Receives the updates, batch by batch."""

    def begin(self, beginning: Beginning) -> int:
        """Prepare, and return the last batch that the sink already has."""

    def write(self, batch: int, updates: Sequence[Update]) -> None:
        """Receive the updates of a batch; there is at least one."""

    def close(self) -> None:
        """End; no more updates will come."""


class ForgetfulSink:
    """A sink that does not know which batches it has."""

    def begin(self, beginning: Beginning) -> int:
        return beginning.delivered

    def close(self) -> None:
        pass


class Callback(ForgetfulSink):
    """Calls a function with the list of updates of each batch.

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
    """A change log: a folder with one Parquet file per batch that changed the answer.

        FOLDER/batch-000000000012.parquet    the rows of batch 12, in order
        FOLDER/_checkpoint                   the id of the checkpoint folder it belongs to

    A file is named after its batch and written atomically; the same batch gives the same file.
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
    """The updates of a change log, in order."""
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
    """Updates as a DataFrame, in one partition and in order."""
    rows = [tuple(asdict(update).values()) for update in updates]
    return spark.createDataFrame(rows, structure(UPDATES)).coalesce(1)


def as_json(update: Update) -> str:
    """An update as one line of JSON; `vtFrom` is null for start, `vtTo` is null for now."""
    values = {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in asdict(update).items()
    }
    return json.dumps(values, ensure_ascii=False)
