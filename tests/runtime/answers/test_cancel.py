"""Ctrl-C cancels a running query, and the session continues."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys, xcql
from xcql_runtime.spark.start import local_session

spark = local_session(cores=2)
session = xcql.Session(sys.argv[1], spark)
assert session.query("1 + 1", "caq").to_xml() == ["2"]
print("ready", flush=True)
try:
    session.query("count(for $i in 1 to 1000000000 return $i mod 7)", "caq").count()
except KeyboardInterrupt:
    print("interrupted", flush=True)
assert spark.range(0, 4, 1, 4).count() == 4
assert session.query("2 + 2", "caq").to_xml() == ["4"]
assert spark.getTags() == set()
print("usable", flush=True)
spark.stop()
"""


@pytest.mark.slow
def test_an_interrupted_query_leaves_the_session_usable(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "store")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        # the query must be running
        try:
            process.wait(timeout=4)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert output.splitlines() == ["interrupted", "usable"], errors
    assert (process.returncode, errors) == (0, "")
