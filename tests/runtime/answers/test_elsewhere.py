"""The same answers on two executors in separate processes, and through Spark Connect.

A process has one kind of session, so each kind gets a process, which runs `test_answer.py`.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["local-cluster", "connect"])
def test_answers_on(kind: str) -> None:
    if kind == "connect" and importlib.util.find_spec("grpc") is None:
        pytest.skip("pyspark[connect] is not installed")
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-k",
            "not embedded",
            "tests/runtime/answers/test_answer.py",
        ],
        env={**os.environ, "XCQL_TEST_SPARK": kind},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert result.returncode == 0, result.stdout[-4000:]
