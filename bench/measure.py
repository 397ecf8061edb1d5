"""Measures time and memory: the best of several runs, with the spread; peaks, from outside."""

from __future__ import annotations

import math
import os
import resource
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

# runs that take this many seconds together are enough; shorter ones are not
_ENOUGH, _LITTLE = 5.0, 0.25
# this many runs are enough, however short they are
_MANY = 30


@dataclass(frozen=True, slots=True)
class Timing:
    """The shortest of several times, and how far the longest is from it."""

    seconds: float
    spread: float = 0.0

    @staticmethod
    def of(times: Iterable[float]) -> Timing:
        """
        >>> Timing.of([2.0, 3.0])
        Timing(seconds=2.0, spread=0.5)
        """
        found = list(times)
        return Timing(min(found), (max(found) - min(found)) / max(min(found), 1e-9))


def best_of(action: Callable[[], float], runs: int, first: float | None = None) -> Timing:
    """The best of this many runs, after a first one that does not count.

    There are fewer if they are long, and more if they are short: three runs of a few milliseconds
    may all have been disturbed.

    `action` returns its own time in seconds; `first` is the time of a first run that is done. If
    there are no further runs, it counts.
    """
    first = action() if first is None else first
    if runs < 1:
        return Timing(first)
    times: list[float] = []
    while sum(times) < (_ENOUGH if len(times) < runs else _LITTLE) and len(times) < max(
        runs, _MANY
    ):
        times.append(action())
    return Timing.of(times)


def clocked(action: Callable[[], object]) -> float:
    """The seconds that an action takes."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def geometric_mean(values: Iterable[float]) -> float | None:
    """
    >>> geometric_mean([1, 4])
    2.0
    """
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else None


def processor_time() -> float:
    """The processor seconds of this process and its descendants, including ended ones.

    The time of an ended process counts for its parent, which waits for it.
    """
    ticks = 0
    for process in descendants():
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


class PeakMemory:
    """The peak memory of this process and its descendants together, in megabytes.

    Java does not count: how much it takes is a setting.
    """

    def __init__(self) -> None:
        self.peak = 0.0
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watcher.join()

    def _watch(self) -> None:
        while True:
            python = (process for process, name in descendants().items() if name != "java")
            self.peak = max(self.peak, sum(map(_resident, python)))
            if self._over.wait(0.1):
                return


def own_peak() -> float:
    """The peak memory of this process, in megabytes.

    `getrusage` would return the peak of the parent process if that was higher.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def descendants() -> dict[int, str]:
    """This process and its descendants, with their names."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                name = Path(f"/proc/{entry}/comm").read_text().strip()
            except OSError:
                continue
            parents[int(entry)] = int(fields[1]), name
    found = {}
    for process, (_, name) in parents.items():
        above = process
        while above in parents and above != os.getpid():
            above = parents[above][0]
        if above == os.getpid():
            found[process] = name
    return found


def _resident(process: int) -> float:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * resource.getpagesize() / 1e6
