"""The state of a continuous query: one SQLite file in its folder.

A trigger is one transaction, from the received fragments to the emitted updates. So a process that
is killed leaves the state as it was before a trigger or after it, never in between.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from xcql.diagnostics import error
from xcql.model.tags import TagStructure, tags_to_xml
from xcql.model.time import START

FILE = "continuous.sqlite"
# of the tables below; a state with another format is refused
FORMAT = 2

_MICROSECOND = timedelta(microseconds=1)

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- every fragment that can still count, numbered in their order of arrival
-- those of one id are read together, and so are kept together. `holes` is where there are holes in
-- the content, NULL where they are so many that to read them costs more than to find them
CREATE TABLE fragments (
    seq INTEGER NOT NULL, stream TEXT NOT NULL, id TEXT NOT NULL, op TEXT NOT NULL,
    tsid TEXT, time INTEGER NOT NULL, namespaces TEXT NOT NULL, holes TEXT,
    content BLOB NOT NULL, PRIMARY KEY (stream, id, time, seq)
) WITHOUT ROWID;
CREATE INDEX fragments_at ON fragments (time);

-- the tag that an id belongs to, and whether a <replace> is among its fragments
CREATE TABLE ids (
    stream TEXT NOT NULL, id TEXT NOT NULL, tsid TEXT NOT NULL, replaced INTEGER NOT NULL,
    PRIMARY KEY (stream, id)
) WITHOUT ROWID;

-- which fragments have a hole for an id
CREATE TABLE holes (
    stream TEXT NOT NULL, child TEXT NOT NULL, seq INTEGER NOT NULL, parent TEXT NOT NULL,
    time INTEGER NOT NULL, PRIMARY KEY (stream, child, seq)
) WITHOUT ROWID;
CREATE INDEX holes_in ON holes (stream, parent, seq);

-- holes whose filler has not come
CREATE TABLE waiting (
    stream TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (stream, id)
) WITHOUT ROWID;

-- the parts that the answer is kept in, and when each may change by time alone
CREATE TABLE units (
    key TEXT PRIMARY KEY, stream TEXT NOT NULL, filler TEXT NOT NULL, time INTEGER NOT NULL,
    due INTEGER
) WITHOUT ROWID;
CREATE INDEX units_of ON units (stream, filler, time);
CREATE INDEX units_due ON units (due) WHERE due IS NOT NULL;

-- the answer, sorted by place
CREATE TABLE items (
    place BLOB PRIMARY KEY, unit TEXT NOT NULL, number INTEGER NOT NULL, text TEXT NOT NULL,
    begins INTEGER, ends INTEGER
) WITHOUT ROWID;
CREATE INDEX items_of ON items (unit);

-- what units add to an aggregate
CREATE TABLE parts (
    place BLOB PRIMARY KEY, unit TEXT NOT NULL, value TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX parts_of ON parts (unit);

-- what the events of a filler add to the tallies of a query
CREATE TABLE totals (
    stream TEXT NOT NULL, id TEXT NOT NULL, number INTEGER NOT NULL, count INTEGER NOT NULL,
    sum INTEGER NOT NULL, size INTEGER NOT NULL, odd INTEGER NOT NULL,
    PRIMARY KEY (stream, id, number)
) WITHOUT ROWID;

-- values that one side of a join is found by
CREATE TABLE keys (
    side INTEGER NOT NULL, value TEXT NOT NULL, stream TEXT NOT NULL, filler TEXT NOT NULL,
    time INTEGER NOT NULL, unit TEXT NOT NULL,
    PRIMARY KEY (side, value, unit)
) WITHOUT ROWID;
CREATE INDEX keys_of ON keys (side, stream, filler, time);

-- the stretches of time that units look at events of a side through
CREATE TABLE ranges (
    side INTEGER NOT NULL, ends TEXT NOT NULL, begins TEXT NOT NULL, stream TEXT NOT NULL,
    filler TEXT NOT NULL, time INTEGER NOT NULL, unit TEXT NOT NULL,
    PRIMARY KEY (side, ends, begins, unit)
) WITHOUT ROWID;
CREATE INDEX ranges_of ON ranges (side, stream, filler, time);

CREATE TABLE updates (
    batch INTEGER NOT NULL, number INTEGER NOT NULL, op TEXT NOT NULL, key TEXT NOT NULL,
    position INTEGER NOT NULL, item TEXT, begins INTEGER, ends INTEGER,
    PRIMARY KEY (batch, number)
) WITHOUT ROWID;

CREATE TABLE triggers (
    batch INTEGER PRIMARY KEY, fragments INTEGER NOT NULL, repeated INTEGER NOT NULL,
    late INTEGER NOT NULL, quarantined INTEGER NOT NULL, empty_holes INTEGER NOT NULL,
    changed INTEGER NOT NULL, milliseconds REAL NOT NULL, next_change INTEGER
);

CREATE TABLE quarantine (
    batch INTEGER NOT NULL, stream TEXT NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL,
    kind TEXT NOT NULL, reason TEXT NOT NULL, text TEXT NOT NULL
);
"""


