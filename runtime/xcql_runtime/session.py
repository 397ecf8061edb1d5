"""The session: a store, the engines that answer queries over it, and the operations on it.

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
from typing import TYPE_CHECKING, Any, Literal, Self

from xcql.check import Checked, check
from xcql.compile.literals import Reusable
from xcql.diagnostics import Diagnostic, error
from xcql.evaluate import prepare
from xcql.model.tags import TagStructure, read_tags
from xcql.model.time import parse_time, to_utc
from xcql.shred.tables import QUARANTINE
from xcql.source import Source
from xcql.strategies import STRATEGIES, Strategy
from xcql.temporary import temporary_folder
from xcql_runtime.answers.answer import Answer, Compilation, Request
from xcql_runtime.answers.temporalize import temporalize
from xcql_runtime.cache import Cache
from xcql_runtime.embedded.connection import limits
from xcql_runtime.engines import EngineName, Engines, unknown_choice
from xcql_runtime.evaluator.answering import Surroundings
from xcql_runtime.evaluator.externals import ExternalFunction, external_function, split_variables
from xcql_runtime.store_reader import StoreReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from xcql.continuous import Figures
    from xcql.importing.importer import ImportSummary, Progress
    from xcql.importing.revisions import HistorySource
    from xcql.publish.addresses import KafkaAddress
    from xcql.publish.play import Pace
    from xcql.store.ingest import IngestSummary
    from xcql.store.processes import Run
    from xcql.store.upkeep import StoreInfo
    from xcql_runtime.streaming.handle import StreamHandle
    from xcql_runtime.streaming.sources.table import SourceLike
    from xcql_runtime.streaming.start import SinkLike, Tags


class Session:
    """A store, opened with the engines that answer queries over it.

    `engine` is `"embedded"` (DuckDB in this process), `"spark"`, or `"auto"`, which takes the
    embedded engine unless a query reads too much for one machine or Spark was asked for; the
    default is that of `XCQL_ENGINE`, or else `"auto"`. `memory` (such as `"4g"`) and `threads` are
    limits of the embedded engine, which spills to disk.

    `spark` is used and left unchanged. Without it, a quiet local session is started when one is
    needed, and restarted if its Java has ended; with `verbose` it shows Spark's log.
    """

    def __init__(
        self,
        store: str | Path,
        spark: SparkSession | None = None,
        *,
        engine: EngineName | None = None,
        memory: str | None = None,
        threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.store = Path(store)
        self._engines = Engines(engine, spark, limits(memory, threads), verbose=verbose)
        self._reader = StoreReader(self.store)
        self._checked = Cache[Checked](200)
        self._compiled = Cache[Compilation](200)
        # compiled queries by what they look like without their literals
        self._shapes = Cache[list[Reusable]](200)
        self._functions: dict[str, ExternalFunction] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back the memory of the embedded engine; the session can be used again."""
        self._engines.close()

    @property
    def engine(self) -> str:
        """The engine that was requested: `auto`, `embedded` or `spark`."""
        return self._engines.asked

    def use_engine(self, name: str) -> None:
        """Request another engine for the queries that follow."""
        self._engines.ask_for(name)

    @staticmethod
    def prepare() -> Path:
        """Make Spark start faster from now on, as `xcqlc prepare` does; return the archive's path.

        This takes half a minute, once per version of Java and Spark.
        """
        # Spark is slow to import
        from xcql_runtime.spark.class_archive import make_archive

        return make_archive()

    @property
    def spark(self) -> SparkSession:
        """The Spark session; if xcql started it and its Java has ended, it is restarted."""
        return self._engines.spark.session()

    def ingest(
        self,
        path: str | Path | Iterable[str | Path],
        *,
        stream: str,
        tags: TagStructure | str | Path | None = None,
        strict: bool = False,
    ) -> IngestSummary:
        """Add fragment files (files, folders, gzip) to a stream: all of them, or none.

        `tags` is a Tag Structure or the path of one; an existing stream already has one. With
        `strict`, an invalid fragment is an error, and the store stays unchanged.
        """
        from xcql.store.ingest import ingest  # queries do not need it, and start without it
        from xcql.store.input_files import find_files  # likewise

        if isinstance(tags, str | Path):
            tags = read_tags(tags)
        with self._running() as run:
            return ingest(self.store, find_files(path), stream, tags, run, self._cores, strict)

    def import_history(
        self,
        source: HistorySource,
        *,
        stream: str,
        temporal: Sequence[str] = (),
        event: Sequence[str] = (),
        key: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> ImportSummary:
        """Import what is new in a source: `GitHistory` or `Snapshots`, in `xcql.importing`.

        `temporal` and `event` are paths of elements with a history, `key` tells how elements are
        recognised: `//planet=name[1]`.
        """
        from xcql.importing.importer import Choices, import_history  # as for `ingest`

        choices = Choices(tuple(temporal), tuple(event), tuple(key))
        with self._running() as run:
            return import_history(
                self.store, source, stream, choices, run, self._cores, progress or (lambda *_: None)
            )

    @classmethod
    @contextmanager
    def temporary(
        cls,
        streams: Mapping[str, tuple[str | Path, TagStructure | str | Path]],
        spark: SparkSession | None = None,
        *,
        engine: EngineName | None = None,
        memory: str | None = None,
        threads: int | None = None,
        verbose: bool = False,
    ) -> Iterator[Session]:
        """A session over streams in files; each stream is a pair of fragments and tags.

        >>> files = {"bids": ("bids.xml", "tags.xml")}                    # doctest: +SKIP
        >>> with xcql.Session.temporary(files) as session:                # doctest: +SKIP
        ...     session.query('count(stream("bids")//bid)').to_xml()

        Its store is a folder that is removed when the block ends. An invalid fragment is an
        error.
        """
        with (
            temporary_folder() as folder,
            cls(
                folder / "store",
                spark,
                engine=engine,
                memory=memory,
                threads=threads,
                verbose=verbose,
            ) as session,
        ):
            for name, (fragments, tags) in streams.items():
                session.ingest(fragments, stream=name, tags=tags, strict=True)
            yield session

    @contextmanager
    def _running(self) -> Iterator[Run]:
        """Give a function that runs pieces of work: on this machine's cores, or on a remote Spark.

        The remote Spark is only started when there is work to do.
        """
        from xcql.store.processes import on_cores  # queries start faster without it

        workers = self._engines.workers()
        if workers is not None:
            yield workers
        else:
            with on_cores(self._cores) as run:
                yield run

    @property
    def _cores(self) -> int:
        return os.cpu_count() or 1

    def temporalize(
        self, stream: str, *, at: str | datetime | None = None, now: str | datetime | None = None
    ) -> Iterator[str]:
        """The temporal view of a stream as XML, or the document `at` an instant.

        The text comes in pieces, to be written one after the other, because it may be large.
        """
        store = self._reader.read()
        store.state.stream(stream)  # an unknown stream is an error here, not when the text is read
        engine = self._engines.preferred().engine
        return temporalize(engine, store, stream, _instant_or_now(now), _instant(at))

    def query(
        self,
        text: str | Source | Checked,
        strategy: Strategy = "auto",
        now: str | datetime | None = None,
        variables: Mapping[str, Any] | None = None,
        context: str | None = None,
    ) -> Answer:
        """The answer of a query, computed on demand.

        >>> session.query(                                                # doctest: +SKIP
        ...     "declare variable $limit external; stream('s')//bid[price > $limit]",
        ...     variables={"limit": 40},
        ... ).to_xml()

        Errors that can be found without data are raised here. `now` is the instant of evaluation;
        it defaults to the wall clock at this call. `variables` are the values of external
        variables: numbers, text, times, or lists of them. Text that starts with `<` is a document;
        a `Path` is the document in that file; a DataFrame is a sequence of `<row>` elements with
        one child per column. `context` is the stream whose document is the context item, so that
        `//bid` means `stream("s")//bid`.
        """
        if strategy not in STRATEGIES:
            raise unknown_choice("strategy", strategy, STRATEGIES)
        source = Source(text) if isinstance(text, str) else text
        if isinstance(source, Checked):
            source = source.source
        functions = dict(self._functions)
        known = source.text, source.name
        # a query that passed the check passes it again, unless its functions have changed
        query = self._checked.get(
            tuple(functions.items()), known, lambda: _without_errors(check(text), functions)
        )
        values, frames = split_variables(variables or {})
        if frames:
            self._engines.spark.check_frames(frames)
        store = self._reader.read()
        if context is not None:
            store.state.stream(context)  # raises if the stream does not exist
        query = query.over({name: one.tags for name, one in store.state.streams.items()}, context)
        around = Surroundings(source, _instant_or_now(now), values, functions, os.getcwd(), context)
        request = Request(query, strategy, store, around, frames, self._compiled, self._shapes)
        return Answer(self._engines, request)

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
        max_fragments: int | None = None,
        progress: Callable[[Figures], None] | None = None,
        warn: Callable[[Diagnostic], None] | None = None,
    ) -> StreamHandle:
        """Keep the answer of a query up to date while fragments arrive, until it is stopped.

        >>> running = session.stream(                                     # doctest: +SKIP
        ...     'count(stream("bids")//bid?[now-PT1H,now])',
        ...     source="tcp://localhost:9000", tags="tags.xml", sink=print,
        ... )
        >>> running.await_termination(60), running.answer()               # doctest: +SKIP

        `source` is the source of the query's only stream, or a mapping with one per stream: a
        folder that files are dropped into (`dir:FOLDER`, or just the path), `tcp://host:port` (one
        fragment per line), `kafka://broker:port/topic`, or a streaming DataFrame with a text
        column. The query starts with the fragments of the stream that are already in the store.

        `now` is the wall clock at each trigger, or, with `"event"`, the largest validTime seen.
        `trigger` says how often Spark checks for new data (`"1 second"`); with `"once"` the query
        processes all available data and ends. `checkpoint` is the folder to resume from after a
        stop or a crash. At most `max_fragments` are processed at once (by default 10,000).

        `sink` receives the updates of the answer. It is one or several of: a function, called with
        the updates of each batch; `"parquet:FOLDER"`, a change log; `"kafka://broker:port/topic"`;
        or a sink from `xcql_runtime.streaming.sinks`. `progress` is called with the figures of each
        batch; `warn` is called before the start with each warning, such as state that grows without
        bound. Without `warn`, these are Python warnings.
        """
        # Spark is slow to import
        from xcql_runtime.streaming.start import MAX_FRAGMENTS, StreamRequest, start

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
            max_fragments or MAX_FRAGMENTS,
            values,
            functions,
            progress,
            warn,
        )
        # batches are frequent; a progress bar for each would disturb the display
        quiet = {"spark.ui.showConsoleProgress": "false"}
        spark = self._engines.spark.session(quiet)
        return start(spark, self.store, self._reader.read().state, request)

    def publish(
        self, fragments: Iterator[bytes], address: KafkaAddress, pace: Pace | None = None
    ) -> int:
        """Play fragments to a Kafka topic; return how many were sent."""
        from xcql.publish.play import Pace  # only this needs it
        from xcql_runtime.streaming.sources.kafka import publish  # Spark is slow to import

        return publish(self.spark, fragments, address, pace or Pace())

    def register(
        self,
        name: str,
        function: Callable[..., Any],
        returns: str | None = None,
        vectorised: bool = False,
    ) -> None:
        """Let queries call a Python function by name, without a prefix.

        >>> session.register("distance", lambda a, b: abs(a - b), returns="xs:double")
        ...                                                               # doctest: +SKIP

        It gets atomic values as Python values: None for an empty sequence, a list for several.
        Its result is cast to `returns`. A `vectorised` function gets Arrow arrays and returns an
        array of the same length. The function must be serializable, to be sent to Spark's workers.
        """
        self._functions[name] = external_function(name, function, returns, vectorised)

    def create_view(self, name: str, query: Answer | str) -> None:
        """Register an answer as a temporary view of the Spark session, for use in SQL.

        >>> session.create_view("bids", 'stream("s")//bid')               # doctest: +SKIP
        >>> spark.sql("SELECT count(*) FROM bids WHERE vtTo IS NULL")     # doctest: +SKIP
        """
        answer = query if isinstance(query, Answer) else self.query(query)
        answer.df.createOrReplaceTempView(name)
        self._engines.spark.views[name] = lambda: answer.df

    def quarantine(self, stream: str) -> DataFrame:
        """The rejected fragments of a stream: `file`, byte `offset`, `reason`, and bytes `raw`.

        A reason starts with its kind: `malformed: …`, `tag conflict: …`.
        """
        files = self._reader.read().state.stream(stream).quarantine
        return self._engines.spark.files(self.store, files, QUARANTINE)

    def info(self) -> StoreInfo:
        """Describe the contents of the store; prints as a table."""
        from xcql.store.upkeep import info  # queries start faster without it

        return info(self.store)

    def verify(self) -> list[str]:
        """List the problems of the store, one sentence each; empty if there are none."""
        from xcql.store.verify import verify  # queries start faster without it

        return verify(self.store)

    def repair(self) -> list[str]:
        """Repair a damaged store without deleting anything; list the repairs, one sentence each."""
        from xcql.store.repair import repair  # queries start faster without it

        with self._running() as run:
            return repair(self.store, run, self._cores)

    def compact(self) -> int:
        """Merge the files of every table into few; return how many files were removed."""
        from xcql.store.upkeep import compact  # queries start faster without it

        with self._running() as run:
            return compact(self.store, run, self._cores)

    def vacuum(self) -> int:
        """Remove files that no longer belong to the store; return how many."""
        from xcql.store.upkeep import vacuum  # queries start faster without it

        return vacuum(self.store)

    def streams(self) -> list[str]:
        """The names of the store's streams, sorted."""
        return sorted(self._reader.read().state.streams)

    def tags(self, stream: str) -> TagStructure:
        """The Tag Structure of a stream."""
        return self._reader.read().state.stream(stream).tags


def _without_errors(query: Checked, functions: Mapping[str, ExternalFunction]) -> Checked:
    """The query, after raising any error that can be found without data."""
    prepare(query, functions)
    return query


def _instant(time: str | datetime | None) -> datetime | None:
    if isinstance(time, str):
        return parse_time(time)
    return None if time is None else to_utc(time)


def _instant_or_now(time: str | datetime | None) -> datetime:
    return _instant(time) or datetime.now(UTC).replace(tzinfo=None)
