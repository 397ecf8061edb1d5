"""The engine of continuous queries: fragments in, updates of the answer out, trigger by trigger."""

from __future__ import annotations

import gc
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from xcql.check import Checked, check
from xcql.continuous.aggregates import AggregateState
from xcql.continuous.display import Display
from xcql.continuous.explanation import ContinuousExplanation, explained
from xcql.continuous.maintenance import Maintenance
from xcql.continuous.partial import LeftUnit
from xcql.continuous.parts import NeedsWhole
from xcql.continuous.plan import UnitPlan, Whole, plan_query
from xcql.continuous.reception import Changes, Reception
from xcql.continuous.state_file import (
    identity_of,
    open_state,
    optional_instant,
    optional_number,
    to_instant,
    to_number,
)
from xcql.continuous.units import UnitQuery
from xcql.continuous.values import Advance, Arrival, Figures, Update
from xcql.continuous.whole import WHOLE, evaluated_whole, whole_views
from xcql.diagnostics import XcqlError, error
from xcql.evaluate.api import prepare
from xcql.evaluate.prolog import CompiledQuery
from xcql.evaluate.sequences import located
from xcql.evaluate.stack import too_nested, with_deep_stack
from xcql.garbage import uncollected
from xcql.model.tags import TagStructure
from xcql.model.time import to_utc
from xcql.source import Source

NowChoice = Literal["wall", "event"]

# `now` in event time before the first event: earlier than everything that happens
_BEFORE_EVENTS = datetime(1970, 1, 1)


