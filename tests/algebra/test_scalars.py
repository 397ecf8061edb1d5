"""Properties of scalars are remembered while a query is compiled, and forgotten afterwards."""

from __future__ import annotations

from xcql.algebra.scalars import Column, Scalar, forgetting, remembered


def test_what_is_remembered_is_forgotten_after_the_block() -> None:
    asked: list[Scalar] = []

    @remembered
    def times_asked(scalar: Scalar) -> int:
        asked.append(scalar)
        return len(asked)

    scalar = Column("a")
    with forgetting():
        assert [times_asked(scalar), times_asked(scalar)] == [1, 1]
    assert times_asked(scalar) == 2
