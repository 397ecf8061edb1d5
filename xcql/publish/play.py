"""The order and pace in which fragments are sent."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from xcql.diagnostics import Diagnostic, XcqlError
from xcql.model.read import fragment_files, read_bytes
from xcql.model.time import START, parse_time
from xcql.publish.cut import cut

# how often per second a server checks what is due
_BEATS = 20
# how many are sent at once without a pause
_AT_ONCE = 500
# longer pauses, in seconds, are shortened: nights, and gaps long ago
_LONGEST_PAUSE = 5.0

_VALID_TIME = re.compile(rb"""^<[^>]*?\svalidTime\s*=\s*["']([^"']*)["']""")

# fragments that are sent together, with the seconds to wait before
Groups = Iterator[tuple[float, Sequence[bytes]]]


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace: a number of fragments per second, or a multiple of the speed of their validTimes.

    Without either, there is no pause.
    """

    rate: float | None = None
    speed: float | None = None

    @property
    def is_free(self) -> bool:
        return self.rate is None and self.speed is None


def fragments_of(
    paths: Iterable[str | Path], repeat: bool, warn: Callable[[Diagnostic], None]
) -> Iterator[bytes]:
    """The fragments of files, one after the other; with `repeat`, over and over again.

    A folder stands for its files, in order of name.
    """
    files = [file for path in paths for file in fragment_files(path)]
    for turn in itertools.count():
        is_empty = True
        for file in files:
            for fragment in cut(read_bytes(file), str(file)):
                if isinstance(fragment, bytes):
                    is_empty = False
                    yield fragment
                elif turn == 0:
                    warn(fragment)
        if is_empty or not repeat:
            return


def groups_of(
    fragments: Iterator[bytes], pace: Pace, clock: Callable[[], float] = time.monotonic
) -> Groups:
    """The fragments in groups that are sent together.

    A delay is made up for: due times count from the beginning.

    >>> [len(group) for _, group in groups_of(iter([b"<eos/>"] * 501), Pace())]
    [500, 1]
    """
    if pace.is_free:
        while group := list(itertools.islice(fragments, _AT_ONCE)):
            yield 0.0, group
        return
    begin = clock()
    for due, group in _by_beats(_due(fragments, pace)):
        yield max(0.0, begin + due - clock()), group


def _due(fragments: Iterator[bytes], pace: Pace) -> Iterator[tuple[float, bytes]]:
    """Each fragment with the number of seconds after the start when it is due."""
    if pace.rate is not None:
        for number, fragment in enumerate(fragments):
            yield number / pace.rate, fragment
        return
    assert pace.speed is not None
    due, latest = 0.0, None
    for fragment in fragments:
        time = _valid_time(fragment)
        if time is not None and (latest is None or time > latest):
            if latest is not None:
                pause = (time - latest).total_seconds() / pace.speed
                due += min(pause, _LONGEST_PAUSE)
            latest = time
        yield due, fragment  # a late fragment is sent with the ones that are on time


def _by_beats(due: Iterator[tuple[float, bytes]]) -> Iterator[tuple[float, list[bytes]]]:
    for _, group in itertools.groupby(due, lambda one: int(one[0] * _BEATS)):
        members = list(group)
        yield members[-1][0], [fragment for _, fragment in members]


def _valid_time(fragment: bytes) -> datetime | None:
    found = _VALID_TIME.match(fragment)
    if found is None:
        return None
    try:
        time = parse_time(found[1].decode("utf-8", "replace"))
    except XcqlError:
        return None
    return None if time == START else time
