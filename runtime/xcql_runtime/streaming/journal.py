"""What must be remembered beside the state of a query: the numbers of batches, files that came.

Spark numbers its batches, and runs the last one again after a crash. Time passes between them, and
that is a batch, too, of which Spark knows nothing. All are numbered in one sequence. The journal
says which numbers Spark's last batch has; it is written before that batch is begun, so that the
batch has the same ones when it is run again.
"""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from xcql.diagnostics import error
from xcql.durable import write_whole

HISTORY = -1  # the place of the store's fragments among Spark's batches
_NAME = "journal.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """Spark's last batch: its number there, the first of its numbers here, whether it is done.

    At most `bound` of its fragments have one number. `delivered` is the number of the last batch
    whose updates all sinks have; `commit` is that of the store that the query began with; `id` is
    different for every checkpoint folder.
    """

    id: str
    spark_batch: int
    first: int
    bound: int
    is_done: bool
    delivered: int
    commit: int


def read_journal(folder: Path, bound: int, commit: int) -> Entry:
    """What the folder's journal says; at first, that history is to come, that of a commit."""
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
    """The contents that came as files: one that comes again is passed over.

    Each is known with Spark's batch in which it came first, for that batch may be run again.
    """

    def __init__(self, path: Path, known: frozenset[str] = frozenset()) -> None:
        """`known` are those of the store, if this is the beginning."""
        self._path = path
        self._first: dict[str, int] = {}
        if not path.exists():
            write_whole(path, "".join(f"{HISTORY} {one}\n" for one in sorted(known)).encode())
        text = path.read_text(encoding="ascii")
        whole = text.rfind("\n") + 1
        if whole < len(text):
            os.truncate(path, whole)  # it was being written when the process was killed
        for line in text[:whole].splitlines():
            batch, _, digest = line.partition(" ")
            self._first.setdefault(digest, int(batch))

    def new(self, batch: int, digests: list[str]) -> list[bool]:
        """Which of a batch's files, in their order, are new; they are remembered."""
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
