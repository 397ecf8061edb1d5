"""`xcqlc shell`, fed through a pipe; terminal features are tested one by one."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from xcql.cli.line_editing import completer
from xcql.cli.main import main
from xcql.cli.shell import entries, is_incomplete

SAMPLES = Path(__file__).parents[2] / "samples"
CREDIT = [
    *("--stream", f"credit={SAMPLES / 'credit/fragments.xml'}"),
    *("--tags", str(SAMPLES / "credit/tags.xml")),
]


def asked(lines: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    return main(["shell", *CREDIT, *options])


def split(text: str) -> list[str]:
    lines = iter(text.splitlines())
    return list(entries(lambda prompt: next(lines, None)))


def test_a_query_ends_when_it_is_complete() -> None:
    assert split("1 + 1\nfor $a in (1, 2)\nreturn $a\n\n\\timing\n2") == [
        *("1 + 1", "for $a in (1, 2)\nreturn $a", "\\timing", "2")
    ]
    # a backslash continues a complete query, an empty line ends an incomplete one
    assert split('stream("a") \\\n//b\n1 +\n\n2') == ['stream("a") \n//b', "1 +\n", "2"]
    assert split("1 +") == ["1 +"]


@pytest.mark.parametrize(
    ("query", "incomplete"),
    [
        *[
            (text, True)
            for text in ("let $a := 1", '"open', "(: open", "<a>", "f(", "a[", '<a b="')
        ],
        *[(text, False) for text in ("1", "a retrn b", "1 )", "//a")],
    ],
)
def test_is_incomplete(query: str, incomplete: bool) -> None:
    assert is_incomplete(query) is incomplete


@pytest.mark.usefixtures("spark")
def test_one_query_after_the_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    query = 'count(stream("credit")\n//transaction[status?[now] = "charged"])'.replace("\n", "\\\n")
    lines = (
        f"\\now 2003-10-31\n{query}\n\\now 2003-11-10\n{query}\n\\timing on\n1 div 0\n2\n\\quit\n3"
    )
    assert asked(lines, monkeypatch) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        *("now is 2003-10-31T00:00:00", "3"),
        *("now is 2003-11-10T00:00:00", "5"),
        *("timing on", "2"),
    ]
    assert "error[FOAR0001]" in err
    assert "1 item, " in err


def test_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("xcql_runtime.spark.engine.local_session", None)
    lines = (
        "\\help\n\\tags\n\\tags credit\n\\strategy qac\n\\strategy fast\n\\now soon\n\\nwo\n"
        "\\explain\n"
        '\\explain stream("credit")//account\n\\now clock\n'
    )
    assert asked(lines, monkeypatch) == 1
    out, err = capsys.readouterr()
    assert "\\explain [QUERY]" in out
    assert out.count('<tag type="event" id="5" name="transaction">') == 2
    assert "strategy qac\n" in out
    assert "holes of creditAccounts -> fillers of account" in out
    assert "now is the current time" in out
    for told in (
        "unknown strategy fast",
        "'soon' is not a valid time",
        "unknown command \\nwo",
        "no query yet",
    ):
        assert told in err


def test_completion() -> None:
    complete = completer(lambda: ["account", "amount", "avg("])
    assert [complete("a", number) for number in range(4)] == ["account", "amount", "avg(", None]
    assert complete("x", 0) is None


def test_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words: list[str] = []

    def look(shell: object, entry: str) -> bool:
        words.extend(shell.words())  # type: ignore[attr-defined]
        return False

    monkeypatch.setattr("xcql.cli.shell.Shell.take", look)
    assert asked("1", monkeypatch) == 0
    assert {"\\explain", 'stream("credit")', "creditLimit", "vtFrom(", "string-join("} <= set(words)


_TYPED = """
from xcql.cli.line_editing import edited_lines
with edited_lines(lambda: ["\\\\timing"]) as read_line:
    print("read", read_line("xcql> "))
    read_line("more> ")
"""


def test_history_is_kept(tmp_path: Path) -> None:
    """On a real terminal, in its own process: typed, completed by Tab, and remembered."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _TYPED],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "TERM": "dumb"},
    )
    with process:
        shown = b""
        for awaited, typed in [(b"xcql> ", b"\\tim\t\n"), (b"more> ", b"\x04")]:
            while awaited not in shown:
                shown += os.read(ours, 1024)
            os.write(ours, typed)
    assert b"read \\timing" in shown
    os.close(ours)
    os.close(theirs)
    assert "\\timing" in (tmp_path / "xcql" / "history").read_text()
