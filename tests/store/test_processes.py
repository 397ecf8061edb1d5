"""Work in separate processes: results in order, errors as they were raised."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from xcql.diagnostics import XcqlError, error
from xcql.store.processes import on_cores


def squared(number: int) -> int:
    print("what is printed is no answer")
    return number * number


def refused(number: int) -> int:
    if number == 2:
        raise error("XCQL0315", "not this one")
    return number


def ended(number: int) -> None:
    os._exit(number)


def process(_: int) -> int:
    return os.getpid()


_kept: list[bytes] = []


def much(_: int) -> int:
    """Allocate 200 MB, and free all but the last thousand bytes."""
    pieces = [bytes(1000) for _ in range(200_000)]
    _kept.append(pieces.pop())
    return os.getpid()


def test_results_are_in_order() -> None:
    with on_cores(2) as run:
        assert run(squared, range(20)) == [number * number for number in range(20)]
        assert run(squared, []) == []
        first = set(run(process, range(8)))
        assert os.getpid() not in first
        assert set(run(process, range(8))) <= first


def test_errors_are_raised_as_they_were() -> None:
    with on_cores(2) as run:
        with pytest.raises(XcqlError, match="not this one"):
            run(refused, [1, 2, 3])
        assert run(refused, [1]) == [1]


def test_a_process_that_ends_is_told_of() -> None:
    with on_cores(1) as run, pytest.raises(XcqlError, match="code 3"):
        run(ended, [3])


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_a_process_with_nothing_to_do_gives_its_memory_back() -> None:
    with on_cores(1) as run:
        (worker,) = run(much, [1])
        status = Path(f"/proc/{worker}/status").read_text()
        assert int(status.partition("RssAnon:")[2].split()[0]) < 150_000
