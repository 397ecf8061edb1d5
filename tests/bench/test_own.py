"""Our engines in processes of their own; only that of Spark starts Java."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import xcql
from bench import own
from bench.answers import digest
from bench.data import NOW, Data, xmark_queries
from bench.measure import descendants
from bench.own import EMBEDDED, ENGINES, SPARK, STAGES, XCQLC, Own
from xcql.history.stream import stream_view
from xcql.model.time import parse_time


def test_the_embedded_engine_answers_without_java(tmp_path: Path) -> None:
    auction = Data(tmp_path / "data", generated=True).auction("0.001")
    text, answer = xmark_queries()["q20"], tmp_path / "answer.xml"
    view = stream_view(auction.fragments, auction.tags_file, parse_time(NOW)).document
    expected = xcql.evaluate(text, streams={"auction": view}, now=NOW).serialize()
    before = descendants()
    engine = Own(EMBEDDED, tmp_path)
    assert engine.load(auction) > 0
    assert engine.query(text, answer, 60) > 0
    assert digest(answer) == digest(expected)
    answer.unlink()
    assert engine.first(text, answer, 60) > 0
    assert digest(answer) == digest(expected)
    assert engine.native().part == "whole"
    assert engine.native().sql > 1000
    assert tuple(engine.stages(text, 60)) == STAGES[EMBEDDED]
    seconds, peak = engine.temporalize(tmp_path / "view.xml", 2, 60)
    assert len(seconds) == 2
    assert peak > 1
    assert digest(tmp_path / "view.xml").says_the_same(digest(auction.document))
    started = [name for id, name in descendants().items() if id not in before]
    assert started
    assert "java" not in started
    engine.stop()


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("is_store", [True, False])
def test_a_cold_start_names_its_engine_and_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_store: bool
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], *_: object, **environment: str) -> float:
        commands.append(command)
        assert environment == {"XDG_CACHE_HOME": str(tmp_path)}
        return 1.0

    monkeypatch.setattr(own, "run_command", run)
    data = tmp_path / "data"
    data.mkdir() if is_store else data.write_text("<a/>")
    assert own.cold(name, tmp_path, data, "1 + 1", tmp_path / "answer.xml", 60) == 1.0
    (command,) = commands
    assert command[command.index("--engine") + 1] == ENGINES[name]
    assert command[command.index("--store" if is_store else "--doc") + 1] == str(data)
    assert Path(command[command.index("-q") + 1]).read_text() == "1 + 1"


def test_xcqlc_knows_the_engines() -> None:
    told = subprocess.run([*XCQLC, "run", "--help"], capture_output=True, check=True, text=True)
    assert all(engine in told.stdout for engine in ENGINES.values())
    assert list(ENGINES) == [EMBEDDED, SPARK]
