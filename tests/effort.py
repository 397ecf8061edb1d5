"""How hard property tests try: a little at every commit, long in `make test-full`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

FULL = bool(os.environ.get("XCQL_TEST_FULL"))


def examples(at_commit: int, full: int = 10_000) -> settings:
    """Settings for a property test: this many examples, and a way to run a failure again."""
    return settings(
        max_examples=full if FULL else at_commit,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
