"""How many examples property tests try: few at every commit, many in `make test-full`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

FULL = bool(os.environ.get("XCQL_TEST_FULL"))


def examples(at_commit: int, full: int = 10_000) -> settings:
    """Settings for a property test: the number of examples, and a way to reproduce a failure."""
    return settings(
        max_examples=full if FULL else at_commit,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def worlds(numbers: Iterable[int], on_spark: int = 4) -> pytest.MarkDecorator:
    """Runs a test with `open_session` and `number` on each world; on Spark, on one in `on_spark`.

    Plans are the same for both engines, and Spark needs long to plan random queries.
    """
    every = list(numbers)
    cases: list[Any] = [("embedded", number) for number in every]
    cases += [pytest.param("spark", number, marks=pytest.mark.slow) for number in every[::on_spark]]
    return pytest.mark.parametrize(("new_session", "number"), cases, indirect=["new_session"])
