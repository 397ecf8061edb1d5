"""Ctrl-C stops a query on the embedded engine at once, and the session continues."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import sys, time, xcql

session = xcql.Session(sys.argv[1], engine="embedded")
answer = session.query(sys.argv[2], sys.argv[3])
print("ready", answer.strategy, flush=True)
try:
    answer.to_xml()
except KeyboardInterrupt:
    print("interrupted", flush=True)
assert session.query("2 + 2").to_xml() == ["4"]
print("usable", flush=True)
time.sleep(0.2)
busy = time.process_time()
time.sleep(0.3)
print("idle" if time.process_time() - busy < 0.1 else "busy", flush=True)
"""
TAGS = """<structure><tag type="snapshot" id="1" name="r">
  <tag type="temporal" id="2" name="i"/></tag></structure>"""
ROOT = '<filler id="0" tsid="1" validTime="2001-01-01"><r>{}</r></filler>'
ITEM = '<filler id="{}" tsid="2" validTime="2001-01-01"><i n="{}"/></filler>'
X = 'stream("s")//i'
# in SQL, in a part that the evaluator computes, in the evaluator as a whole
QUERIES = {
    "sql": f"count(for $a in {X}, $b in {X}, $c in {X} where $a/@n * $b/@n * $c/@n < 0 return 1)",
    "part": "for $i in 1 to 2 return fold-left(1 to 100000000, $i, function($a, $b) { $a })",
    "whole": "count(for $i in 1 to 1000000000 return $i mod 7)",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.compile.conftest import world_store

    numbers = range(1, 4001)
    holes = "".join(f'<hole id="{number}" tsid="2"/>' for number in numbers)
    items = "".join(ITEM.format(number, number) for number in numbers)
    fragments = f"<fragments>{ROOT.format(holes)}{items}</fragments>"
    return world_store(tmp_path_factory.mktemp("running"), {"s": fragments}, {"s": TAGS})


@pytest.mark.parametrize("name", QUERIES)
def test_ctrl_c(store: Path, name: str) -> None:
    output, errors = _interrupted(store, QUERIES[name], "caq" if name == "whole" else "auto")
    assert (output, errors) == (["usable", "idle"], "")


def test_an_expression_that_duckdb_does_not_interrupt(store: Path) -> None:
    """The user gets the prompt back, and the session continues beside it."""
    query = "count(for $i in 1 to 100000, $j in 1 to 100000 where $i * $j = 7 return 1)"
    output, _ = _interrupted(store, query, "auto")
    assert output[0] == "usable"


def _interrupted(store: Path, query: str, strategy: str) -> tuple[list[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(store), query, strategy],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith("ready")
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            assert process.stdout.readline() == "interrupted\n"
            assert time.monotonic() - began < 1
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    return output.split(), errors
