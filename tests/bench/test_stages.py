"""The stages of both engines: their names, and which of them has a goal."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import stages
from bench.asks import Asks
from bench.data import Data
from bench.own import EMBEDDED, ENGINES, SPARK, STAGES
from bench.rows import Goal
from bench.settings import Settings


class _Engine:
    """Has the interface of `Own`; every stage takes a millisecond more than the one before."""

    def __init__(self, name: str) -> None:
        self.name = name

    def load(self, auction: object) -> None:
        pass

    def stages(self, text: str, patience: float) -> dict[str, float]:
        return {stage: (place + 1) / 1000 for place, stage in enumerate(STAGES[self.name])}

    def asks(self, text: str, answer: Path) -> Asks:
        def ask(patience: float) -> float:
            answer.write_text("2")
            return 0.02

        return Asks(ask, ask)

    def stop(self) -> None:
        pass


@pytest.mark.parametrize("name", ENGINES)
def test_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(stages, "xmark_queries", lambda: {"q01": "1"})
    monkeypatch.setattr(Data, "auction", lambda *_: None)
    settings = Settings(Data(tmp_path), tmp_path, runs=2)
    rows = list(stages._engine(settings, _Engine(name)))  # type: ignore[arg-type]
    found = {(row.name, row.way): row for row in rows}
    assert [way for subject, way in found if subject == "q01"] == list(STAGES[name])
    smallest = {f"{name}, first asked", f"{name}, asked again"}
    assert all(found["1 + 1", way].value == 20 for way in smallest)
    with_goal = {way for (_, way), row in found.items() if row.goal == Goal(150)}
    assert with_goal == smallest | {EMBEDDED: set(), SPARK: {"Spark: text to plan"}}[name]


def test_no_stage_has_the_name_of_another_engines() -> None:
    assert not set(STAGES[EMBEDDED]) & set(STAGES[SPARK])
