"""The session: a store and a Spark session, and what can be asked of them.

>>> import xcql
>>> session = xcql.Session(store="auctions")                                     # doctest: +SKIP
>>> print(session.ingest("bids.xml", stream="bids", tags="tags.xml"))            # doctest: +SKIP
stream 'bids': 120 filler; commit 1
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from xcql.check import Checked, check
from xcql.continuous import Figures
from xcql.diagnostics import Diagnostic, error
from xcql.evaluate import prepare
from xcql.model.tags import TagStructure, read_tags
from xcql.model.time import parse_time, to_utc
from xcql.publish.addresses import KafkaAddress
from xcql.publish.play import Pace
from xcql.shred.tables import QUARANTINE
from xcql.source import Source
from xcql.store.commit import read_state
from xcql.store.ingest import IngestSummary, ingest
from xcql.store.input_files import find_files
from xcql.store.processes import Run, on_cores
from xcql.store.repair import repair
from xcql.store.upkeep import StoreInfo, compact, info, vacuum
from xcql.store.verify import verify
from xcql.temporary import temporary_folder
from xcql_runtime.answers.answer import Answer, Request, Strategy, unknown_choice
from xcql_runtime.answers.cache import SessionCache
from xcql_runtime.evaluator.externals import (
    ExternalFunction,
    check_frames,
    external_function,
    split_variables,
)
from xcql_runtime.evaluator.worker import Surroundings
from xcql_runtime.spark.class_archive import make_archive
from xcql_runtime.spark.java_process import has_ended, keep_quiet
from xcql_runtime.spark.jobs import on_workers
from xcql_runtime.spark.start import ended, is_here, local_session
from xcql_runtime.streaming.handle import StreamHandle
from xcql_runtime.streaming.sources.kafka import publish
from xcql_runtime.streaming.sources.table import SourceLike
from xcql_runtime.streaming.start import MAX_FRAGMENTS, SinkLike, StreamRequest, Tags, start
from xcql_runtime.tables.frames import files_frame
from xcql_runtime.tables.store_reader import StoreReader
from xcql_runtime.tables.temporalize import temporalize

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Session:
    """A store, opened with a Spark session.

    `spark` is used as it is and left as it was; without it a quiet local session is made when
    one is needed, and again if its Java has ended; with `verbose` it logs what Spark logs.
    """

    def __init__(
        self, store: str | Path, spark: SparkSession | None = None, *, verbose: bool = False
    ) -> None:
        self.store = Path(store)
        self._verbose = verbose
        self._is_given = spark is not None
        self._spark = spark
        if spark is not None:
            keep_quiet(spark)
        self._views: dict[str, Answer] = {}
        self._reader = StoreReader(self.store)
        self._cache = SessionCache()
        self._functions: dict[str, ExternalFunction] = {}

    @staticmethod
    def prepare() -> Path:
        """Let Spark start sooner from now on, as `xcqlc prepare` does; the file that is kept.

        It takes half a minute, once for each Java and each Spark.
        """
        return make_archive()

    @property
    def spark(self) -> SparkSession:
        """The Spark session; one that was started here is started again if its Java has ended."""
        return self._running_spark()

    def _running_spark(self, settings: Mapping[str, str] | None = None) -> SparkSession:
        before = self._spark
        if before is not None and not has_ended(before):
            return before
        if self._is_given:
            raise ended()
        self._spark = local_session(settings=settings, verbose=self._verbose)
        if before is not None:
            for name, answer in self._views.items():
                answer.df.createOrReplaceTempView(name)
        return self._spark

    def ingest(
        self,
        path: str | Path | Iterable[str | Path],
        *,
        stream: str,
        tags: TagStructure | str | Path | None = None,
        strict: bool = False,
    ) -> IngestSummary:
        """Add fragment files (files, folders, gzip) to a stream; all of them, or none.

        `tags` is a Tag Structure or the path of one; a stream that is there already has one. With
        `strict` a fragment that is no good is an error, and the store is left as it was.
        """
        if isinstance(tags, str | Path):
            tags = read_tags(tags)
        with self._running() as run:
            return ingest(self.store, find_files(path), stream, tags, run, self._cores, strict)

    @classmethod
    @contextmanager
    def temporary(
        cls,
        streams: Mapping[str, tuple[str | Path, TagStructure | str | Path]],
        spark: SparkSession | None = None,
        *,
        verbose: bool = False,
    ) -> Iterator[Session]:
        """A session over streams in files, each a pair of fragments and tags.

        >>> files = {"bids": ("bids.xml", "tags.xml")}                    # doctest: +SKIP
        >>> with xcql.Session.temporary(files) as session:                # doctest: +SKIP
        ...     session.query('count(stream("bids")//bid)').to_xml()

        Its store is a folder that goes when the block ends. A fragment that is no good is an
        error.
        """
        with temporary_folder() as folder:
            session = cls(folder / "store", spark, verbose=verbose)
            for name, (fragments, tags) in streams.items():
                session.ingest(fragments, stream=name, tags=tags, strict=True)
            yield session

    @contextmanager
    def _running(self) -> Iterator[Run]:
        """What runs pieces of work: this machine's cores, or those of the Spark that is elsewhere.

        That is started when there is something to do.
        """
        if is_here(self._spark):
            with on_cores(self._cores) as run:
                yield run
        else:
            yield lambda function, pieces: on_workers(self.spark)(function, pieces)

    @property
    def _cores(self) -> int:
        return os.cpu_count() or 1

    def temporalize(
        self, stream: str, *, at: str | datetime | None = None, now: str | datetime | None = None
    ) -> Iterator[str]:
        """The temporal view of a stream as XML, or the document as it was `at` an instant.

        The text comes in pieces, to be written one after the other: it may be large.
        """
        found = read_state(self.store).stream(stream)
        return temporalize(self.spark, self.store, found, _instant_or_now(now), _instant(at))

    def query(
        self,
        text: str | Source | Checked,
        strategy: Strategy = "auto",
        now: str | datetime | None = None,
        variables: Mapping[str, Any] | None = None,
        context: str | None = None,
    ) -> Answer:
        """The answer of a query, computed when it is asked for.

        >>> session.query(                                                # doctest: +SKIP
        ...     "declare variable $limit external; stream('s')//bid[price > $limit]",
        ...     variables={"limit": 40},
        ... ).to_xml()

        Errors that need no data to be seen are raised here. `now` is the instant of evaluation,
        by default the wall clock's at this call. `variables` are the values of external
        variables: numbers, text, times, lists of them; text that starts with `<` is a document,
        a `Path` the document in that file; a DataFrame is a sequence of `<row>` elements with a
        child for each column. `context` is the stream whose document is the context item, so that
        `//bid` stands for `stream("s")//bid`.
        """
        if strategy not in get_args(Strategy):
            raise unknown_choice("strategy", strategy, get_args(Strategy))
        source = Source(text) if isinstance(text, str) else text
        if isinstance(source, Checked):
            source = source.source
        functions = dict(self._functions)
        known = source.text, source.name
        # a query that was right is so again, but not if its functions have changed
        query = self._cache.checked.get(
            tuple(functions.items()), known, lambda: _without_errors(check(text), functions)
        )
        values, frames = split_variables(variables or {})
        check_frames(frames)
        state, catalog = self._reader.read()
        if context is not None:
            state.stream(context)  # an error if there is none
        query = query.over({name: one.tags for name, one in state.streams.items()}, context)
        around = Surroundings(source, _instant_or_now(now), values, functions, os.getcwd(), context)
        return Answer(
            lambda: self.spark,
            Request(query, strategy, self.store, self._cache, state, catalog, around, frames),
        )

    def stream(
        self,
        query: str | Source | Checked,
        source: SourceLike | Mapping[str, SourceLike],
        *,
        tags: Tags | Mapping[str, Tags] | None = None,
        now: Literal["wall", "event"] = "wall",
        trigger: str | None = None,
        checkpoint: str | Path | None = None,
        sink: SinkLike | Sequence[SinkLike] | None = None,
        variables: Mapping[str, Any] | None = None,
        max_fragments: int = MAX_FRAGMENTS,
        progress: Callable[[Figures], None] | None = None,
        warn: Callable[[Diagnostic], None] | None = None,
    ) -> StreamHandle:
        """Keep the answer of a query up to date while fragments come, until it is stopped.

        >>> running = session.stream(                                     # doctest: +SKIP
        ...     'count(stream("bids")//bid?[now-PT1H,now])',
        ...     source="tcp://localhost:9000", tags="tags.xml", sink=print,
        ... )
        >>> running.await_termination(60), running.answer()               # doctest: +SKIP

        `source` is where the query's only stream comes from, or a mapping that tells it for each: a
        folder that files are dropped into (`dir:FOLDER`, or just the path), `tcp://host:port` (a
        fragment a line), `kafka://broker:port/topic`, or a streaming DataFrame with a text column.
        What the store has of a stream is history: the query begins with it.

        `now` is the wall clock at each trigger, or, with `"event"`, the largest validTime seen.
        `trigger` says how often Spark looks for what came (`"1 second"`), or `"once"`: all that is
        there, and then the end. `checkpoint` is the folder to go on from after an end or a crash.
        At most `max_fragments` are taken in at once.

        `sink` gets the updates of the answer; one, or several: a function, which is called with
        those of each batch; `"parquet:FOLDER"`, a change log; `"kafka://broker:port/topic"`; or
        one of `xcql_runtime.streaming.sinks`. `progress` is called with the figures of each batch,
        `warn` before the start with what is odd, such as state that grows for ever; without it,
        that is a Python warning.
        """
        values, frames = split_variables(variables or {})
        if frames:
            raise error(
                "XCQL0734",
                f"the variable ${next(iter(frames))} of a continuous query cannot be a DataFrame",
                hints=["collect its rows, or make it a stream"],
            )
        functions = dict(self._functions)
        when = now, trigger, checkpoint
        request = StreamRequest(
            check(query),
            source,
            tags,
            *when,
            sink,
            max_fragments,
            values,
            functions,
            progress,
            warn,
        )
        # batches come and go; a bar for each would be in the way of what is shown
        quiet = {"spark.ui.showConsoleProgress": "false"}
        return start(self._running_spark(quiet), self.store, read_state(self.store), request)

    def publish(
        self, fragments: Iterator[bytes], address: KafkaAddress, pace: Pace | None = None
    ) -> int:
        """Play fragments to a Kafka topic; how many went out."""
        return publish(self.spark, fragments, address, pace or Pace())

    def register(
        self,
        name: str,
        function: Callable[..., Any],
        returns: str | None = None,
        vectorised: bool = False,
    ) -> None:
        """Let queries call a Python function by a name, without a prefix.

        >>> session.register("distance", lambda a, b: abs(a - b), returns="xs:double")
        ...                                                               # doctest: +SKIP

        It gets atomic values as Python values: None for an empty sequence, a list for several.
        What it returns is cast to `returns`. A `vectorised` one gets Arrow arrays, and returns an
        array as long as they are. It must be one that can be sent to Spark's workers.
        """
        self._functions[name] = external_function(name, function, returns, vectorised)

    def create_view(self, name: str, query: Answer | str) -> None:
        """Make an answer a temporary view of the Spark session, for SQL to look at.

        >>> session.create_view("bids", 'stream("s")//bid')               # doctest: +SKIP
        >>> spark.sql("SELECT count(*) FROM bids WHERE vtTo IS NULL")     # doctest: +SKIP
        """
        answer = query if isinstance(query, Answer) else self.query(query)
        answer.df.createOrReplaceTempView(name)
        self._views[name] = answer

    def quarantine(self, stream: str) -> DataFrame:
        """What was not accepted of a stream: `file`, byte `offset`, `reason`, and its bytes, `raw`.

        A reason begins with its kind: `malformed: …`, `tag conflict: …`.
        """
        files = read_state(self.store).stream(stream).quarantine
        return files_frame(self.spark, self.store, files, QUARANTINE)

    def info(self) -> StoreInfo:
        """What the store holds; prints as a table."""
        return info(self.store)

    def verify(self) -> list[str]:
        """What is wrong with the store, one sentence each; nothing, if all is well."""
        return verify(self.store)

    def repair(self) -> list[str]:
        """Make a damaged store sound, and delete nothing; what was done, one sentence each."""
        with self._running() as run:
            return repair(self.store, run, self._cores)

    def compact(self) -> int:
        """Put the rows of every table into few files; how many files went."""
        with self._running() as run:
            return compact(self.store, run, self._cores)

    def vacuum(self) -> int:
        """Remove what no longer belongs to the store; how many files went."""
        return vacuum(self.store)

    def streams(self) -> list[str]:
        """The names of the store's streams, sorted."""
        return sorted(read_state(self.store).streams)

    def tags(self, stream: str) -> TagStructure:
        """The Tag Structure of a stream."""
        return read_state(self.store).stream(stream).tags


def _without_errors(query: Checked, functions: Mapping[str, ExternalFunction]) -> Checked:
    """The query, without errors that need no data to be seen."""
    prepare(query, functions)
    return query


def _instant(time: str | datetime | None) -> datetime | None:
    if isinstance(time, str):
        return parse_time(time)
    return None if time is None else to_utc(time)


def _instant_or_now(time: str | datetime | None) -> datetime:
    return _instant(time) or datetime.now(UTC).replace(tzinfo=None)
