"""Without Java, everything works but Spark, which says clearly what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.runtime.samples import STREAMS

FRAGMENTS, TAGS = STREAMS["credit"]
CREDIT = ["--stream", f"credit={FRAGMENTS}", "--tags", str(TAGS)]
QUERY = ["-e", 'count(stream("credit")//account)']


def _run(
    *arguments: str, text: str = "", program: tuple[str, ...] = ("-m", "xcql.cli.main")
) -> subprocess.CompletedProcess[str]:
    """Run a command in an environment in which no Java can be found."""
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return subprocess.run(
        [sys.executable, *program, *arguments],
        env={**environment, "PATH": str(Path(sys.executable).parent)},
        input=text,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("arguments", "text", "expected"),
    [
        (["run", *QUERY, *CREDIT], "", "4\n"),
        (["run", *QUERY, *CREDIT, "--strategy", "caq"], "", "4\n"),
        (["run", *QUERY, *CREDIT, "--format", "csv"], "", "value\n4\n"),
        (["run", "-e", "count(//item)", "--doc", "samples/documents/monday.xml"], "", "2\n"),
        (["shell", *CREDIT], QUERY[1], "4\n"),
        (["explain", *QUERY, *CREDIT, "--stage", "native"], "", "all of it runs as SQL\n"),
    ],
    ids=["run", "caq", "csv", "doc", "shell", "explain"],
)
def test_commands(arguments: list[str], text: str, expected: str) -> None:
    done = _run(*arguments, text=text)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(expected)


def test_a_store(tmp_path: Path) -> None:
    store = ["--store", str(tmp_path / "store"), "--stream", "credit"]
    assert _run("ingest", str(FRAGMENTS), "--tags", str(TAGS), *store).returncode == 0
    view = _run("temporalize", *store, "--now", "2003-12-01")
    assert view.stdout.startswith("<creditAccounts>")
    assert view.stderr == ""


def test_the_demo() -> None:
    assert "ResAris Contaceu" in _run(program=("samples/demo.py",)).stdout


def test_spark_says_what_it_needs() -> None:
    done = _run("run", *QUERY, *CREDIT, "--engine", "spark")
    assert done.returncode == 1
    assert "error[XCQL0510]: Spark needs Java 17 or newer, and Java is not installed" in done.stderr
    assert "--engine embedded" in done.stderr


def test_spark_is_not_imported() -> None:
    program = (
        "import sys, xcql\n"
        f"streams = {{'credit': ({str(FRAGMENTS)!r}, {str(TAGS)!r})}}\n"
        "with xcql.Session.temporary(streams) as session:\n"
        f"    answer = session.query({QUERY[1]!r})\n"
        "    print(answer.to_xml(), answer.arrow().num_rows)\n"
        "print([name for name in ('pyspark', 'py4j') if name in sys.modules])\n"
    )
    done = _run(program=("-c", program))
    assert (done.stdout, done.stderr) == ("['4'] 1\n[]\n", "")
