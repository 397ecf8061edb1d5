"""Pieces of work in processes of their own: results in order, errors as they were raised."""

from __future__ import annotations

import os

import pytest

from xcql.diagnostics import XcqlError, error
from xcql_runtime.processes import on_cores


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