def open_continuous(
    query: str | Source | Checked,
    tags: Mapping[str, TagStructure],
    folder: Path,
    now: NowChoice = "wall",
    variables: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Continuous:
    """Open a continuous query with its state in a folder; the state is created if missing.

    `tags` has the Tag Structure of each stream. With `now="event"` the instant of evaluation is the
    largest validTime seen; otherwise it is the one passed to the trigger, or the wall clock.
    """
    if now not in ("wall", "event"):
        raise error("XCQL0603", f"now must be 'wall' or 'event', not {now!r}")
    given = dict(variables or {})
    checked = check(query, tags)
    compiled = prepare(checked, functions)
    state = open_state(Path(folder), identity_of(checked.source.text, tags, now, given))
    return Continuous(state, checked, compiled, now, given, bool(functions))


class Continuous:
    """A query that is kept up to date; created by `open_continuous`.

    with open_continuous(query, {"credit": tags}, folder) as continuous:
        print(continuous.advance(0, arrivals, now).figures)
    """

    def __init__(
        self,
        state: sqlite3.Connection,
        checked: Checked,
        query: CompiledQuery,
        now: NowChoice,
        variables: Mapping[str, Any],
        calls_python: bool,
    ) -> None:
        self._state = state
        self._calls_python = calls_python
        self._checked = checked
        self._query = query
        self._tags = checked.tags
        self._now_choice = now
        self._variables = variables
        self._lock = threading.RLock()
        self._reception = Reception(state, self._tags)
        self._display = Display(state)
        self._make_plan()

    def _make_plan(self) -> None:
        """Plan how to maintain the answer; what was learned from the data is in the state."""
        level = self._meta("level") or 0
        self._plan = plan_query(self._checked, level, self._calls_python)
        learned = self._meta("whole")
        if learned is not None and isinstance(self._plan, UnitPlan):
            self._plan = Whole(NeedsWhole(learned, None), self._plan.time)
        self._maintenance: Maintenance | None = None
        self._aggregate: AggregateState | None = None
        if isinstance(self._plan, UnitPlan):
            query = UnitQuery(self._query, self._plan, self._variables)
            query.kinds.update(json.loads(self._meta("kinds of sort keys") or "{}"))
            self._maintenance = Maintenance(self._state, self._tags, query)
            if self._plan.aggregate is not None:
                self._aggregate = AggregateState(self._state, self._query, self._plan.aggregate)

    def __enter__(self) -> Continuous:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            self._state.close()

    @property
    def last_batch(self) -> int | None:
        """The number of the last completed batch, None before the first."""
        with self._lock:
            (last,) = self._state.execute("SELECT max(batch) FROM triggers").fetchone()
        return last  # type: ignore[no-any-return]

    def answer(self) -> list[str]:
        """The current answer: its items as XML, in order."""
        with self._lock:
            return list(self._display.answer())

    def lifespans(self) -> list[tuple[datetime | None, datetime | None]]:
        """The lifespans of the items of the answer, in order."""
        with self._lock:
            return list(self._display.lifespans())

    @property
    def now(self) -> datetime | None:
        """The instant of the last trigger, None before the first."""
        with self._lock:
            return optional_instant(self._meta("now"))

    def updates(self, after: int = -1) -> Iterator[Update]:
        """The stored update stream, starting with the batch after `after`."""
        while True:
            # release the lock while rows are handed out, because the consumer may be slow
            with self._lock:
                batch, rows = self._display.updates_after(after)
            if batch is None:
                return
            yield from rows
            after = batch

    def forget_updates(self, before: int) -> None:
        """Drop the update stream before a batch, which no sink will request again.

        The updates of the last batch are always kept.
        """
        with self._lock:
            last = self.last_batch
            if last is not None:
                self._display.forget_updates(min(before, last))

    def explanation(self) -> ContinuousExplanation:
        """What is stored, how it is bounded, and what needs the whole stream."""
        return explained(self._plan, self._checked)

    def quarantine(self) -> list[tuple[int, str, int, str, str, str]]:
        """The rejected input: batch, stream, offset in the arrival, kind, reason and text."""
        with self._lock:
            return self._state.execute(
                "SELECT batch, stream, at, kind, reason, text FROM quarantine"
            ).fetchall()

    def recomputed(self) -> list[str]:
        """The answer at the instant of the last trigger, computed as a whole from all fragments.

        It equals `answer`; use it to compare the two, and to see what maintenance saves.
        """
        with self._lock:
            now = self.now or self._instant(None)
            views = whole_views(self._state, self._tags, now)
            unit = evaluated_whole(self._query, views, self._variables, now, None)
        return [row.text for row in unit.rows]

    def advance(self, batch: int, arrivals: Sequence[Arrival], now: datetime | None) -> Advance:
        """Run one trigger: take in the arrivals, and bring the answer to `now`.

        For a batch number that was already processed, return the earlier result and change nothing.
        """
        with self._lock:
            last = self.last_batch
            if last is not None and batch <= last:
                return self._done(batch)
            with _young_garbage_only():
                return self._advance(batch, arrivals, now)

    def _advance(self, batch: int, arrivals: Sequence[Arrival], now: datetime | None) -> Advance:
        begun = time.perf_counter()
        received = self._reception.read(arrivals)
        self._state.execute("BEGIN IMMEDIATE")
        try:
            before = optional_instant(self._meta("now"))
            if self._maintenance is not None and before is not None:
                self._maintenance.foresee(received, before)
            changes = Changes()
            self._reception.store(batch, received, changes)
            instant = self._instant(now)
            self._set_meta("now", to_number(instant))
            if before is not None:
                self._add_visible(changes, before, instant)
            updates = with_deep_stack(lambda: self._maintained(batch, changes, before, instant))
            advance = self._record(batch, changes, updates, instant, begun)
            self._state.execute("COMMIT")
        except BaseException:
            self._state.execute("ROLLBACK")
            self._reception.reload()
            self._display.reload()
            self._make_plan()
            raise
        return advance

    def _instant(self, given: datetime | None) -> datetime:
        """The single `now` of a trigger."""
        if self._now_choice == "event":
            latest = max(self._reception.latest.values(), default=0)
            return to_instant(latest) if latest else _BEFORE_EVENTS
        return to_utc(given if given is not None else datetime.now(UTC))

    def _add_visible(self, changes: Changes, before: datetime, now: datetime) -> None:
        """Record the fillers that enter or leave the view only because time has passed."""
        first, last = sorted((to_number(before), to_number(now)))
        rows = self._state.execute(
            "SELECT f.stream, f.id, f.op, f.time, ids.tsid FROM fragments AS f"
            " LEFT JOIN ids ON ids.stream = f.stream AND ids.id = f.id"
            " WHERE f.time > ? AND f.time <= ?",
            (first, last),
        )
        for stream, id, op, at, tsid in rows:
            tag = None if tsid is None else self._tags[stream].by_id(tsid)
            alone = tag is not None and tag.kind == "event" and op != "replace"
            changes.add(stream, id, tsid, at if alone else None)

    def _maintained(
        self, batch: int, changes: Changes, before: datetime | None, now: datetime
    ) -> list[Update]:
        try:
            return self._maintain(batch, changes, before, now)
        except XcqlError as problem:
            raise located(problem, self._query.span) from None
        except RecursionError:
            raise too_nested(self._query.span) from None

    def _maintain(
        self, batch: int, changes: Changes, before: datetime | None, now: datetime
    ) -> list[Update]:
        """Bring the answer up to date."""
        if self._maintenance is None:
            time_use = self._plan.time
            if not changes.fillers and before is not None and (now == before or time_use.is_none):
                return []
            return self._anew(batch, now)
        try:
            old, units = self._maintenance.changed(changes, before, now)
            known = list(units)
            kinds = json.dumps(self._maintenance.kinds)
            if kinds != (self._meta("kinds of sort keys") or "{}"):
                self._set_meta("kinds of sort keys", kinds)
        except LeftUnit:
            self._set_meta("level", (self._meta("level") or 0) + 1)
            return self._planned_anew(batch, changes, now)
        except NeedsWhole as reason:
            self._set_meta("whole", reason.reason)
            return self._planned_anew(batch, changes, now)
        gone = old - {unit.key for unit in known}
        if self._aggregate is not None:
            gone.discard(WHOLE)
            unit = self._aggregate.change(gone, known, now)
            return self._display.change(batch, (), [unit])
        return self._display.change(batch, gone, known)

    def _planned_anew(self, batch: int, changes: Changes, now: datetime) -> list[Update]:
        """Change the plan from now on, because the data has shown that it is necessary."""
        self._make_plan()
        return self._maintain(batch, changes, None, now)

    def _anew(self, batch: int, now: datetime) -> list[Update]:
        """Recompute the whole answer."""
        views = whole_views(self._state, self._tags, now)
        due = self._plan.time.due_of_all(self._first_after, to_number(now))
        unit = evaluated_whole(self._query, views, self._variables, now, due)
        old = {key for (key,) in self._state.execute("SELECT key FROM units")}
        return self._display.change(batch, old - {unit.key}, [unit])

    def _first_after(self, instant: int) -> int | None:
        """The first validTime after an instant."""
        (found,) = self._state.execute(
            "SELECT min(time) FROM fragments WHERE time > ?", (instant,)
        ).fetchone()
        return found  # type: ignore[no-any-return]

    def _record(
        self, batch: int, changes: Changes, updates: list[Update], now: datetime, begun: float
    ) -> Advance:
        (waiting,) = self._state.execute("SELECT count(*) FROM waiting").fetchone()
        figures = Figures(
            batch,
            changes.fragments,
            changes.repeated,
            changes.late,
            changes.quarantined,
            waiting,
            len(updates),
            (time.perf_counter() - begun) * 1000,
        )
        next_change = self._next_change(now)
        self._state.execute(
            "INSERT INTO triggers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                batch,
                figures.fragments,
                figures.repeated,
                figures.late,
                figures.quarantined,
                figures.empty_holes,
                figures.changed,
                figures.milliseconds,
                optional_number(next_change),
            ),
        )
        return Advance(tuple(updates), figures, next_change)

    def _next_change(self, now: datetime) -> datetime | None:
        """The next moment at which the answer can change without an arrival."""
        if self._now_choice == "event":
            return None
        at = to_number(now)
        (due,) = self._state.execute("SELECT min(due) FROM units WHERE due > ?", (at,)).fetchone()
        moments = [moment for moment in (due, self._first_after(at)) if moment is not None]
        return optional_instant(min(moments, default=None))

    def _done(self, batch: int) -> Advance:
        """The recorded result of a batch."""
        row = self._state.execute("SELECT * FROM triggers WHERE batch = ?", (batch,)).fetchone()
        if row is None:
            return Advance((), Figures(batch, 0, 0, 0, 0, 0, 0, 0.0), None)
        found, updates = self._display.updates_after(batch - 1)
        return Advance(
            tuple(updates if found == batch else ()), Figures(*row[:-1]), optional_instant(row[-1])
        )

    def _meta(self, name: str) -> Any:
        row = self._state.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def _set_meta(self, name: str, value: Any) -> None:
        self._state.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


@contextmanager
def _young_garbage_only() -> Iterator[None]:
    """Collect garbage only among new objects, and only at the end.

    A trigger builds many trees, which are garbage at its end, beside much data that stays.
    """
    with uncollected():
        try:
            yield
        finally:
            gc.collect(0)
