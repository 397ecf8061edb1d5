"""Random queries over random streams: every strategy of the translation agrees with the evaluator.

A failure names its case: `case(WORLD, QUERY)` of `random_queries` reproduces it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import xcql
from tests.effort import FULL
from tests.queries.random_queries import Case, case, cases
from tests.translate import saxon

WORLDS, QUERIES = (100, 10) if FULL else (8, 5)


@pytest.fixture(scope="module")
def drawn() -> list[Case]:
    return list(cases(16, WORLDS, QUERIES))


def test_same_answer_by_every_strategy(drawn: list[Case], tmp_path: Path) -> None:
    for one in drawn:
        folder = tmp_path / str(one.world.seed)
        folder.mkdir(exist_ok=True)
        streams = {}
        for name, (fragments, tags) in one.streams().items():
            file = folder / f"{name}.xml"
            file.write_text(fragments, encoding="utf-8")
            streams[name] = (file, tags)
        try:
            saxon.agree(one.text, streams, one.now, folder)
        except AssertionError as difference:
            raise AssertionError(f"{one.name}: {difference}") from None


def test_most_have_an_answer(drawn: list[Case]) -> None:
    answers = [xcql.evaluate(one.text, streams=one.streams(), now=one.now) for one in drawn]
    assert sum(1 for answer in answers if len(answer)) > 0.8 * len(answers)


def test_a_case_can_be_made_again(drawn: list[Case]) -> None:
    for one in drawn[::7]:
        assert case(one.world.seed, one.number) == one


def test_they_are_diverse(drawn: list[Case]) -> None:
    """Each of these occurs in some query that was drawn."""
    text = "\n".join(one.text for one in drawn)
    for sign in ("where", "order by", "group by", "let", "count(", "sum(", "?[", "#[", "<j>", "//"):
        assert sign in text
    assert len({one.text for one in drawn}) > 0.9 * len(drawn)
