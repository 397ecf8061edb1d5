"""The answer of a query; nothing runs until a result is requested."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from xcql.check import Checked
from xcql.compile import Compiled, NotNative, compile_query
from xcql.compile.catalog import Catalog
from xcql.diagnostics import Diagnostic, error
from xcql.dialects.slots import SqlText
from xcql.explain import Explanation, explained
from xcql.store.state import StoreState
from xcql_runtime.answers.cache import SessionCache
from xcql_runtime.answers.execution import repeatable, runs_in_one_task
from xcql_runtime.answers.records import record_frame
from xcql_runtime.evaluator.caq import caq_frame, streams_of
from xcql_runtime.evaluator.externals import as_externals, check_frames
from xcql_runtime.evaluator.sql_functions import registered
from xcql_runtime.evaluator.worker import Surroundings
from xcql_runtime.spark.failures import understood
from xcql_runtime.spark.jobs import interruptible, iterate_rows
from xcql_runtime.tables.open_tables import run_sql, table_in_use

Strategy = Literal["auto", "caq", "qac", "qac+"]
Mode = Literal["plan", "algebra", "sql", "spark"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """A query that has passed all static checks, and everything needed to answer it."""

    query: Checked
    strategy: Strategy
    store: Path
    cache: SessionCache
    state: StoreState
    catalog: Catalog
    surroundings: Surroundings
    frames: Mapping[str, DataFrame]


class Answer:
    """The answer of `session.query(…)`: a DataFrame when you want one, XML when you want that.

    >>> answer = session.query('stream("credit")//account/customer')       # doctest: +SKIP
    >>> answer.count(), answer.first(1)                                    # doctest: +SKIP
    (2, ['<customer>Ann &amp; Co</customer>'])

    Each call runs the query again, at the same `now` and over the same commit of the store. Errors
    of the query are `XcqlError`s with a position in its text; errors of actions on `.df` are
    Spark's own, with the same message in their text.
    """

    def __init__(self, spark: Callable[[], SparkSession], request: Request) -> None:
        self._spark = spark
        self._request = request
        self._compiled, self._reasons = _compiled(request)
        # together with its session: after Java has ended there is a new one
        self._made: tuple[SparkSession, DataFrame] | None = None

    @property
    def strategy(self) -> str:
        """The strategy that answers it: `caq`, `qac` or `qac+`."""
        return "caq" if self._compiled is None else self._compiled.strategy

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why this strategy was chosen."""
        return self._reasons

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings about the query: old spellings that have a standard form."""
        return self._request.query.module.warnings

    @property
    def df(self) -> DataFrame:
        """One row per item, in the order of the answer: `item`, `vtFrom`, `vtTo`.

        `item` is its XML. The lifespan is the item's own, or else one that covers its content;
        NULL stands for `start`, for `now`, and for the lifespan of atomic values.
        """
        return self._in_session()[1]

    def _in_session(self) -> tuple[SparkSession, DataFrame]:
        with self._understood():
            spark = self._spark()
            if self._made is None or self._made[0] is not spark:
                self._made = spark, self._frame(self._rows)
            return self._made

    def table(self) -> DataFrame:
        """One row per item, with one column per attribute and child of the elements.

        Elements with attributes or children become structs; repeated elements become arrays. Text
        beside attributes or children goes into the column `value`, and so does an item that is not
        an element. Values that the query computes keep their type, such as BIGINT for `count()`;
        the text of the stream's own elements is STRING.
        """
        return self._run(self._records)

    def to_xml(self) -> list[str]:
        """All items as XML, each by itself."""
        if self._compiled is None:
            return _in_order(self._run(lambda df: df.select("item").toArrow()))
        with self._understood():
            # all items are in memory here; sorting them is faster than a sort in Spark
            spark = self._spark()
            frame = self._frame(self._items)
            try:
                return interruptible(spark, lambda: _in_order(frame.toArrow()))
            except BaseException:
                # do not run an interrupted plan again
                self._request.cache.frames.clear()
                raise

    def items(self) -> Iterator[str]:
        """The items as XML, one at a time, without holding all of them in memory."""
        frame = self.df
        with self._understood():
            for row in iterate_rows(frame.select("item")):
                yield row["item"]

    def records(self, limit: int | None = None) -> tuple[list[str], Iterator[list[Any]]]:
        """The columns of `table()`, and its rows: text, with lists and dicts where values nest.

        With a limit, only that many rows are computed.
        """
        frame = self.table()
        if limit is not None:
            frame = frame.limit(limit)

        def rows() -> Iterator[list[Any]]:
            with self._understood():
                for row in iterate_rows(frame):
                    yield list(row.asDict(recursive=True).values())

        return frame.columns, rows()

    def write_parquet(self, folder: str | Path) -> None:
        """Write `table()` as Parquet files into a new folder; the answer may be of any size."""
        target = str(Path(folder).absolute())  # Java may have another working folder
        self._run(lambda df: self._records(df).write.parquet(target))

    def first(self, n: int = 1) -> list[str]:
        """The first `n` items as XML."""
        return [row["item"] for row in self._run(lambda df: df.take(n))]

    def count(self) -> int:
        """The number of items."""
        return self._run(lambda df: df.count())

    def show(self, n: int = 20) -> None:
        """Print the first `n` items, and a note if there are more."""
        items = self.first(n + 1)
        for item in items[:n]:
            print(item)
        if len(items) > n:
            print(f"… these are the first {n}; there are more")

    def explain(self, mode: Mode = "plan") -> str:
        """How the query is answered.

        `plan`: the strategy, why it was chosen, and what the evaluator computes; `algebra`: the
        stages of the compiler; `sql`: the text that Spark runs; `spark`: Spark's own plan.
        """
        match mode:
            case "plan":
                return MultilineText("\n".join(self._plan()))
            case "algebra":
                stages = self._compiled.algebra if self._compiled else ()
                return MultilineText("\n\n".join(f"{name}\n{text}" for name, text in stages))
            case "sql":
                return MultilineText(str(self._compiled.sql) if self._compiled else "")
            case "spark":
                # `explain` of a DataFrame always prints
                with self._understood(), redirect_stdout(io.StringIO()) as printed:
                    self.df.explain("formatted")
                return MultilineText(printed.getvalue())
        raise unknown_choice("mode", mode, get_args(Mode))

    def explanation(self) -> Explanation:
        """How the query is answered, as a value; see `xcql.explain`."""
        request = self._request
        return explained(
            request.query,
            self._compiled,
            request.strategy,
            self._reasons,
            streams_of(request.query, request.state),
        )

    def __repr__(self) -> str:
        return f"<Answer by {self.strategy}: {self._request.query.source.text[:60]!r}>"

    def _plan(self) -> list[str]:
        request = self._request
        lines = [f"strategy: {self.strategy} (requested: {request.strategy})"]
        lines += [f"because: {reason}" for reason in self._reasons]
        if self._compiled is None:
            looked_at = streams_of(request.query, request.state)
            streams = ", ".join(looked_at) or "none"
            lines.append(f"views built: {streams}; the reference evaluator answers, in one task")
        else:
            for use in self._compiled.tables:
                what = " that have not ended" if use.present else ""
                lines.append(f"reads: {use.stream}, tags {', '.join(use.tags)}{what}")
            for evaluation in self._compiled.evaluations:
                place = evaluation.span
                where = f" at {place.line}:{place.column}" if place else ""
                lines.append(f"evaluated in workers{where}: {evaluation.reason}")
        return lines

    def _frame(self, analysed: Callable[[Compiled], DataFrame]) -> DataFrame:
        """The DataFrame of the compiled query, or else of the reference evaluator."""
        check_frames(self._request.frames)
        if self._compiled is not None:
            try:
                return analysed(self._compiled)
            except _TooDeep:
                # a user's session, with Spark's default limit: the evaluator has none
                self._compiled = None
                self._reasons = ("the plan is deeper than spark.sql.analyzer.maxIterations allows",)
        spark, request = self._spark(), self._request
        return caq_frame(
            spark,
            request.store,
            request.state,
            request.catalog,
            request.query,
            request.surroundings,
            request.frames,
        )

    def _items(self, compiled: Compiled) -> DataFrame:
        """The items alone; reuses an earlier analysed plan if nothing has changed."""
        text = compiled.items or compiled.sql
        request = self._request
        in_one_task = runs_in_one_task(compiled, request.state)

        def analysed() -> DataFrame:
            tables = self._tables(compiled)
            if in_one_task:
                tables = {name: table.coalesce(1) for name, table in tables.items()}
            return self._analysed(compiled, text, tables)

        if compiled.evaluations or request.frames:
            return analysed()
        of = self._spark(), request.state
        # the same text may read other tables: it only contains their names
        key = text, compiled.tables, request.surroundings.now if ":now" in text.slots else None
        run = request.cache.frames.get(
            of, key, lambda: repeatable(analysed(), compiled, in_one_task)
        )
        return run()

    def _rows(self, compiled: Compiled) -> DataFrame:
        """Items with lifespans, in columns unique to this DataFrame, so that users can join it."""
        return self._analysed(compiled, compiled.sql, self._tables(compiled))

    def _tables(self, compiled: Compiled) -> dict[str, DataFrame]:
        spark, request = self._spark(), self._request
        # cached, so that files are listed and schemas read only once
        opened = partial(table_in_use, spark, request.store, request.state)
        of, cache = (spark, request.state), request.cache.tables
        return {use.name: cache.get(of, use, partial(opened, use)) for use in compiled.tables}

    def _analysed(
        self, compiled: Compiled, text: SqlText, tables: dict[str, DataFrame]
    ) -> DataFrame:
        spark, request = self._spark(), self._request
        around = request.surroundings
        try:
            with registered(spark, compiled.evaluations, around) as functions:
                return run_sql(spark, text, tables, around.now, functions)
        except (PySparkException, Py4JError) as problem:
            if "spark.sql.analyzer.maxIterations" not in str(problem):
                raise
            raise _TooDeep from None

    def _records(self, answers: DataFrame) -> DataFrame:
        # types belong to the query: they are the same if the evaluator answers it
        native = self._compiled or _compiled(replace(self._request, strategy="auto"))[0]
        return record_frame(answers, dict(native.leaf_types) if native else {})

    def _run(self, action: Callable[[DataFrame], T]) -> T:
        spark, frame = self._in_session()
        with self._understood():
            return interruptible(spark, lambda: action(frame))

    def _understood(self) -> AbstractContextManager[None]:
        sites = self._compiled.sites if self._compiled else ()
        return understood(self._request.surroundings.query, sites)


def _in_order(table: pa.Table) -> list[str]:
    """The items of a table, sorted by its keys; NULLs come first, as in Spark."""
    keys: dict[str, pa.ChunkedArray] = {}
    for name in table.column_names:
        if name.startswith("key_"):
            if table[name].null_count:
                keys[f"has_{name}"] = table[name].is_valid()
            keys[name] = table[name]
    items = table["item"]
    if keys:
        order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
        items = items.take(order)
    found: list[str] = items.to_pylist()
    return found


class _TooDeep(Exception):
    """Spark's analyzer reached its iteration limit."""


