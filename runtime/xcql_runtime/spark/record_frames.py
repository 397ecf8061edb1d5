"""An answer as a table on Spark: workers find the columns, and build the rows."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import arrow_udtf

from xcql.compile.terms.leaf_types import Place
from xcql_runtime.records import RecordShape
from xcql_runtime.spark.frames import structure


def record_frame(answers: DataFrame, types: Mapping[Place, str]) -> DataFrame:
    """The rows of an answer's column `item` as a table; the answer is computed once.

    `types` are those of `xcql.compile.terms.leaf_types`.
    """
    kept = answers.select("item").localCheckpoint(eager=False)
    find: Any = arrow_udtf(_shape_finder(), returnType="shape binary")
    shape = RecordShape()
    for row in find(kept.asTable()).collect():
        shape.merge(pickle.loads(bytes(row["shape"])))
    shape.finish(types)
    build: Any = arrow_udtf(_builder(shape), returnType=structure(shape.schema()))
    result: DataFrame = build(kept.asTable())
    return result


def _shape_finder() -> type:
    class ShapeFinder:
        def __init__(self) -> None:
            self.shape = RecordShape()

        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            self.shape.see_all(batch)
            yield from ()

        def terminate(self) -> Iterator[pa.RecordBatch]:
            shape = pa.array([pickle.dumps(self.shape)], pa.binary())
            yield pa.RecordBatch.from_arrays([shape], names=["shape"])

    return ShapeFinder


def _builder(shape: RecordShape) -> type:
    class RecordBuilder:
        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            yield shape.batch(batch)

    return RecordBuilder
