"""What is persisted beside the state of a query: batch numbers, and the files seen so far.

Spark numbers its batches, and runs the last one again after a crash. Between them time passes,
which is also a batch, but one that Spark does not know. All batches share one sequence of numbers.
The journal records which numbers Spark's last batch has. It is written before that batch starts, so
that the batch gets the same numbers when it runs again.

Tests: tests/runtime/streaming/test_triggers.py
"""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from xcql.diagnostics import error
from xcql.durable import write_whole

HISTORY = -1  # the number of the store's fragments among Spark's batches
_NAME = "journal.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """Spark's last batch: its number in Spark, its first number here, and whether it is done.

    At most `bound` of its fragments share one number. `delivered` is the number of the last batch
    whose updates have reached all sinks; `commit` is the store's commit that the query started
    with; `id` is unique for each checkpoint folder.
    """

    id: str
    spark_batch: int
    first: int
    bound: int
    is_done: bool
    delivered: int
    commit: int


def read_journal(folder: Path, bound: int, commit: int) -> Entry:
    """Read the folder's journal; a new one says that history is pending, as of `commit`."""
    try:
        return Entry(**json.loads((folder / _NAME).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Entry(uuid.uuid4().hex, HISTORY, 0, bound, False, -1, commit)
    except (ValueError, TypeError):
        raise error(
            "XCQL0723",
            f"'{folder / _NAME}' cannot be read: the checkpoint is damaged",
            hints=["start again with another folder"],
        ) from None


def write_journal(folder: Path, entry: Entry) -> None:
    write_whole(folder / _NAME, json.dumps(asdict(entry)).encode())


class SeenFiles:
    """The contents of files that have arrived; a file that arrives again is skipped.

    Each is stored with the Spark batch in which it first came, because that batch may run again.
    """

    def __init__(self, path: Path, known: frozenset[str] = frozenset()) -> None:
        """`known` are the contents in the store; they are only used when the folder is new."""
        self._path = path
        self._first: dict[str, int] = {}
        if not path.exists():
            write_whole(path, "".join(f"{HISTORY} {one}\n" for one in sorted(known)).encode())
        text = path.read_text(encoding="ascii")
        whole = text.rfind("\n") + 1
        if whole < len(text):
            os.truncate(path, whole)  # the process was killed while writing it
        for line in text[:whole].splitlines():
            batch, _, digest = line.partition(" ")
            self._first.setdefault(digest, int(batch))

    def new(self, batch: int, digests: list[str]) -> list[bool]:
        """Which of a batch's files, in order, are new; new ones are recorded."""
        answers, lines = [], []
        here: set[str] = set()
        for digest in digests:
            is_new = digest not in here and self._first.get(digest, batch) >= batch
            answers.append(is_new)
            if is_new:
                here.add(digest)
                if self._first.setdefault(digest, batch) == batch:
                    lines.append(f"{batch} {digest}\n")
        if lines:
            with self._path.open("a", encoding="ascii") as file:
                file.write("".join(lines))
                file.flush()
                os.fsync(file.fileno())
        return answers
