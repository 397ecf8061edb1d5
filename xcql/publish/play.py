"""The order and pace in which fragments go out."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xcql.diagnostics import Diagnostic
from xcql.model.read import fragment_files, read_bytes
from xcql.publish.cut import cut

# so often a second a server with a rate looks at what is due
_BEATS = 20
# so many go out at once if there is no rate
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Play:
    """What is to be played: files, fragments a second (None: no pause), and for ever or once."""

    files: tuple[Path, ...]
    rate: float | None = None
    repeat: bool = False


def play_of(paths: Iterable[str | Path], rate: float | None = None, repeat: bool = False) -> Play:
    """What to play; a folder stands for its files, by name."""
    return Play(tuple(file for path in paths for file in fragment_files(path)), rate, repeat)


def fragments_of(play: Play, warn: Callable[[Diagnostic], None]) -> Iterator[bytes]:
    """The fragments, one after the other; with `repeat` from the beginning again."""
    for turn in itertools.count():
        is_empty = True
        for file in play.files:
            for fragment in cut(read_bytes(file), str(file)):
                if isinstance(fragment, bytes):
                    is_empty = False
                    yield fragment
                elif turn == 0:
                    warn(fragment)
        if is_empty or not play.repeat:
            return


def groups_of(
    fragments: Iterator[bytes], rate: float | None, clock: Callable[[], float] = time.monotonic
) -> Iterator[tuple[float, Sequence[bytes]]]:
    """What goes out together, with the seconds to wait before it.

    Whoever falls behind does not stay behind: what is due is counted from the beginning.
    """
    begin, sent = clock(), 0
    while True:
        if rate is None:
            pause, count = 0.0, _AT_ONCE
        else:
            count = max(1, round(rate / _BEATS))
            pause = max(0.0, begin + sent / rate - clock())
        group = list(itertools.islice(fragments, count))
        if not group:
            return
        sent += len(group)
        yield pause, group
