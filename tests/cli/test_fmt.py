"""`xcqlc fmt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from xcql.cli.main import main

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
