"""Takes in fragments: checks them and stores them in order of arrival, or quarantines them.

What an arrival can change is determined by the filler's id and, for an event, its instant.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import starmap, takewhile

from xcql.continuous.state_file import to_instant, to_number
from xcql.continuous.values import Arrival
from xcql.diagnostics import XcqlError
from xcql.history.definition import have_same_content, repeats, tag_conflict
from xcql.model.check import Checker, fragment_checker
from xcql.model.fragments import Fragment, Hole, Namespaces, Operation, Rejected
from xcql.model.read import fragments_in
from xcql.model.scan import UNDECLARED, Slice, file_head
from xcql.model.tags import TagStructure
from xcql.xdm.parse import utf8_bytes

# a filler of a stream: its stream and id
Filler = tuple[str, str]

# the columns of `stored_fragment` before the content, from the table `fragments` as `f`
COLUMNS = "f.seq, f.stream, f.id, f.op, f.tsid, f.time, f.namespaces, f.holes"

# a fragment with this many holes is large, such as the root's
MANY_HOLES = 1000


@dataclass(slots=True)
class Changes:
    """The fillers that a trigger changes, each with the instants of its events, None for all."""

    fillers: dict[Filler, set[int] | None] = field(default_factory=dict)
    # the current and former tags of each
    tsids: dict[Filler, set[str]] = field(default_factory=dict)
    fragments: int = 0
    repeated: int = 0
    late: int = 0
    quarantined: int = 0

    def add(self, stream: str, id: str, tsid: str | None, time: int | None) -> None:
        """Record a change; `time` is the time of an event that changes alone."""
        filler = (stream, id)
        if tsid is not None:
            self.tsids.setdefault(filler, set()).add(tsid)
        if time is None:
            self.fillers[filler] = None
        elif (known := self.fillers.setdefault(filler, set())) is not None:
            known.add(time)


@dataclass(frozen=True, slots=True)
class Received:
    """An arrival that was read: a valid fragment, or why it was rejected."""

    stream: str
    number: int
    record: Fragment | Rejected


class Reception:
    """Stores arrivals in a state, with caches to make that fast."""

    def __init__(self, state: sqlite3.Connection, tags: Mapping[str, TagStructure]) -> None:
        self._state = state
        self._tags = tags
        self._checkers: dict[str, Checker] = {
            name: fragment_checker(structure) for name, structure in tags.items()
        }
        self.reload()

    def reload(self) -> None:
        """Load the cached values from the state again, after a trigger that failed."""
        kept = dict(self._state.execute("SELECT name, value FROM meta"))
        self._seq: int = kept.get("last seq", 0)
        # the latest validTime of each stream
        self.latest: dict[str, int] = {
            name: kept[f"latest of {name}"] for name in self._tags if f"latest of {name}" in kept
        }

    def read(self, arrivals: Iterable[Arrival]) -> list[Received]:
        """The fragments in some arrivals, each checked on its own; changes nothing."""
        found: list[Received] = []
        for number, arrival in enumerate(arrivals):
            checker = self._checkers.get(arrival.stream)
            if checker is None:
                reason = f"the query has no stream '{arrival.stream}'"
                raw = arrival.text.encode("utf-8", "replace")
                record = Rejected(arrival.stream, 0, "not a fragment", reason, raw)
                found.append(Received(arrival.stream, number, record))
                continue
            for read in _records(arrival, checker):
                found.append(Received(arrival.stream, number, read))
        return found

    def store(self, batch: int, received: Iterable[Received], changes: Changes) -> None:
        """Store fragments in the state, and record what they change."""
        before = dict(self.latest)
        for one in received:
            record = one.record
            if isinstance(record, Fragment):
                changes.fragments += 1
                record = self._take(one.stream, record, before, changes) or record
            if isinstance(record, Rejected):
                changes.quarantined += 1
                self._state.execute(
                    "INSERT INTO quarantine VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        batch,
                        one.stream,
                        one.number,
                        record.offset,
                        record.kind,
                        record.reason,
                        record.raw.decode("utf-8", "replace"),
                    ),
                )
        self._state.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)",
            [
                ("last seq", self._seq),
                *((f"latest of {name}", time) for name, time in self.latest.items()),
            ],
        )

    def _take(
        self, stream: str, fragment: Fragment, before: Mapping[str, int], changes: Changes
    ) -> Rejected | None:
        """Store one fragment in the state; return a rejection if its id belongs to another tag."""
        execute = self._state.execute
        id, tsid = fragment.id, fragment.tsid
        known = execute(
            "SELECT tsid, replaced FROM ids WHERE stream = ? AND id = ?", (stream, id)
        ).fetchone()
        tags = self._tags[stream]
        if known is not None and tsid is not None and known[0] != tsid:
            tag, other = tags.by_id(tsid), tags.by_id(known[0])
            assert tag is not None
            assert other is not None
            return tag_conflict(fragment, tag, other)
        if fragment.valid_time is None:
            self._forget(stream, id)
            changes.add(stream, id, None if known is None else known[0], None)
            return None
        time = to_number(fragment.valid_time)
        if time < before.get(stream, 0):
            changes.late += 1
        if time > self.latest.get(stream, -1):
            self.latest[stream] = time
        tag = tags.by_id(known[0] if tsid is None and known is not None else tsid or "")
        is_event = tag is not None and tag.kind == "event"
        if known is not None and self._is_repetition(stream, fragment, time, is_event, known[1]):
            changes.repeated += 1
            return None
        if tag is not None and not is_event:
            self._drop_dead(stream, id, time)
        self._seq += 1
        execute(
            "INSERT INTO fragments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._seq,
                stream,
                id,
                fragment.op,
                tsid,
                time,
                _namespaces_as_text(fragment.namespaces),
                _holes_as_text(fragment.holes),
                fragment.content,
            ),
        )
        if fragment.op != "remove":
            replaced = int(fragment.op == "replace")
            if known is None:
                execute("INSERT INTO ids VALUES (?, ?, ?, ?)", (stream, id, tsid, replaced))
                execute("DELETE FROM waiting WHERE stream = ? AND id = ?", (stream, id))
            elif replaced and not known[1]:
                execute("UPDATE ids SET replaced = 1 WHERE stream = ? AND id = ?", (stream, id))
        if fragment.holes:
            self._add_holes(stream, fragment, time)
        alone = is_event and fragment.op != "replace"
        changes.add(stream, id, None if tag is None else tag.id, time if alone else None)
        return None

    def _add_holes(self, stream: str, fragment: Fragment, time: int) -> None:
        self._state.executemany(
            "INSERT OR IGNORE INTO holes VALUES (?, ?, ?, ?, ?)",
            [(stream, hole.id, self._seq, fragment.id, time) for hole in fragment.holes],
        )
        self._state.executemany(
            "INSERT OR IGNORE INTO waiting SELECT ?1, ?2"
            " WHERE NOT EXISTS (SELECT 1 FROM ids WHERE stream = ?1 AND id = ?2)",
            [(stream, hole.id) for hole in fragment.holes],
        )

    def _drop_dead(self, stream: str, id: str, time: int) -> None:
        """Delete the versions of an id at an instant: only the last one to arrive counts.

        A <replace> stays, because it also removes everything before it.
        """
        dead = self._state.execute(
            "DELETE FROM fragments WHERE stream = ? AND id = ? AND time = ? AND op <> 'replace'"
            " RETURNING seq",
            (stream, id, time),
        ).fetchall()
        self._state.executemany(
            "DELETE FROM holes WHERE stream = ? AND parent = ? AND seq = ?",
            [(stream, id, seq) for (seq,) in dead],
        )

    def _forget(self, stream: str, id: str) -> None:
        """Delete everything about an id, so that it may start again, even with another tag."""
        execute = self._state.execute
        execute("DELETE FROM holes WHERE stream = ? AND parent = ?", (stream, id))
        execute("DELETE FROM fragments WHERE stream = ? AND id = ?", (stream, id))
        execute("DELETE FROM ids WHERE stream = ? AND id = ?", (stream, id))
        execute(
            "INSERT OR IGNORE INTO waiting SELECT ?1, ?2"
            " WHERE EXISTS (SELECT 1 FROM holes WHERE stream = ?1 AND child = ?2)",
            (stream, id),
        )

    def _is_repetition(
        self, stream: str, fragment: Fragment, time: int, is_event: bool, replaced: int
    ) -> bool:
        """Whether a fragment repeats one that still counts, whatever `now` is."""
        if fragment.op not in ("filler", "repeat"):
            return False
        rows = self._state.execute(
            f"SELECT {COLUMNS}, f.content FROM fragments AS f"
            " WHERE f.stream = ? AND f.id = ? AND f.time = ? ORDER BY f.seq DESC",
            (stream, fragment.id, time),
        ).fetchall()
        if not rows:
            return False
        last_replace = 0
        if replaced:
            (last_replace,) = self._state.execute(
                "SELECT max(seq) FROM fragments WHERE stream = ? AND id = ? AND op = 'replace'",
                (stream, fragment.id),
            ).fetchone()
        earlier = starmap(stored_fragment, rows if is_event else rows[:1])
        standing = takewhile(lambda f: f.offset >= last_replace and f.op != "remove", earlier)
        return repeats(fragment, list(standing), have_same_content)


def stored_fragment(
    seq: int,
    stream: str,
    id: str,
    op: str,
    tsid: str | None,
    time: int,
    namespaces: str,
    holes: str | None,
    content: bytes,
) -> Fragment:
    """A fragment from the state; its `offset` is its number in the order of arrival.

    If it has many holes, they are not loaded.
    """
    operation: Operation = op  # type: ignore[assignment]
    return Fragment(
        operation,
        id,
        tsid,
        to_instant(time),
        content,
        () if not holes else tuple(Hole(*hole) for hole in json.loads(holes)),
        _namespaces(namespaces),
        stream,
        seq,
    )


def _holes_as_text(holes: tuple[Hole, ...]) -> str | None:
    if not holes:
        return ""
    if len(holes) >= MANY_HOLES:
        return None
    return json.dumps([(hole.id, hole.start, hole.end, hole.parent) for hole in holes])


@lru_cache(maxsize=1000)
def _namespaces_as_text(namespaces: Namespaces) -> str:
    """The namespaces of a fragment, short for the most common case."""
    return "" if namespaces == UNDECLARED else json.dumps(namespaces)


@lru_cache(maxsize=1000)
def _namespaces(text: str) -> Namespaces:
    return tuple((prefix, uri) for prefix, uri in json.loads(text)) if text else UNDECLARED


def _records(arrival: Arrival, checker: Checker) -> Iterable[Fragment | Rejected]:
    """The fragments in the text of an arrival; an `<eos/>` ends only that text."""
    try:
        data = utf8_bytes(arrival.text, arrival.stream)
    except XcqlError as problem:
        raw = arrival.text.encode("utf-8", "replace")
        yield Rejected(arrival.stream, 0, "malformed", problem.message, raw)
        return
    # most arrivals are a single filler, which needs no scan
    if data.startswith(b"<filler ") and data.endswith(b"</filler>"):
        only = checker(data, Slice(0, len(data), closed=True), UNDECLARED, arrival.stream, 0)
        if isinstance(only, Fragment):
            yield only
            return
    head = file_head(data, arrival.stream)
    yield from head.rejected
    for record in fragments_in(data, head, checker, arrival.stream):
        if isinstance(record, (Fragment, Rejected)):
            yield record
