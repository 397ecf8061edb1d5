"""CaQ: Spark builds the views of a query's streams, and the reference evaluator answers it.

One task receives all copies of fillers in the views, in document order, with their bytes. It
assembles them and evaluates the query. CaQ defines every answer, and handles every query that has
no native form.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import arrow_udtf, lit

from xcql.check import Checked
from xcql.compile import Catalog
from xcql.compile.copies import COPY
from xcql.shred.assembly import Copy
from xcql.store.state import StoreState
from xcql_runtime.evaluator.rows_as_xml import row_pieces
from xcql_runtime.evaluator.worker import Surroundings, Task, answer
from xcql_runtime.tables.copies import copies_frame

ANSWER_COLUMNS = "item string, vtFrom timestamp_ntz, vtTo timestamp_ntz"


def streams_of(query: Checked, state: StoreState) -> tuple[str, ...]:
    """The streams of a store that a query may read, including that of its context item."""
    named = query.streams
    return tuple(
        name
        for name in sorted(state.streams)
        if named is None or name in named or name == query.context
    )


def caq_frame(
    spark: SparkSession,
    store: Path,
    state: StoreState,
    catalog: Catalog,
    query: Checked,
    around: Surroundings,
    frames: Mapping[str, DataFrame],
) -> DataFrame:
    """The answer of a query: one row per item, in order."""
    # a prefix for lifespans that cannot occur in the data
    prefix = f"xcql-{secrets.token_hex(8)}"
    task = Task(
        around,
        streams_of(query, state),
        tuple(frames),
        {name: stream.tags for name, stream in state.streams.items()},
        prefix,
    )
    inputs = {
        number: copies_frame(spark, store, state, catalog, name, around.now)
        for number, name in enumerate(task.streams)
        if state.stream(name).tables
    }
    for number, frame in enumerate(frames.values(), len(task.streams)):
        inputs[number] = row_pieces(frame, around.query)
    copies = _always(spark)
    for number, frame in inputs.items():
        rows = frame.withColumn("source", lit(number))
        copies = copies.unionByName(rows, allowMissingColumns=True)
    table = copies.asTable().withSinglePartition().orderBy("source", "key")
    answering: Any = arrow_udtf(_answering(task), returnType=ANSWER_COLUMNS)
    result: DataFrame = answering(table)
    return result


def _always(spark: SparkSession) -> DataFrame:
    """A row of no source: without any row, the task would not run."""
    nothing = (lit(None).cast(type).alias(name) for name, type in COPY.items())
    return spark.range(1).select(lit(-1).alias("source"), *nothing)


def _answering(task: Task) -> type:
    """The class that a worker instantiates and feeds with the copies, batch by batch."""

    class Answering:
        def __init__(self) -> None:
            self.copies: dict[int, list[Copy]] = {}

        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            columns = (batch.column(name).to_pylist() for name in ("source", *COPY))
            for source, *copy in zip(*columns, strict=True):
                self.copies.setdefault(source, []).append(Copy(*copy))
            yield from ()

        def terminate(self) -> Iterator[pa.RecordBatch]:
            yield from answer(task, self.copies)

    return Answering
