"""How many examples property tests try: few at every commit, many in `make test-full`."""

from __future__ import annotations

import os

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
