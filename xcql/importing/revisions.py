"""What a source of an import provides: revisions in order of time, each with what changed in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from xcql.diagnostics import Diagnostic
from xcql.history.matching import ascending

# what a source needs to continue: a value for JSON
Cursor = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A document in a revision: where it is, and what the source calls its content.

    `content` is None if the document is gone. `previous` is where it was before, if it moved.
    """

    place: str
    content: str | None
    previous: str | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """What changed at a time; `cursor` is where the source continues after it."""

    time: datetime
    name: str
    parts: tuple[FileChange, ...]
    cursor: Cursor


class HistorySource(Protocol):
    """Where a history comes from.

    `kind` and `options` say what is imported; a later import of the stream must have the same.
    With a `root`, the documents are children of an element of that name, each in a `file` element
    with its place; without one, there is one document with many revisions.
    """

    @property
    def kind(self) -> str: ...

    @property
    def root(self) -> str | None: ...

    @property
    def options(self) -> Mapping[str, Any]: ...

    @property
    def warnings(self) -> list[Diagnostic]: ...

    def revisions(self, cursor: Cursor | None) -> list[Revision]:
        """The revisions after those that the cursor stands for."""
        ...

    def read(self, content: str) -> bytes:
        """The bytes of a document; an error if they cannot be read."""
        ...


def ascending_times(times: list[datetime], after: datetime | None) -> list[datetime]:
    """Strictly ascending times for revisions in order, of which few differ from the given ones.

    A time that is not later than the one before, or that most later times precede, becomes a
    microsecond after the time before it.
    """
    kept = set(_longest_ascending(times, after))
    result: list[datetime] = []
    for position, time in enumerate(times):
        before = result[-1] if result else after
        if before is not None and (position not in kept or time <= before):
            time = before + timedelta(microseconds=1)
        result.append(time)
    return result


def _longest_ascending(times: list[datetime], after: datetime | None) -> list[int]:
    later = [i for i, time in enumerate(times) if after is None or time > after]
    # equal times are in order, too
    ranks = {time: rank for rank, time in enumerate(sorted({times[i] for i in later}))}
    width = len(later) + 1
    values = [ranks[times[i]] * width + number for number, i in enumerate(later)]
    return [later[number] for number in ascending(values)]
