"""A fixed sample of the QT3 cases in ../shared; `make qt3` runs them all."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

_FILE = Path(__file__).parents[2] / "tools/qt3.py"


def _tool() -> Any:
    spec = importlib.util.spec_from_file_location("qt3_tool", _FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_sample_of_600_cases() -> None:
    tool = _tool()
    folder = tool.cases_folder()
    if folder is None:
        pytest.skip("there is no ../shared/qt3 beside the repository")
    table, report = tool.run_cases(folder, "--sample", "600", "--seed", "4", "--jobs", "2")
    assert len(report["results"]) == 600
    new, mended = tool.changes(report)
    assert not new, table
    assert not mended


def test_every_known_failure_has_a_reason() -> None:
    assert all(len(reason) > 10 for reason in _tool().known_failures().values())
