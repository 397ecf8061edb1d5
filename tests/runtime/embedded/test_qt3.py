"""QT3 cases on the embedded engine, against the evaluator; see `tools/qt3_embedded.py`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

# so that several processes can share the work
PARTS = 12
TOOLS = Path(__file__).parents[3] / "tools"


def _tool(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look for it there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tool() -> Any:
    return _tool("qt3_embedded")


@pytest.fixture(scope="module")
def folder() -> Path:
    found: Path | None = _tool("qt3").cases_folder()
    if found is None:
        pytest.skip("there is no ../shared/qt3 beside the repository")
    return found


def _check(tool: Any, folder: Path, sample: int | None, part: int = 0) -> list[Any]:
    """Run a sample of the cases, or a part of all of them."""
    runner = tool.load_runner(folder)
    cases = tool.select_cases(runner, folder, sample, seed=4)
    results = list(tool.run_cases(runner, cases if sample else cases[part::PARTS]))
    new, mended = tool.changes(results)
    assert not new, "\n".join(new)
    assert not mended
    return results


def test_a_sample_of_150_cases(tool: Any, folder: Path) -> None:
    results = _check(tool, folder, 150)
    assert len(results) == 150
    assert sum(one.share == tool.NATIVE for one in results) > 75


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_all_cases(tool: Any, folder: Path, part: int) -> None:
    assert len(_check(tool, folder, None, part)) > 11_000 // PARTS


def test_answers_that_are_right_for_the_stream_only(tool: Any, folder: Path) -> None:
    runner = tool.load_runner(folder)
    cases = tool.select_cases(runner, folder, cases="^op-union/fn-union-node-args-007$")
    (result,) = tool.run_cases(runner, cases)
    assert result.status == "pass"
    assert not result.passes
    assert not result.differs
    assert "comments" in result.lost[0]


def test_a_difference_is_noticed(tool: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tool.Outcome(("another answer",)), tool.NATIVE, ()
    monkeypatch.setattr(tool.Comparison, "_answered", lambda *_: other)
    runner = tool.load_runner(folder)
    (result,) = tool.run_cases(runner, tool.select_cases(runner, folder, sample=1))
    new, _ = tool.changes([result])
    assert len(new) == 1
    assert "another answer" in new[0]


def test_every_known_difference_has_a_reason(tool: Any) -> None:
    assert all(len(reason) > 10 for reason in tool.known_differences().values())
