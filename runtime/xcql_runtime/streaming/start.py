"""Start a continuous query: connect its sources, state and sinks."""

from __future__ import annotations

import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.utils import is_remote
from rich.console import Console

from xcql.check import Checked
from xcql.continuous import Arrival, Continuous, Figures, open_continuous
from xcql.diagnostics import Diagnostic, error
from xcql.model.tags import TagStructure, read_tags
from xcql.publish.addresses import KafkaAddress, parse_address
from xcql.store.state import StoreState, folder_name
from xcql.store.stored_fragments import fragment_texts
from xcql.temporary import new_temporary_folder
from xcql_runtime.spark.failures import understood
from xcql_runtime.spark.settings import changed
from xcql_runtime.streaming.arrivals import arrivals_of
from xcql_runtime.streaming.display import Lines, LiveDisplay
from xcql_runtime.streaming.handle import StreamHandle
from xcql_runtime.streaming.journal import SeenFiles
from xcql_runtime.streaming.sinks import Callback, KafkaTopic, ParquetLog, Sink
from xcql_runtime.streaming.sources.table import SourceLike, resolved, source_rows
from xcql_runtime.streaming.triggers import Triggers, wall_clock

Tags = TagStructure | str | Path
SinkLike = Sink | Callable[..., Any] | str

# how many fragments are processed at once
MAX_FRAGMENTS = 10_000
# how often sources are checked by default
_OFTEN = "100 milliseconds"
_NOW = ("wall", "event")
_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_MANAGER_CLASS = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
_ALL_THERE_IS = ("once", "available-now")


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """A continuous query as it was requested; see `Session.stream`."""

    query: Checked
    source: SourceLike | Mapping[str, SourceLike]
    tags: Tags | Mapping[str, Tags] | None = None
    now: Literal["wall", "event"] = "wall"
    trigger: str | None = None
    checkpoint: str | Path | None = None
    sink: SinkLike | Sequence[SinkLike] | None = None
    max_fragments: int = MAX_FRAGMENTS
    variables: Mapping[str, Any] = field(default_factory=dict)
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    tell: Callable[[Figures], None] | None = None
    warn: Callable[[Diagnostic], None] | None = None


def start(
    spark: SparkSession, store: Path, state: StoreState, request: StreamRequest
) -> StreamHandle:
    """Start a query, or resume it from its checkpoint."""
    if request.now not in _NOW:
        raise error("XCQL0501", f"'{request.now}' is not a valid now", hints=["use wall or event"])
    trigger = _trigger(request.trigger)
    if is_remote():
        raise error(
            "XCQL0722",
            "a continuous query needs a Spark session of this process",
            hints=["a Spark Connect session cannot call back; unset XCQL_SPARK"],
        )
    named = request.query.streams
    given = request.tags
    known = sorted(state.streams.keys() | (given.keys() if isinstance(given, Mapping) else ()))
    sources = resolved(request.source, named, known)
    stored = [name for name in sorted(state.streams) if named is None or name in named]
    tags = _tag_structures(given, sources, state, stored)
    sinks = sinks_of(spark, request.sink)
    folder = Path(request.checkpoint or new_temporary_folder())
    with ExitStack() as after_failure:
        if request.checkpoint is None:
            after_failure.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        with understood(request.query.source):
            frame = source_rows(spark, sources, folder / "spool", request.max_fragments)
        query = after_failure.enter_context(
            open_continuous(
                request.query,
                tags,
                folder / "state",
                request.now,
                request.variables,
                request.functions,
            )
        )
        for warning in (*request.query.module.warnings, *query.explanation().warnings):
            _warn(warning, request)
        handle = _handle(spark, query, folder, state.number, request, sinks)
        seen = {
            name: SeenFiles(folder / f"files-{folder_name(name)}", _contents(state, name))
            for name in sources
        }

        def history() -> Iterator[Arrival]:
            for name in stored:
                for text in fragment_texts(store, state.stream(name)):
                    yield Arrival(name, text)

        def run(
            on_batch: Callable[[int, Callable[[], list[Arrival]]], None],
        ) -> StreamingQuery:
            def each(rows: DataFrame, batch: int) -> None:
                on_batch(batch, lambda: arrivals_of(rows.toArrow(), batch, seen))

            writer = frame.writeStream.foreachBatch(each).trigger(**trigger)
            with changed(spark, _quick_triggers(spark)):
                place = str((folder / "spark").absolute())
                return writer.option("checkpointLocation", place).start()

        with understood(request.query.source):
            handle.start(history, run)
        after_failure.pop_all()
    return handle


