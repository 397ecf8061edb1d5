"""Sorted keys with ranks, against a plain list."""

from __future__ import annotations

from bisect import bisect_left, insort

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import examples
from xcql.continuous import ranks
from xcql.continuous.ranks import Ranks


@examples(30, full=1000)
@given(st.lists(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_ranks(changes: list[int], first: set[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranks, "_BLOCK", 3)
        known = sorted(number.to_bytes(1) for number in first)
        ranked = Ranks(known)
        for number in changes:
            key = number.to_bytes(1)
            at = bisect_left(known, key)
            if key in known:
                assert ranked.rank(key) == ranked.remove(key) == at
                known.remove(key)
            else:
                assert ranked.add(key) == at
                insort(known, key)
            assert len(ranked) == len(known)
        assert [ranked.rank(key) for key in known] == list(range(len(known)))
