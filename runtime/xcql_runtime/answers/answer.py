"""The answer of a query: on Spark or in the process, as XML, Arrow or DataFrames."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

import pyarrow as pa

from xcql.check import Checked
from xcql.compile import Compiled, NotNative, compile_parts, compile_reusable
from xcql.compile.literals import Literals, Reusable
from xcql.compile.terms.leaf_types import Place
from xcql.diagnostics import Diagnostic
from xcql.explain import Explanation, explained
from xcql.strategies import Strategy
from xcql_runtime.cache import Cache
from xcql_runtime.engine import Engine, Question
from xcql_runtime.engines import Engines, unknown_choice
from xcql_runtime.evaluator.answering import ANSWER, Surroundings
from xcql_runtime.evaluator.carried_errors import NeedsEvaluator
from xcql_runtime.evaluator.externals import as_externals
from xcql_runtime.records import Records, records_of
from xcql_runtime.store_reader import PinnedStore

if TYPE_CHECKING:
    import pandas
    import polars
    from pyspark.sql import DataFrame, SparkSession

Mode = Literal["plan", "algebra", "sql", "spark"]
T = TypeVar("T")

# a compiled query, or None if the evaluator has to answer it; and the reasons
Compilation = tuple[Compiled | None, tuple[str, ...]]
# plans that are kept of queries which differ only in literals
_MOST_ALIKE = 8


@dataclass(frozen=True, slots=True)
class Request:
    """A query that has passed all static checks, and everything needed to answer it."""

    query: Checked
    strategy: Strategy
    store: PinnedStore
    around: Surroundings
    frames: Mapping[str, DataFrame]
    cache: Cache[Compilation]
    shapes: Cache[list[Reusable]]

    def question(self, engine: Engine) -> tuple[Question, tuple[str, ...]]:
        """What to ask an engine, and why by this strategy."""
        compiled, reasons = self._compiled(engine)
        return Question(self.query, self.store, self.around, self.frames, compiled), reasons

    def _compiled(self, engine: Engine) -> Compilation:
        around = self.around
        if self.strategy == "caq":
            return None, ("it was requested",)
        settled = self.store.catalog.settled(around.now)
        if around.values or self.frames or around.functions:
            return self._compile(engine, settled)
        source = self.query.source
        key = (source.text, source.name, self.strategy, around.context, settled, engine.name)
        return self.cache.get(
            self.store.state, key, lambda: self._compile(engine, settled, key[2:])
        )

    def _compile(
        self, engine: Engine, settled: frozenset[str], key: tuple[object, ...] | None = None
    ) -> Compilation:
        """The compiled query; with a key, that of an earlier one that differs only in literals."""
        around = self.around
        assert self.strategy != "caq"
        literals = Literals(self.query.module)
        alike: list[Reusable] = []
        if key is not None:
            alike = self.shapes.get(self.store.state, (literals.shape, *key), list)
        externals = as_externals(around.values, self.frames, around.functions, around.context)
        found = next((one for one in tuple(alike) if one.fits(literals.all)), None)
        if found is None:
            try:
                found = compile_reusable(
                    self.query,
                    self.store.catalog.at(around.now),
                    self.strategy,
                    externals,
                    settled,
                    engine.dialect,
                )
            except NotNative as problem:
                place = f" (line {problem.span.line})" if problem.span else ""
                return None, (problem.reason + place,)
            if found.can_be_reused and len(alike) < _MOST_ALIKE:
                alike.append(found)
        compiled = found.filled(literals.all, literals.source, engine.dialect)
        return compiled, compiled.reasons

    def parts(self, engine: Engine, reason: str) -> Compiled | None:
        """The query for the evaluator, with the parts that SQL computes; None if there are none."""
        around = self.around
        assert self.strategy != "caq"
        try:
            return compile_parts(
                self.query,
                self.store.catalog.at(around.now),
                self.strategy,
                as_externals(around.values, self.frames, around.functions, around.context),
                self.store.catalog.settled(around.now),
                engine.dialect,
                reason,
            )
        except NotNative:
            return None


class Answer:
    """The answer of `session.query(…)`: XML, Arrow, or a DataFrame.

    >>> answer = session.query('stream("credit")//account/customer')       # doctest: +SKIP
    >>> answer.count(), answer.first(1)                                    # doctest: +SKIP
    (2, ['<customer>Ann &amp; Co</customer>'])

    Each call runs the query again, at the same `now` and over the same commit of the store. Errors
    of the query are `XcqlError`s with a position in its text. `df` and `table()` are DataFrames of
    Spark, whichever engine answers everything else; errors of actions on them are Spark's own,
    with the same message in their text.
    """

    def __init__(self, engines: Engines, request: Request) -> None:
        self._engines = engines
        self._request = request
        preferred = engines.preferred(bool(request.frames))
        self._question, self._reasons = request.question(preferred.engine)
        self._choice = engines.for_question(self._question, preferred)
        if self._choice.engine is not preferred.engine:
            self._question, self._reasons = request.question(self._choice.engine)
        # whether the evaluator answers what was compiled to SQL
        self._is_left = False
        # together with its session: after Java has ended there is a new one
        self._made: tuple[SparkSession, DataFrame] | None = None

    @property
    def engine(self) -> str:
        """The engine that answers it: `embedded` or `spark`."""
        return self._choice.engine.name

    @property
    def strategy(self) -> str:
        """The strategy that answers it: `caq`, `qac` or `qac+`."""
        compiled = self._question.compiled
        return "caq" if compiled is None else compiled.strategy

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why this strategy was chosen."""
        return self._reasons

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings about the query: old spellings that have a standard form."""
        return self._request.query.module.warnings

    # DataFrames of Spark

    @property
    def df(self) -> DataFrame:
        """One row per item, in the order of the answer: `item`, `vtFrom`, `vtTo`.

        `item` is its XML. The lifespan is the item's own, or else one that covers its content;
        NULL stands for `start`, for `now`, and for the lifespan of atomic values.
        """
        spark = self._engines.spark
        session = spark.session()
        if self._made is None or self._made[0] is not session:
            self._made = session, self._on_spark(spark.frame)
        return self._made[1]

    def table(self) -> DataFrame:
        """One row per item, with one column per attribute and child of the elements.

        Elements with attributes or children become structs; repeated elements become arrays. Text
        beside attributes or children goes into the column `value`, and so does an item that is not
        an element. Values that the query computes keep their type, such as BIGINT for `count()`;
        the text of the stream's own elements is STRING.
        """
        types = self._types()
        return self._on_spark(lambda question: self._engines.spark.table(question, types))

    def _on_spark(self, action: Callable[[Question], T]) -> T:
        """An action of Spark, for the evaluator if Spark cannot answer the query."""
        question = self._question
        if self._choice.engine.name != "spark":
            question, _ = self._request.question(self._engines.spark)
        try:
            return action(question)
        except NeedsEvaluator as need:
            if self._choice.engine.name == "spark":
                self._leave_to_evaluator(need)
            return action(replace(question, compiled=None))

    # the answer from either engine

    def to_xml(self) -> list[str]:
        """All items as XML, each by itself."""
        return self._exactly(lambda engine, question: engine.items(question))

    def items(self) -> Iterator[str]:
        """The items as XML, one at a time, without holding all of them in memory."""
        for batch in self._batches():
            yield from batch.column("item").to_pylist()

    def __iter__(self) -> Iterator[str]:
        return self.items()

    def arrow(self) -> pa.Table:
        """The rows of `df` as an Arrow table: `item`, `vtFrom`, `vtTo`."""
        return pa.Table.from_batches(self._batches(), ANSWER)

    def pandas(self) -> pandas.DataFrame:
        """The rows of `df` as a pandas DataFrame."""
        return self.arrow().to_pandas()

    def polars(self) -> polars.DataFrame:
        """The rows of `df` as a Polars DataFrame."""
        import polars  # optional

        frame = polars.from_arrow(self.arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def records(self, limit: int | None = None) -> Records:
        """The columns and rows of `table()`, as Python values or as Arrow, without Spark.

        With a limit, only that many rows are computed.
        """
        return records_of(self._batches(limit), self._types())

    def write_parquet(self, folder: str | Path) -> None:
        """Write `table()` as Parquet files into a new folder; the answer may be of any size."""
        types = self._types()
        self._exactly(lambda engine, question: engine.write_parquet(question, types, Path(folder)))

    def first(self, n: int = 1) -> list[str]:
        """The first `n` items as XML."""
        return [item for batch in self._batches(n) for item in batch.column("item").to_pylist()]

    def count(self) -> int:
        """The number of items."""
        return self._exactly(lambda engine, question: engine.count(question))

    def show(self, n: int = 20) -> None:
        """Print the first `n` items, and a note if there are more."""
        items = self.first(n + 1)
        for item in items[:n]:
            print(item)
        if len(items) > n:
            print(f"… these are the first {n}; there are more")

    def _batches(self, limit: int | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in the order of the answer.

        If it turns out in the middle that the evaluator has to answer the query, the rows that
        were already returned are left out of its answer.
        """
        returned = 0
        while True:
            known = returned
            try:
                for batch in self._choice.engine.rows(self._question, limit):
                    skipped = min(known, batch.num_rows)
                    known -= skipped
                    returned += batch.num_rows - skipped
                    yield batch.slice(skipped)
                return
            except NeedsEvaluator as need:
                self._leave_to_evaluator(need)

    def _exactly(self, action: Callable[[Engine, Question], T]) -> T:
        """An action of the engine; the evaluator answers if the engine cannot do it exactly."""
        while True:
            try:
                return action(self._choice.engine, self._question)
            except NeedsEvaluator as need:
                self._leave_to_evaluator(need)

    def _leave_to_evaluator(self, need: NeedsEvaluator) -> None:
        """Go on with the evaluator over parts that SQL computes, or else over the whole view."""
        if self._question.compiled is None:
            raise need
        engine = self._choice.engine
        parts = None if self._is_left else self._request.parts(engine, need.reason)
        self._is_left = True
        self._question = replace(self._question, compiled=parts)
        self._reasons = (need.reason,)

    def _types(self) -> Mapping[Place, str]:
        # types belong to the query: they are the same if the evaluator answers it
        engine = self._choice.engine
        native = None if self._is_left else self._question.compiled
        if native is None:
            native = replace(self._request, strategy="auto").question(engine)[0].compiled
        return dict(native.leaf_types) if native else {}

    # explanations

    def explain(self, mode: Mode = "plan") -> str:
        """How the query is answered.

        `plan`: the engine, the strategy, why they were chosen, and what the evaluator computes;
        `algebra`: the stages of the compiler; `sql`: the text that the engine runs; `spark`: the
        plan of Spark for `df`.
        """
        compiled = self._question.compiled
        match mode:
            case "plan":
                return MultilineText("\n".join(self._plan()))
            case "algebra":
                stages = compiled.algebra if compiled else ()
                return MultilineText("\n\n".join(f"{name}\n{text}" for name, text in stages))
            case "sql":
                return MultilineText(str(compiled.sql) if compiled else "")
            case "spark":
                # `explain` of a DataFrame always prints
                with redirect_stdout(io.StringIO()) as printed:
                    self.df.explain("formatted")
                return MultilineText(printed.getvalue())
        raise unknown_choice("mode", mode, get_args(Mode))

    def explanation(self) -> Explanation:
        """How the query is answered, as a value; see `xcql.explain`."""
        return explained(
            self._request.query,
            self._question.compiled,
            self._request.strategy,
            self._reasons,
            self._question.streams,
            (self.engine, self._choice.reason),
        )

    def __repr__(self) -> str:
        text = self._request.query.source.text
        return f"<Answer by {self.strategy} on {self.engine}: {text[:60]!r}>"

    def _plan(self) -> list[str]:
        request, compiled = self._request, self._question.compiled
        lines = [f"engine: {self.engine} (because {self._choice.reason})"]
        lines.append(f"strategy: {self.strategy} (requested: {request.strategy})")
        lines += [f"because: {reason}" for reason in self._reasons]
        if compiled is None:
            streams = ", ".join(self._question.streams) or "none"
            lines.append(f"views built: {streams}; the reference evaluator answers, in one task")
        else:
            for use in compiled.tables:
                what = " that have not ended" if use.present else ""
                lines.append(f"reads: {use.stream}, tags {', '.join(use.tags)}{what}")
            for evaluation in compiled.evaluations:
                place = evaluation.span
                where = f" at {place.line}:{place.column}" if place else ""
                lines.append(f"evaluated row by row{where}: {evaluation.reason}")
        return lines


class MultilineText(str):
    """A text of several lines, which a notebook displays as such."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
