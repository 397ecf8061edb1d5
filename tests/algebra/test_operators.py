"""What holds for every operator."""

from __future__ import annotations

import pytest

from xcql.algebra.operators import (
    Aggregate,
    Distinct,
    Extract,
    Follow,
    Join,
    Merge,
    Nearest,
    Nest,
    Number,
    Order,
    Over,
    Plan,
    Project,
    Select,
    SortKey,
    Spread,
    Tally,
    Unnest,
    scalars,
    with_scalars,
)
from xcql.algebra.scalars import Column, Scalar, call

A, B = Extract("s", ("1",), "a"), Extract("s", ("2",), "b")
V, W, X, Y = map(Column, "vwxy")
KEY = SortKey(V, "text")
ONE = Aggregate("any", V)
PLANS: list[Plan] = [
    A,
    Follow(A, "s", "a", ("2",), "b", (V, W)),
    Unnest(A, V, "item", "at"),
    Select(A, V),
    Project(A, "x", V),
    Number(A, "n", (V, W)),
    Order(A, (KEY, SortKey(W, "text"))),
    Distinct(A, V, "text", (W, X)),
    Join(A, B, ((V, W),), X),
    Spread(A, V, W, "bucket", True),
    Tally(A, B, ((V, W),), "<", (X, Y), "n"),
    Nearest(A, B, ((V, W),), "<", (X, Y)),
    Over(A, "o", ONE, "from here", (W, X), Y),
    Over(A, "o", ONE, "so far", (W, X)),
    Nest(A, (("k", V),), (("f", Aggregate("min", W)),)),
    Merge((A, B), (("m", (V, W)),), (SortKey(X, "text"),), (Y,)),
]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: type(plan).__name__)
def test_scalars_change_in_their_places(plan: Plan) -> None:
    def change(scalar: Scalar) -> Scalar:
        return call("not", scalar)

    assert scalars(with_scalars(plan, change)) == tuple(map(change, scalars(plan)))
    assert with_scalars(plan, lambda one: one) is plan
