"""A running continuous query: its progress, its answer, and its end."""

from __future__ import annotations

import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from xcql.continuous import Arrival, Continuous, Figures, Update
from xcql.diagnostics import XcqlError, error
from xcql.source import Source
from xcql_runtime.spark.failures import SPARK_FAILURES, translated
from xcql_runtime.spark.java_process import has_ended
from xcql_runtime.streaming.sinks import Sink
from xcql_runtime.streaming.triggers import Triggers, wall_clock

# the figures of this many triggers are kept
_KEPT = 1000
# shortest interval between two advances of time, in seconds, however often an answer changes
_SHORTEST_WAIT = 0.1
_LONGEST_WAIT = timedelta(days=1)


class _Stopped(Exception):
    """No new batch is started."""


class StreamHandle:
    """The result of `session.stream(…)`: a query that runs until it is stopped or fails.

    >>> with session.stream(query, source="tcp://localhost:9000", tags="tags.xml") as running:
    ...     running.await_termination(60)                                 # doctest: +SKIP
    ...     print(running.answer())                                       # doctest: +SKIP
    """

    def __init__(
        self,
        spark: SparkSession,
        query: Continuous,
        source: Source,
        sinks: Sequence[Sink],
        make_triggers: Callable[[Callable[[Figures], None]], Triggers],
        tell: Callable[[Figures], None],
        forget: Path | None,
    ) -> None:
        """Called by `start`; `forget` is a folder to remove at the end."""
        self._spark = spark
        self._query = query
        self._source = source
        self._sinks = sinks
        self._tell = tell
        self._forget = forget
        self._figures: deque[Figures] = deque(maxlen=_KEPT)
        self._triggers = make_triggers(self._note)
        self._guard = threading.Condition(threading.RLock())
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._cleared = threading.Event()  # set when cleanup is done, too
        self._problem: XcqlError | BrokenPipeError | None = None
        self._spark_query: StreamingQuery | None = None
        self._heard = time.monotonic()
        self._is_first = True
        self._working: threading.Thread | None = None
        self._last_answer: list[str] = []

    @property
    def progress(self) -> list[Figures]:
        """The figures of the last triggers, newest last; each prints as a line."""
        return list(self._figures)

    @property
    def is_active(self) -> bool:
        return not self._ended.is_set()

    @property
    def idle_seconds(self) -> float:
        """How many seconds nothing has arrived and nothing was left to do."""
        spark = self._spark_query
        with suppress(*SPARK_FAILURES):  # `_watch` reports them
            # Spark first checks for data, and passes it on only some time later
            if self._working or spark is None or self._is_first or spark.status["isDataAvailable"]:
                self._is_first = spark is None or spark.lastProgress is None
                self._heard = time.monotonic()
        return time.monotonic() - self._heard

    def answer(self) -> list[str]:
        """The current answer, or the last one after the end: its items as XML, in order."""
        with self._guard:
            return self._last_answer if self._ended.is_set() else self._query.answer()

    def updates(self, after: int = -1) -> list[Update]:
        """The update stream so far, starting after the batch `after`."""
        return list(self._running().updates(after))

    def quarantine(self) -> list[tuple[int, str, int, str, str, str]]:
        """The rejected fragments: batch, stream, position in the arrival, kind, reason, text."""
        return self._running().quarantine()

    def explain(self) -> str:
        """What state is kept, how it is bounded, and what needs the whole history."""
        return str(self._query.explanation())

    def _running(self) -> Continuous:
        if self._ended.is_set():
            raise error(
                "XCQL0729",
                "the continuous query has ended",
                hints=["restart it with its checkpoint; its sinks have all updates so far"],
            )
        return self._query

    def stop(self) -> None:
        """End the query after the current trigger; its checkpoint stays."""
        self._stopping.set()
        # called from a sink, in the middle of a trigger, it cannot wait for the end
        if self._spark_query is not None and threading.current_thread() is not self._working:
            with self._guard:  # no batch is running
                self._guard.notify_all()
            self._stop_spark_query()
            self._cleared.wait()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the query ends; return whether it ended within `timeout` seconds.

        If the query has failed, its error is raised here.
        """
        ended = self._cleared.wait(timeout)
        if self._problem is not None:
            raise self._problem
        return ended

    def __enter__(self) -> StreamHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "running" if self.is_active else "ended"
        last = f", {self._figures[-1]}" if self._figures else ""
        return f"<StreamHandle: {state}{last}>"

    def start(
        self,
        history: Callable[[], Iterator[Arrival]],
        run: Callable[[Callable[[int, Callable[[], list[Arrival]]], None]], StreamingQuery],
    ) -> None:
        """Process history, and then the data of the Spark query that `run` starts."""
        try:
            self._triggers.begin(history)
            self._spark_query = run(self._on_batch)
        except BaseException:
            self._finish()
            raise
        self._heard = time.monotonic()
        for work in (self._keep_time, self._watch):
            InheritableThread(target=work, session=self._spark, daemon=True).start()

    def _on_batch(self, batch: int, arrivals: Callable[[], list[Arrival]]) -> None:
        """Process a batch of Spark's; any exception raised here ends Spark's query."""
        with self._guard:
            if self._stopping.is_set():
                raise _Stopped
            try:
                self._trigger(lambda: self._triggers.fragments(batch, arrivals()))
            finally:
                self._heard = time.monotonic()
                self._guard.notify_all()

    def _trigger(self, work: Callable[[], None]) -> None:
        self._working = threading.current_thread()
        try:
            work()
        except (PySparkException, Py4JError):
            raise
        except (BrokenPipeError, XcqlError) as problem:
            self._problem = self._problem or problem
            raise
        except Exception as problem:
            if has_ended(self._spark):
                raise
            text = f"a trigger failed: {type(problem).__name__}: {problem}"
            self._problem = self._problem or error("XCQL0730", text)
            raise
        finally:
            self._working = None

    def _keep_time(self) -> None:
        """Wait for the next moment at which the answer may change, and advance the query."""
        with self._guard:
            while not self._stopping.is_set():
                moment = self._triggers.next_change
                if moment is None:
                    self._guard.wait()
                    continue
                rest = min(moment - wall_clock(), _LONGEST_WAIT).total_seconds()
                if rest > 0:
                    self._guard.wait(rest)
                    continue
                try:
                    self._trigger(self._triggers.time_passes)
                except Exception:
                    break
                if not self._stopping.is_set():
                    self._guard.wait(_SHORTEST_WAIT)
        self._stop_spark_query()

    def _stop_spark_query(self) -> None:
        if self._spark_query is not None:
            with suppress(*SPARK_FAILURES):  # `_watch` reports them
                self._spark_query.stop()

    def _watch(self) -> None:
        """Wait for the end of Spark's query, and clean up."""
        assert self._spark_query is not None
        try:
            self._spark_query.awaitTermination()
        except SPARK_FAILURES as problem:
            if not self._stopping.is_set() and self._problem is None:
                self._problem = self._explained(problem)
        self._finish()

    def _explained(self, problem: Exception) -> XcqlError:
        """Translate the end of Spark's query into an error for the user."""
        explained = translated(problem, self._source)
        if has_ended(self._spark):
            again = "the continuous query has ended; restart it with its checkpoint"
            notes = (*explained.diagnostic.notes, again)
            return XcqlError(replace(explained.diagnostic, notes=notes))
        return explained

    def _finish(self) -> None:
        self._stopping.set()
        try:
            with self._guard:
                self._guard.notify_all()
                for sink in self._sinks:
                    sink.close()
                self._last_answer = self._query.answer()
                self._ended.set()
                self._query.close()
            if self._forget is not None:
                shutil.rmtree(self._forget, ignore_errors=True)
        finally:
            self._cleared.set()

    def _note(self, figures: Figures) -> None:
        self._figures.append(figures)
        self._tell(figures)
