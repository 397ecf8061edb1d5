"""`xcqlc completion`: scripts that know every verb, and what bash completes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from xcql.cli.main import VERBS, main


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
