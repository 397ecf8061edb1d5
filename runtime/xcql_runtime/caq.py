"""CaQ: Spark builds the views of a query's streams, and the reference evaluator answers it.

The views come to one task as pieces of text, sorted; it parses them and evaluates the query. It
is the definition of every answer, and the way for all that has no native form.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import arrow_udtf

from xcql.analysis.streams import streams_named
from xcql.syntax.prolog import MainModule
from xcql_runtime.answering import Surroundings, Task, answer
from xcql_runtime.rows_as_xml import row_pieces
from xcql_runtime.store.state import State
from xcql_runtime.store.temporalize import view_pieces

ANSWER_COLUMNS = "item string, vtFrom timestamp_ntz, vtTo timestamp_ntz"


def streams_of(module: MainModule, state: State) -> tuple[str, ...]:
    """The streams of a store that a query may look at."""
    named = streams_named(module)
    return tuple(name for name in sorted(state.streams) if named is None or name in named)


def caq_frame(
    spark: SparkSession,
    store: Path,
    state: State,
    module: MainModule,
    around: Surroundings,
    frames: Mapping[str, DataFrame],
) -> DataFrame:
    """The answer of a query: one row an item, in order."""
    # a prefix for lifespans that nothing in the data can have
    prefix = f"xcql-{secrets.token_hex(8)}"
    task = Task(around, streams_of(module, state), tuple(frames), tuple(state.streams), prefix)
    sources = [
        view_pieces(spark, store, state.stream(name), around.now, prefix) for name in task.streams
    ]
    sources += [row_pieces(frame, around.query) for frame in frames.values()]
    # a row that is always there: without any, the task would not run
    first = spark.range(1).selectExpr("-1 AS source", "X'' AS key", "'' AS text")
    pieces = reduce(
        DataFrame.unionByName,
        (
            source.selectExpr(f"{number} AS source", "key", "text")
            for number, source in enumerate(sources)
        ),
        first,
    )
    table = pieces.asTable().withSinglePartition().orderBy("source", "key")
    answering: Any = arrow_udtf(_answering(task), returnType=ANSWER_COLUMNS)
    result: DataFrame = answering(table)
    return result


def _answering(task: Task) -> type:
    """The class whose instance a worker feeds with the pieces, batch by batch."""

    class Answering:
        def __init__(self) -> None:
            self.pieces: dict[int, list[str]] = {}

        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            sources, texts = batch.column("source").to_pylist(), batch.column("text").to_pylist()
            for source, text in zip(sources, texts, strict=True):
                self.pieces.setdefault(source, []).append(text)
            yield from ()

        def terminate(self) -> Iterator[pa.RecordBatch]:
            yield from answer(task, self.pieces)

    return Answering
