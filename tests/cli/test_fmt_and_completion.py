"""`xcqlc fmt` and `xcqlc completion`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from xcql.cli.main import VERBS, main

QUERY = "(: who :)\nfor $a in //account   return $a\n(: end :)\n"
LAID_OUT = "(: who :)\nfor $a in //account return $a\n(: end :)\n"


def test_fmt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "q.xcql"
    file.write_text(QUERY)
    assert main(["fmt", "q.xcql"]) == 0
    assert capsys.readouterr().out == LAID_OUT
    assert main(["fmt", "--check", "q.xcql"]) == 1
    assert capsys.readouterr() == ("", "would change: q.xcql\n")
    assert main(["fmt", "--write", "q.xcql"]) == 0
    assert file.read_text() == LAID_OUT
    assert main(["fmt", "--check", "q.xcql"]) == 0


def test_fmt_loses_no_comment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "q.xcql"
    file.write_text("1 (: one :) + 2")
    assert main(["fmt", "--write", str(file)]) == 1
    assert "formatting would lose this comment" in capsys.readouterr().err
    assert file.read_text() == "1 (: one :) + 2"
    assert main(["fmt", "-e", "<a>(: text :)</a>"]) == 0


def test_fmt_usage() -> None:
    assert main(["fmt"]) == 2
    assert main(["fmt", "-e", "1", "--write"]) == 2
    assert main(["fmt", "-", "--write"]) == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_verb(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(verb in script for verb in VERBS)
    assert "strategy" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script.encode(), check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("ex", "explain"),
        ("run --strat", "--strategy"),
        ("run --strategy qa", "qac qac+"),
        ("store ve", "verify"),
        ("run que", "query.xcql"),
    ],
)
def test_bash_completes(
    typed: str, completed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "query.xcql").touch()
    assert main(["completion", "bash"]) == 0
    words = f"xcqlc {typed}".split()
    script = capsys.readouterr().out + (
        f"\nCOMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _xcqlc;"
        ' echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout.strip(), done.stderr) == (completed, "")