def open_state(folder: Path, identity: Mapping[str, str]) -> sqlite3.Connection:
    """Open the state in a folder, or create it; only one process at a time can use it.

    `identity` is what the state was created for; a state for something else is refused.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # triggers may come from any thread, but one after another
        state = sqlite3.connect(
            folder / FILE, timeout=1, isolation_level=None, check_same_thread=False
        )
    except (OSError, sqlite3.Error) as problem:
        raise error("XCQL0600", f"the state in '{folder}' cannot be opened: {problem}") from None
    try:
        state.execute("PRAGMA locking_mode = EXCLUSIVE")
        state.execute("PRAGMA journal_mode = WAL")
        state.execute("PRAGMA synchronous = FULL")
        # pages that change at each trigger go into the file itself only now and then (64 MB)
        state.execute("PRAGMA wal_autocheckpoint = 16384")
        state.execute("PRAGMA cache_size = -262144")
        state.execute("PRAGMA temp_store = MEMORY")
        state.execute("BEGIN EXCLUSIVE")
        if not state.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            _create(state, identity)
        else:
            _check(state, identity, folder)
        state.execute("COMMIT")
    except sqlite3.OperationalError as problem:
        state.close()
        if "locked" in str(problem):
            raise error(
                "XCQL0601",
                f"another continuous query is using the state in '{folder}'",
                hints=["stop it first, or give this query its own folder"],
            ) from None
        raise error("XCQL0600", f"the state in '{folder}' cannot be used: {problem}") from None
    except sqlite3.DatabaseError as problem:
        state.close()
        raise error(
            "XCQL0600",
            f"'{folder / FILE}' is not the state of a continuous query: {problem}",
            hints=["give the query another folder"],
        ) from None
    except BaseException:
        state.close()
        raise
    return state


def _create(state: sqlite3.Connection, identity: Mapping[str, str]) -> None:
    for statement in _TABLES.split(";"):
        if statement.strip():
            state.execute(statement)
    rows = [("format", FORMAT), *identity.items()]
    state.executemany("INSERT INTO meta VALUES (?, ?)", rows)


def _check(state: sqlite3.Connection, identity: Mapping[str, str], folder: Path) -> None:
    known = dict(state.execute("SELECT name, value FROM meta"))
    if known.get("format") != FORMAT:
        raise error(
            "XCQL0602",
            f"the state in '{folder}' has format {known.get('format')}, but this version of xcql"
            f" has format {FORMAT}",
            hints=["start the query in a new folder, and send it the history again"],
        )
    for what, value in identity.items():
        if known.get(what) != value:
            raise error(
                "XCQL0602",
                f"the state in '{folder}' was made for another {what}",
                hints=["give this query its own folder"],
            )


def identity_of(
    query: str, tags: Mapping[str, TagStructure], now: str, variables: Mapping[str, object]
) -> dict[str, str]:
    """What a state is created for, as short texts."""
    structures = "".join(f"{name}\n{tags_to_xml(tags[name])}" for name in sorted(tags))
    values = "".join(f"{name}={variables[name]!r}\n" for name in sorted(variables))
    return {
        "query": _digest(query),
        "tag structure": _digest(structures),
        "choice of now": now,
        "value of a variable": _digest(values),
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def to_number(instant: datetime) -> int:
    """An instant as stored in the state: microseconds from the beginning of time."""
    return (instant - START) // _MICROSECOND


def to_instant(number: int) -> datetime:
    """The instant of a number from `to_number`."""
    return START + timedelta(microseconds=number)


def optional_number(instant: datetime | None) -> int | None:
    return None if instant is None else to_number(instant)


def optional_instant(number: int | None) -> datetime | None:
    return None if number is None else to_instant(number)