class MultilineText(str):
    """A text of several lines, which a notebook displays as such."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _compiled(request: Request) -> tuple[Compiled | None, tuple[str, ...]]:
    """The compiled query, or None if the evaluator has to answer it; and the reasons."""
    surroundings = request.surroundings
    if request.strategy == "caq":
        return None, ("it was requested",)
    settled = request.catalog.settled(surroundings.now)
    if surroundings.values or request.frames or surroundings.functions:
        return _compile(request, settled)
    query = request.query.source
    return request.cache.compiled.get(
        request.state,
        (query.text, query.name, request.strategy, surroundings.context, settled),
        lambda: _compile(request, settled),
    )


def _compile(request: Request, settled: frozenset[str]) -> tuple[Compiled | None, tuple[str, ...]]:
    surroundings = request.surroundings
    assert request.strategy != "caq"
    try:
        compiled = compile_query(
            request.query,
            request.catalog,
            request.strategy,
            as_externals(
                surroundings.values, request.frames, surroundings.functions, surroundings.context
            ),
            settled,
        )
    except NotNative as problem:
        place = f" (line {problem.span.line})" if problem.span else ""
        return None, (problem.reason + place,)
    return compiled, compiled.reasons


def unknown_choice(what: str, given: Any, choices: tuple[Any, ...]) -> Exception:
    known = ", ".join(map(str, choices))
    return error("XCQL0501", f"unknown {what} '{given}'", hints=[f"use one of {known}"])
