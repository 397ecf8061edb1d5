"""CaQ: Spark builds the views of a query's streams, and the reference evaluator answers it.

One task receives all copies of fillers in the views, in document order, with their bytes. It
assembles them and evaluates the query. CaQ defines every answer, and handles every query that has
no native form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import arrow_udtf, lit, monotonically_increasing_id, struct

from xcql.compile.copies import COPY
from xcql.shred.assembly import Copy
from xcql.source import Source
from xcql_runtime.engine import Question
from xcql_runtime.evaluator.answering import Task, answer
from xcql_runtime.evaluator.carried_errors import errors_carried
from xcql_runtime.evaluator.rows_as_xml import rows_as_xml
from xcql_runtime.spark.copies import copies_frame

ANSWER_COLUMNS = "item string, vtFrom timestamp_ntz, vtTo timestamp_ntz"


def caq_frame(spark: SparkSession, question: Question) -> DataFrame:
    """The answer of a query: one row per item, in order."""
    task, store, around = question.task(), question.store, question.around
    inputs = {
        number: copies_frame(spark, store, name, around.now)
        for number, name in enumerate(task.streams)
        if store.state.stream(name).tables
    }
    for number, frame in enumerate(question.frames.values(), len(task.streams)):
        inputs[number] = _row_pieces(frame, around.query)
    copies = _always(spark)
    for number, frame in inputs.items():
        rows = frame.withColumn("source", lit(number))
        copies = copies.unionByName(rows, allowMissingColumns=True)
    table = copies.asTable().withSinglePartition().orderBy("source", "key")
    answering: Any = arrow_udtf(_answering(task), returnType=ANSWER_COLUMNS)
    result: DataFrame = answering(table)
    return result


def _row_pieces(frame: DataFrame, query: Source) -> DataFrame:
    """The rows as text, produced by workers: `key` is the sort key, `raw` the element."""
    names = tuple(frame.columns)

    class RowsAsXml:
        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            with errors_carried(query):
                texts = rows_as_xml(batch.column("row"), names)
            numbers = batch.column("number").to_pylist()
            keys = pa.array([number.to_bytes(8, "big") for number in numbers], pa.binary())
            columns = [keys, pa.array(texts, pa.string()).cast(pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, names=["key", "raw"])

    # two columns may have the same name
    plain = frame.toDF(*(f"c{number}" for number in range(len(names))))
    numbered = plain.select(monotonically_increasing_id().alias("number"), struct("*").alias("row"))
    as_xml: Any = arrow_udtf(RowsAsXml, returnType="key binary, raw binary")
    result: DataFrame = as_xml(numbered.asTable())
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
            with errors_carried(task.surroundings.query):
                yield from answer(task, self.copies)

    return Answering
