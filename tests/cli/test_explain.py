"""`xcqlc explain`: complete outputs, which are also documentation; none of them starts Spark."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from xcql.cli.main import main

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "explained"
STREAMS = {
    "credit": [
        "--stream",
        "credit=samples/credit/fragments.xml",
        "--tags",
        "samples/credit/tags.xml",
    ],
}
CASES = {
    "large-purchases": ["samples/credit/queries/large-purchases.xcql"],
    "large-purchases-qac": ["samples/credit/queries/large-purchases.xcql", "--strategy", "qac"],
    "fraud": ["samples/papers/1-3.1-fraud.xcql", "--quiet"],
    "not-native": [
        "-e",
        'for $t in stream("credit")//transaction\n'
        "let $v := string($t/vendor)\n"
        'return normalize-unicode($v, "NFKD")',
    ],
    "valid-now": ["-e", 'stream("credit")//account[@id = "1234"]/creditLimit?[now]'],
    "caq": ["-e", 'stream("credit")//account[1]', "--strategy", "caq"],
    "large-purchases.mermaid": [
        "samples/credit/queries/large-purchases.xcql",
        "--format",
        "mermaid",
    ],
}


@pytest.fixture(autouse=True)
def _here_without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("xcql_runtime.spark.engine.local_session", None)


@pytest.mark.parametrize("name", CASES)
def test_whole_texts(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`XCQL_WRITE_GOLDEN=1` rewrites the files; review the diff."""
    assert main(["explain", *CASES[name], *STREAMS["credit"]]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("XCQL_WRITE_GOLDEN"):
        golden.write_text(out, encoding="utf-8")
    assert out == golden.read_text(encoding="utf-8")


def test_one_stage_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    query = ["samples/credit/queries/large-purchases.xcql", *STREAMS["credit"], "--format", "json"]
    assert main(["explain", *query, "--stage", "joins"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "joins": ["holes of transaction -> fillers of status; keep those without one too"]
    }
    assert main(["explain", *query]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["strategy"]["chosen"] == "qac+"
    assert [step["rule"] for step in data["rules"]] == ["fold_holes", "hole_joins", "outer_join"]
    assert data["query"][0]["text"] == "transaction[amount > 1000]"
    assert data["native"]["whole"] is True
    assert "SELECT" in data["sql"]


def test_tree_and_sql(capsys: pytest.CaptureFixture[str]) -> None:
    query = ["-e", 'stream("credit")//account', *STREAMS["credit"], "--stage"]
    assert main(["explain", *query, "tree"]) == 0
    assert capsys.readouterr().out.startswith("MainModule @1:1")
    assert main(["explain", *query, "sql"]) == 0
    assert "SELECT" in capsys.readouterr().out
    assert main(["explain", *query, "sql", "--strategy", "caq"]) == 0
    assert "there is no SQL" in capsys.readouterr().out
    assert main(["explain", *query, "sql", "--format", "mermaid"]) == 2


@pytest.mark.usefixtures("spark")
def test_sparks_own_plan(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(ROOT)
    query = ["-e", 'count(stream("credit")//account)', *STREAMS["credit"]]
    assert main(["explain", *query, "--stage", "spark"]) == 0
    assert "Physical Plan" in capsys.readouterr().out
