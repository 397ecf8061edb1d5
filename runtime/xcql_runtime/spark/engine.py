"""The engine on Spark, for any amount of data and for clusters.

Tests: tests/runtime/answers
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from xcql.compile.result import Compiled
from xcql.compile.terms.leaf_types import Place
from xcql.diagnostics import error
from xcql.dialects.slots import SqlText
from xcql.dialects.spark import SPARK
from xcql.shred.assembly import Copy
from xcql.store.state import DataFile
from xcql_runtime.cache import Cache
from xcql_runtime.engine import Question, items_in_order
from xcql_runtime.evaluator.answering import ANSWER
from xcql_runtime.evaluator.carried_errors import NeedsEvaluator
from xcql_runtime.spark.caq import caq_frame
from xcql_runtime.spark.copies import copies_frame
from xcql_runtime.spark.execution import repeatable, runs_in_one_task
from xcql_runtime.spark.failures import understood
from xcql_runtime.spark.frames import files_frame
from xcql_runtime.spark.java_process import has_ended, suppress_tracebacks
from xcql_runtime.spark.jobs import interruptible, iterate_rows
from xcql_runtime.spark.open_tables import run_sql, table_in_use
from xcql_runtime.spark.record_frames import record_frame
from xcql_runtime.spark.sql_functions import registered
from xcql_runtime.spark.start import ended, local_session
from xcql_runtime.store_reader import PinnedStore

# rows that are passed on at a time
_BATCH = 10_000


class SparkEngine:
    """A Spark session, and how queries run on it.

    A session of the user's is used and left unchanged. Otherwise a quiet local session is started
    when one is needed, and restarted if its Java has ended; then `views` are created again.
    """

    name = "spark"
    dialect = SPARK

    def __init__(self, spark: SparkSession | None = None, *, verbose: bool = False) -> None:
        self._spark = spark
        self._is_given = spark is not None
        self._verbose = verbose
        self.views: dict[str, Callable[[], DataFrame]] = {}
        # plans are large and use the memory of Spark's driver
        self._frames = Cache[Callable[[], DataFrame]](50)
        # the plan of a scan is small, but the number of queries is unlimited
        self._tables = Cache[DataFrame](500)
        if spark is not None:
            suppress_tracebacks(spark)

    def session(self, settings: Mapping[str, str] | None = None) -> SparkSession:
        """The Spark session, started with these settings if it is not running."""
        before = self._spark
        if before is not None and not has_ended(before):
            return before
        if self._is_given:
            raise ended()
        self._spark = local_session(settings=settings, verbose=self._verbose)
        if before is not None:
            for name, frame in self.views.items():
                frame().createOrReplaceTempView(name)
        return self._spark

    # the protocol of engines

    def rows(self, question: Question, limit: int | None = None) -> Iterator[pa.RecordBatch]:
        frame = self.frame(question)
        with self._understood(question):
            if limit is not None:
                yield _batch(interruptible(self.session(), lambda: frame.take(limit)))
                return
            rows = iterate_rows(frame)
            while batch := list(islice(rows, _BATCH)):
                yield _batch(batch)

    def items(self, question: Question) -> list[str]:
        with self._understood(question):
            spark = self.session()
            if question.compiled is None:
                frame = self.frame(question).select("item")
            else:
                # all items are in memory here; sorting them is faster than a sort in Spark
                frame = self._analysed_items(question, question.compiled)
            try:
                return interruptible(spark, lambda: items_in_order(frame.toArrow()))
            except BaseException:
                # do not run an interrupted plan again
                self._frames.clear()
                raise

    def count(self, question: Question) -> int:
        frame = self.frame(question)
        with self._understood(question):
            return interruptible(self.session(), frame.count)

    def write_parquet(self, question: Question, types: Mapping[Place, str], folder: Path) -> None:
        frame = self.frame(question)
        target = str(folder.absolute())  # Java may have another working folder
        with self._understood(question):
            interruptible(self.session(), lambda: record_frame(frame, types).write.parquet(target))

    def copies(
        self, store: PinnedStore, stream: str, now: datetime, at: datetime | None = None
    ) -> Iterator[Copy]:
        with understood():
            frame = copies_frame(self.session(), store, stream, now, at).orderBy("key")
            for row in iterate_rows(frame, ahead=True):
                yield Copy(*row)

    # DataFrames

    def frame(self, question: Question) -> DataFrame:
        """Items with lifespans, in columns unique to this DataFrame, so that users can join it."""
        with self._understood(question):
            self.check_frames(question.frames)
            compiled = question.compiled
            if compiled is None:
                return caq_frame(self.session(), question)
            return self._analysed(
                question, compiled, compiled.sql, self._opened(question, compiled)
            )

    def table(self, question: Question, types: Mapping[Place, str]) -> DataFrame:
        """The answer with one column per attribute and child of its elements."""
        frame = self.frame(question)
        with self._understood(question):
            return interruptible(self.session(), lambda: record_frame(frame, types))

    @staticmethod
    def check_frames(frames: Mapping[str, DataFrame]) -> None:
        """Raise an error if a DataFrame belongs to a Spark that has ended."""
        for name, frame in frames.items():
            if has_ended(frame.sparkSession):
                raise error(
                    "XCQL0505",
                    f"the DataFrame of the variable ${name} was lost when its Spark ended",
                    hints=[
                        "create the DataFrame again with session.spark, and run the query again"
                    ],
                )

    def files(self, store: Path, files: Sequence[DataFile], schema: pa.Schema) -> DataFrame:
        """The rows of Parquet files of a store."""
        return files_frame(self.session(), store, files, schema)

    def _analysed_items(self, question: Question, compiled: Compiled) -> DataFrame:
        """The items alone; reuses an earlier analysed plan if nothing has changed."""
        text = compiled.items or compiled.sql
        state = question.store.state
        in_one_task = runs_in_one_task(compiled, state)

        def analysed() -> DataFrame:
            tables = self._opened(question, compiled)
            if in_one_task:
                tables = {name: table.coalesce(1) for name, table in tables.items()}
            return self._analysed(question, compiled, text, tables)

        if compiled.evaluations or question.frames:
            return analysed()
        # the same text may read other tables: it only contains their names
        key = text, compiled.tables, question.around.now if ":now" in text.slots else None
        run = self._frames.get(
            (self.session(), state), key, lambda: repeatable(analysed(), compiled, in_one_task)
        )
        return run()

    def _opened(self, question: Question, compiled: Compiled) -> dict[str, DataFrame]:
        spark, store = self.session(), question.store
        # cached, so that files are listed and schemas read only once
        opened = partial(table_in_use, spark, store)
        of = spark, store.state
        return {
            use.name: self._tables.get(of, use, partial(opened, use)) for use in compiled.tables
        }

    def _analysed(
        self,
        question: Question,
        compiled: Compiled,
        text: SqlText,
        tables: dict[str, DataFrame],
    ) -> DataFrame:
        spark, around = self.session(), question.around
        try:
            with registered(spark, compiled.evaluations, around) as functions:
                return run_sql(spark, text, tables, around.now, functions)
        except (PySparkException, Py4JError) as problem:
            if "spark.sql.analyzer.maxIterations" not in str(problem):
                raise
        # a user's session, with Spark's default limit: the evaluator has none
        raise NeedsEvaluator("the plan is deeper than spark.sql.analyzer.maxIterations allows")

    def _understood(self, question: Question) -> AbstractContextManager[None]:
        sites = question.compiled.sites if question.compiled else ()
        return understood(question.around.query, sites)


def _batch(rows: Sequence[Row]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(ANSWER)
    arrays = [pa.array(one, field.type) for one, field in zip(columns, ANSWER, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ANSWER)