def _quick_triggers(spark: SparkSession) -> dict[str, str]:
    """Settings that make Spark's own work at each trigger faster.

    With local files, Spark would start a process for each of the two files in which it records its
    progress, and list the files of a batch in a job with one task per file. A query keeps the
    settings it was started with.
    """
    settings = {}
    if (spark.conf.get("spark.master", None) or "").startswith("local["):
        settings["spark.sql.sources.parallelPartitionDiscovery.threshold"] = "1000000"
        # before 4.1 the class was in another package; a class that the user has set stays
        if not spark.version.startswith("4.0") and spark.conf.get(_MANAGER, None) is None:
            settings[_MANAGER] = _MANAGER_CLASS
    return settings


def _handle(
    spark: SparkSession,
    query: Continuous,
    folder: Path,
    commit: int,
    request: StreamRequest,
    sinks: Sequence[Sink],
) -> StreamHandle:
    clock = wall_clock if request.now == "wall" else None

    def triggers(note: Callable[[Figures], None]) -> Triggers:
        return Triggers(query, folder, sinks, request.max_fragments, clock, note, commit)

    def tell(figures: Figures) -> None:
        for sink in sinks:
            if isinstance(sink, LiveDisplay):
                sink.status(str(figures))
        if request.tell is not None:
            request.tell(figures)

    forget = folder if request.checkpoint is None else None
    return StreamHandle(spark, query, request.query.source, sinks, triggers, tell, forget)


def _warn(warning: Diagnostic, request: StreamRequest) -> None:
    if request.warn is not None:
        request.warn(warning)
    else:
        warnings.warn(warning.render_concise(), stacklevel=4)


def sinks_of(spark: SparkSession, given: SinkLike | Sequence[SinkLike] | None) -> list[Sink]:
    """The sinks for an argument: a function is a callback, text names a target."""
    if given is None:
        return []
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = [given]
    return [_sink(spark, one) for one in given]


def _sink(spark: SparkSession, given: SinkLike) -> Sink:
    if isinstance(given, str):
        if given == "display":
            return LiveDisplay(Console())
        if given in ("lines", "jsonl"):
            return Lines(sys.stdout, given == "jsonl")
        if given.startswith("parquet:"):
            return ParquetLog(given.removeprefix("parquet:"))
        if given.startswith("kafka://"):
            return KafkaTopic(spark, parse_address(given, (KafkaAddress,)))
        raise error(
            "XCQL0731",
            f"'{given}' is not a valid sink",
            hints=["write parquet:FOLDER, kafka://BROKER:PORT/TOPIC, display, lines or jsonl"],
        )
    if callable(given):
        return Callback(given)
    return given


def _trigger(given: str | None) -> dict[str, Any]:
    """The arguments of Spark's `trigger`."""
    if given in _ALL_THERE_IS:
        return {"availableNow": True}
    text = (given or _OFTEN).strip()
    if not re.fullmatch(r"\d+\s*(millisecond|second|minute|hour)s?", text):
        raise error(
            "XCQL0732",
            f"'{given}' is not a valid trigger",
            hints=["write an interval such as '1 second', or 'once' for what is there now"],
        )
    return {"processingTime": text}


def _tag_structures(
    given: Tags | Mapping[str, Tags] | None,
    sources: Mapping[str, SourceLike],
    state: StoreState,
    stored: Sequence[str],
) -> dict[str, TagStructure]:
    """The Tag Structure of every stream: the store's, or the given one."""
    tags = {name: state.stream(name).tags for name in stored}
    named = given if isinstance(given, Mapping) else {}
    for name in sources:
        if name in state.streams:
            tags[name] = state.stream(name).tags
            continue
        one = named.get(name) if isinstance(given, Mapping) else given
        if one is None:
            raise error(
                "XCQL0733",
                f"the stream '{name}' has no tag structure",
                hints=[f'give one: tags={{"{name}": "tags.xml"}}', f"or --tags {name}=TAGS.xml"],
            )
        tags[name] = one if isinstance(one, TagStructure) else read_tags(one)
    return tags


def _contents(state: StoreState, name: str) -> frozenset[str]:
    return state.streams[name].contents if name in state.streams else frozenset()
