"""The garbage collector is paused, and works afterwards as before."""

from __future__ import annotations

import gc

import pytest

from xcql.garbage import uncollected


def test_the_collector_is_paused_and_resumed() -> None:
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_failure_resumes_the_collector() -> None:
    with pytest.raises(ValueError, match="failed"), uncollected():
        raise ValueError("failed")
    assert gc.isenabled()


def test_nested_pauses_end_with_the_outermost() -> None:
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
