"""After every trigger the answer equals the reference evaluator's over all fragments so far,
whatever their order, repetitions, replacements and removals, and however they are cut."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.continuous.shapes import SHAPES
from tests.continuous.worlds import check, random_world
from tests.effort import FULL, examples

RUNS = 200 if FULL else 20


@pytest.mark.parametrize("number", range(RUNS))
def test_all_shapes(number: int) -> None:
    """One world per run; at each commit it runs a seventh of the shapes, in turn."""
    random = Random(number)
    world = random_world(random)
    for index, query in enumerate(SHAPES.values()):
        if FULL or index % 7 == number % 7:
            with TemporaryDirectory() as folder:
                check(
                    query,
                    world,
                    Path(folder),
                    "event" if number % 4 == 3 else "wall",
                    restarts=number % 5 == 0,
                )


@examples(10, full=300)
@given(st.randoms(use_true_random=False), st.sampled_from(sorted(SHAPES)))
def test_a_random_shape(random: Random, shape: str) -> None:
    with TemporaryDirectory() as folder:
        check(SHAPES[shape], random_world(random), Path(folder))
