"""The stored answer, in parts, and how changed parts become rows of the update stream.

The answer is stored in *units*: parts that can be computed on their own, such as the result of a
query for one account. Each item of the answer has a *place*, bytes that sort the whole answer.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from xcql.continuous.ranks import Ranks
from xcql.continuous.state_file import optional_instant, optional_number
from xcql.continuous.values import Operation, Update

# `due` of a unit that changes, or may change, at every instant
ALWAYS = 0

# a unit that is known, with the same `due`, need not be written
KEEP_UNIT = (
    "INSERT INTO units VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET due = excluded.due"
    " WHERE due IS NOT excluded.due"
)


@dataclass(frozen=True, slots=True)
class Row:
    """An item of the answer: its place, its XML, its lifespan."""

    place: bytes
    text: str
    begins: datetime | None
    ends: datetime | None


@dataclass(frozen=True, slots=True)
class AnswerUnit:
    """The current state of a part of the answer.

    Its filler is given by stream, id and, for an event, time. `due` is the instant at which it may
    change without a new fragment.
    """

    key: str
    stream: str
    filler: str
    time: int
    rows: tuple[Row, ...]
    due: int | None


# place, number, text, begins, ends
_Kept = tuple[bytes, int, str, int | None, int | None]


class Display:
    """The answer that is stored in a state."""

    def __init__(self, state: sqlite3.Connection) -> None:
        self._state = state
        self.reload()

    def reload(self) -> None:
        """Load the ranks from the state again, after a trigger that failed."""
        places = self._state.execute("SELECT place FROM items ORDER BY place")
        self._ranks = Ranks(place for (place,) in places)

    def answer(self) -> Iterator[str]:
        return (text for (text,) in self._state.execute("SELECT text FROM items ORDER BY place"))

    def lifespans(self) -> Iterator[tuple[datetime | None, datetime | None]]:
        rows = self._state.execute("SELECT begins, ends FROM items ORDER BY place")
        return ((optional_instant(begins), optional_instant(ends)) for begins, ends in rows)

    def change(self, batch: int, gone: Iterable[str], units: Iterable[AnswerUnit]) -> list[Update]:
        """Replace units by their new versions, and drop those that are gone.

        Deletions come first: an item that moves is deleted before it is inserted again.
        """
        deleted: list[tuple[bytes, str]] = []
        replaced: list[tuple[str, Row]] = []
        inserted: list[tuple[str, str, int, Row]] = []
        known: list[tuple[str, str, str, int, int | None]] = []
        dropped: list[tuple[str]] = []
        changed = list(units)
        leaving = list(gone)
        kept = self._kept([*leaving, *(unit.key for unit in changed)])
        for key in leaving:
            deleted += ((place, f"{key}#{number}") for place, number, *_ in kept.get(key, ()))
            dropped.append((key,))
        for unit in changed:
            key = unit.key
            if unit.rows or unit.due is not None:
                known.append((key, unit.stream, unit.filler, unit.time, unit.due))
            else:
                # nothing to show, and nothing to wait for
                dropped.append((key,))
            before = {place: (number, rest) for place, number, *rest in kept.get(key, ())}
            for number, row in enumerate(unit.rows, 1):
                columns = [row.text, optional_number(row.begins), optional_number(row.ends)]
                old = before.get(row.place)
                if old is None or old[0] != number:
                    inserted.append((f"{key}#{number}", key, number, row))
                else:
                    del before[row.place]
                    if old[1] != columns:
                        replaced.append((f"{key}#{number}", row))
            deleted += ((place, f"{key}#{number}") for place, (number, _) in before.items())
        updates = self._updates(batch, deleted, replaced, inserted)
        write = self._state.executemany
        write("DELETE FROM units WHERE key = ?", dropped)
        write(KEEP_UNIT, known)
        write("DELETE FROM items WHERE place = ?", [(place,) for place, _ in deleted])
        write(
            "UPDATE items SET text = ?, begins = ?, ends = ? WHERE place = ?",
            [(*_columns(row), row.place) for _, row in replaced],
        )
        write(
            "INSERT INTO items VALUES (?, ?, ?, ?, ?, ?)",
            [(row.place, unit, number, *_columns(row)) for _, unit, number, row in inserted],
        )
        write(
            "INSERT INTO updates VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    batch,
                    number,
                    update.op,
                    update.key,
                    update.position,
                    update.item,
                    optional_number(update.vtFrom),
                    optional_number(update.vtTo),
                )
                for number, update in enumerate(updates)
            ],
        )
        return updates

    def _kept(self, units: list[str]) -> dict[str, list[_Kept]]:
        """The stored items of some units."""
        rows = self._state.execute(
            "SELECT unit, place, number, text, begins, ends"
            " FROM json_each(?) AS wanted CROSS JOIN items WHERE items.unit = wanted.value",
            (json.dumps(units),),
        )
        found: dict[str, list[_Kept]] = {}
        for unit, *item in rows:
            found.setdefault(unit, []).append(tuple(item))
        return found

    def _updates(
        self,
        batch: int,
        deleted: list[tuple[bytes, str]],
        replaced: list[tuple[str, Row]],
        inserted: list[tuple[str, str, int, Row]],
    ) -> list[Update]:
        """The rows of the update stream, each with the position at which it is applied."""
        ranks = self._ranks

        def update(op: Operation, key: str, rank: int, row: Row | None) -> Update:
            if row is None:
                return Update(batch, op, key, rank + 1, None, None, None)
            return Update(batch, op, key, rank + 1, row.text, row.begins, row.ends)

        # from the end, so that many neighbours cost no more than one
        return [
            *(
                update("delete", key, ranks.remove(place), None)
                for place, key in sorted(deleted, reverse=True)
            ),
            *(update("replace", key, ranks.rank(row.place), row) for key, row in replaced),
            *(
                update("insert", key, ranks.add(row.place), row)
                for key, _, _, row in sorted(inserted, key=lambda new: new[3].place)
            ),
        ]

    def updates_after(self, batch: int) -> tuple[int | None, list[Update]]:
        """The first batch after the given one that has updates, with its updates; None if none."""
        (found,) = self._state.execute(
            "SELECT min(batch) FROM updates WHERE batch > ?", (batch,)
        ).fetchone()
        rows = self._state.execute(
            "SELECT batch, op, key, position, item, begins, ends FROM updates"
            " WHERE batch = ? ORDER BY number",
            (found,),
        )
        return found, [
            Update(of, op, key, position, item, optional_instant(begins), optional_instant(ends))
            for of, op, key, position, item, begins, ends in rows
        ]

    def forget_updates(self, before: int) -> None:
        self._state.execute("DELETE FROM updates WHERE batch < ?", (before,))


def _columns(row: Row) -> tuple[str, int | None, int | None]:
    return row.text, optional_number(row.begins), optional_number(row.ends)
