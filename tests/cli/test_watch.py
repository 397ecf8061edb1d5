"""`xcqlc watch`: its output, its warnings, and errors before it starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runtime.streaming.worlds import QUERY, ROOT, TAGS_TEXT, bid, drop
from xcql.cli.main import main


@pytest.fixture
def inbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("tags.xml").write_text(TAGS_TEXT)
    drop(tmp_path / "inbox", "a.xml", [ROOT, *map(bid, range(13)), "<filler"])
    return tmp_path / "inbox"


@pytest.mark.usefixtures("spark", "inbox")
def test_updates_and_figures(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["watch", "-e", QUERY, "--source", "inbox", "--tags", "tags.xml", "--now", "event"]
    assert main([*command, "--checkpoint", "ck", "--until-idle", "1"]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == [f"insert {n + 1} <b>{n + 10}</b>" for n in range(3)]
    assert told.err.startswith("warning[")  # unbounded state
    lines = [line for line in told.err.splitlines() if line.startswith("batch ")]
    assert lines[0].startswith("batch 0: 0 fragments, 0 repeated, 0 late, ")
    assert lines[1].startswith("batch 1: 14 fragments, 0 repeated, 0 late, 1 quarantined, ")

    # it continues where it stopped
    drop(Path("inbox"), "b.xml", [bid(20, 11)])
    more = ["--checkpoint", "ck", "--trigger", "once", "--format", "jsonl", "--quiet"]
    assert main([*command, *more]) == 0
    told = capsys.readouterr()
    (update,) = map(json.loads, told.out.splitlines())
    assert (update["batch"], update["op"], update["item"]) == (2, "insert", "<b>11</b>")
    assert told.err == ""

    assert main([*command[:2], 'stream("s")', *command[3:], "--checkpoint", "ck"]) == 1
    assert "was made for another query" in capsys.readouterr().err


@pytest.mark.usefixtures("inbox")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "no source"),
        (["--source", "inbox", "--source", "inbox"], 2, "is given twice for every stream"),
        (["--source", "inbox", "--source", "s=inbox"], 2, "say which stream each --source is for"),
        (["--source", "inbox", "--tags", "inbox/a.xml"], 1, "a tag structure was expected"),
        (["--source", "inbox", "--store", "none"], 1, "there is no store 'none'"),
    ],
)
def test_mistakes(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["watch", "-e", QUERY, *arguments]) == code
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("spark", "inbox")
def test_mistakes_that_only_a_session_sees(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--source", "t=inbox", "--tags", "t=tags.xml"], "error[XCQL0004]"),
        (["--source", "inbox"], "error[XCQL0733]"),
        (
            ["--source", "kafka://localhost:9092/t", "--tags", "tags.xml"],
            "spark-sql-kafka-0-10_2.1",
        ),
    ):
        assert main(["watch", "-e", QUERY, "--trigger", "once", *arguments]) == 1
        assert message in capsys.readouterr().err
