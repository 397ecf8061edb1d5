"""The best of several runs, peak memory, processor time."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from bench.measure import (
    PeakMemory,
    Timing,
    best_of,
    clocked,
    geometric_mean,
    processor_time,
)


def test_the_first_run_does_not_count_unless_it_is_the_only_one() -> None:
    times = iter([9.0, 1.0, 1.5, 2.0])
    assert best_of(lambda: next(times), 3) == Timing(1.0, 1.0)
    assert best_of(lambda: 5.0, 0) == Timing(5.0)


def test_what_is_long_is_not_repeated() -> None:
    times = iter([30.0, 20.0])
    assert best_of(lambda: next(times), 3) == Timing(20.0)


def test_what_is_short_is_repeated_for_a_while() -> None:
    times = iter([0.1, 0.09375, 0.0625, 0.0625, 0.03125, 0.0])
    assert best_of(lambda: next(times), 3).seconds == 0.03125
    assert next(times) == 0.0
    assert best_of(lambda: 0.0, 3).seconds == 0.0


def test_geometric_mean() -> None:
    assert geometric_mean([0.5, 2]) == pytest.approx(1)
    assert geometric_mean([]) is None


def test_memory_and_processor_time_of_this_process() -> None:
    before = processor_time()
    with PeakMemory() as memory:
        assert clocked(lambda: sum(range(8_000_000))) > 0
    assert processor_time() > before
    assert memory.peak > 1


def test_the_time_of_a_process_that_has_begun_and_ended_meanwhile_counts() -> None:
    before, own = processor_time(), time.process_time()
    subprocess.run([sys.executable, "-c", "sum(range(20_000_000))"], check=True)
    of_this_one = time.process_time() - own
    assert processor_time() - before - of_this_one > 0.1
