"""What happens in a trigger: the query advances, then the sinks get the changes.

There are three kinds: the store's fragments at the start, a batch of Spark's, and time that has
passed. They share one sequence of numbers. A large batch of Spark's, or a large store, takes
several numbers, because the number of fragments processed at once is bounded.

All methods must be called from one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count, groupby, islice
from pathlib import Path

from xcql.continuous import Arrival, Continuous, Figures
from xcql.diagnostics import XcqlError, error
from xcql_runtime.streaming.journal import HISTORY, read_journal, write_journal
from xcql_runtime.streaming.sinks import Beginning, Sink


def wall_clock() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


class Triggers:
    """The triggers of one query, over one checkpoint folder.

    `clock` returns the time; it is None if `now` is the largest validTime. `tell` is called after
    each trigger. `commit` is the commit of the store whose fragments are history.
    """

    def __init__(
        self,
        query: Continuous,
        folder: Path,
        sinks: Sequence[Sink],
        bound: int,
        clock: Callable[[], datetime] | None,
        tell: Callable[[Figures], None],
        commit: int = 0,
    ) -> None:
        self._query = query
        self._folder = folder
        self._sinks = sinks
        self._bound = bound
        self._clock = clock
        self._tell = tell
        self._commit = commit
        self._entry = read_journal(folder, bound, commit)
        self._have: list[int] = []
        self.next_change: datetime | None = None

    def begin(self, history: Callable[[], Iterator[Arrival]]) -> None:
        """Bring the sinks and the query up to date: with history, or to the current time."""
        entry = self._entry
        is_history = entry.spark_batch == HISTORY and not entry.is_done
        if self._query.last_batch is None and not is_history:
            raise _damaged(self._folder, "the state of the query is missing")
        if is_history and self._query.last_batch is not None and entry.commit != self._commit:
            raise _damaged(self._folder, "the store changed before it was read completely")
        write_journal(self._folder, entry)  # sinks may use its id from now on
        beginning = Beginning(self._query, entry.id, entry.delivered)
        self._have = [sink.begin(beginning) for sink in self._sinks]
        self._catch_up()
        entry = self._entry
        if is_history:
            self._run(history(), entry.bound)
        elif entry.is_done and self._clock is not None:
            self._advance(self._next_number(), [])
            self._save()

    def fragments(self, spark_batch: int, arrivals: Sequence[Arrival]) -> None:
        """Process a batch of Spark's, possibly the last one again; an empty new one is ignored."""
        entry = self._entry
        if not arrivals and spark_batch > entry.spark_batch:
            return
        if spark_batch < entry.spark_batch:
            raise _damaged(self._folder, "Spark's record of its last batches is missing")
        if spark_batch > entry.spark_batch:
            self._entry = replace(
                entry,
                spark_batch=spark_batch,
                first=self._next_number(),
                bound=self._bound,
                is_done=False,
            )
            write_journal(self._folder, self._entry)
        self._run(iter(arrivals), self._entry.bound)

    def time_passes(self) -> None:
        """Advance if the answer may have changed by now; not while a batch is still to be rerun."""
        if self._clock is None or self.next_change is None or not self._entry.is_done:
            return
        if self._clock() >= self.next_change:
            self._advance(self._next_number(), [])
            self._save()

    def _run(self, arrivals: Iterator[Arrival], bound: int) -> None:
        # even without arrivals: the sinks must get the initial answer
        group = list(islice(arrivals, bound))
        for number in count(self._entry.first):
            self._advance(number, group)
            group = list(islice(arrivals, bound))
            self._save(is_done=not group)
            if not group:
                return

    def _next_number(self) -> int:
        last = self._query.last_batch
        return 0 if last is None else last + 1

    def _advance(self, number: int, arrivals: Sequence[Arrival]) -> None:
        now = None if self._clock is None else self._clock()
        last = self._query.last_batch
        is_new = last is None or number > last
        advance = self._query.advance(number, arrivals, now)
        if is_new or number == last:  # what an earlier batch predicted no longer applies
            self.next_change = advance.next_change
        for index, sink in enumerate(self._sinks):
            if advance.updates and number > self._have[index]:
                sink.write(number, advance.updates)
                self._have[index] = number
        if is_new:
            self._tell(advance.figures)

    def _catch_up(self) -> None:
        """Send the sinks the updates that they missed."""
        if self._query.last_batch is None:
            return
        for index, sink in enumerate(self._sinks):
            missed = self._query.updates(self._have[index])
            for batch, updates in groupby(missed, lambda update: update.batch):
                sink.write(batch, tuple(updates))
            self._have[index] = max(self._have[index], self._query.last_batch)
        if self._entry.delivered < self._query.last_batch:
            self._save()

    def _save(self, is_done: bool | None = None) -> None:
        """Record that all sinks have everything up to the query's last batch."""
        last = self._query.last_batch
        assert last is not None
        entry = replace(self._entry, delivered=last)
        self._entry = entry if is_done is None else replace(entry, is_done=is_done)
        write_journal(self._folder, self._entry)


def _damaged(folder: Path, reason: str) -> XcqlError:
    return error(
        "XCQL0723",
        f"the checkpoint '{folder}' cannot be used: {reason}",
        hints=["start again with another folder"],
    )
