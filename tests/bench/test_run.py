"""A run: rows are saved as they come; a failing benchmark does not stop the others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import bench.__main__ as program
from bench.data import Data
from bench.rows import Row, read_results
from bench.settings import Settings


def _benchmark(monkeypatch: pytest.MonkeyPatch, name: str, breaks: bool) -> str:
    def run(settings: Settings) -> Iterator[Row]:
        settings.tell("half-way")
        yield Row("b", name, "ours, embedded", 1.0, "s")
        if breaks:
            raise RuntimeError("out of luck")

    module = ModuleType(f"bench.{name}")
    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, f"bench.{name}", module)
    return name


def test_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "peers", lambda: ())
    names = [_benchmark(monkeypatch, "one", True), _benchmark(monkeypatch, "two", False)]
    settings = Settings(Data(tmp_path), tmp_path)
    results = program._run(names, settings, tmp_path / "results.json")
    assert [row.name for row in results.rows] == ["one", "two"]
    assert results.left_out == ("one broke off: RuntimeError: out of luck",)
    assert read_results(tmp_path / "results.json") == results
    assert results.machine["cores"]
    told = capsys.readouterr()
    assert "half-way" in told.err
    assert not told.out


def test_a_run_of_some_benchmarks_has_a_name_of_its_own() -> None:
    assert program._name(["xmark"]).endswith("-xmark.json")
    assert program._name([]) != program._name(["xmark"])
