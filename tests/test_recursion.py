"""The recursion limit is raised for a block only, and never lowered."""

from __future__ import annotations

import sys

import pytest

from xcql.recursion import deep_recursion


@pytest.mark.parametrize("limit", [2_000, 100_000])
def test_the_limit_is_raised_and_restored(limit: int) -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        with deep_recursion():
            assert sys.getrecursionlimit() == max(limit, 25_000)
        assert sys.getrecursionlimit() == limit
    finally:
        sys.setrecursionlimit(before)
