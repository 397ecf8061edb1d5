"""`xcqlc translate`"""

from __future__ import annotations

from pathlib import Path

import pytest

from xcql.cli.main import main

ROOT = Path(__file__).parents[2]
TAGS = str(ROOT / "samples" / "credit" / "tags.xml")
FRAGMENTS = str(ROOT / "samples" / "credit" / "fragments.xml")
QUERY = 'stream("credit")//account/customer'


def test_prints_xquery(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "-e", QUERY, "--tags", TAGS, "--strategy", "qac"]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("/account/customer\n")
    assert err == ""


def test_explains(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "-e", QUERY, "--tags", f"credit={TAGS}", "--explain"]) == 0
    err = capsys.readouterr().err
    assert 'note: stream "credit": qac+, from its fragments' in err
    assert "by tsid 2" in err


def test_warns(capsys: pytest.CaptureFixture[str]) -> None:
    query = 'stream("credit")/creditAccounts/acount'
    assert main(["translate", "-e", query, "--tags", TAGS]) == 0
    assert "no 'acount' below 'creditAccounts'; did you mean 'account'?" in capsys.readouterr().err


def test_standalone(tmp_path: Path) -> None:
    out = tmp_path / "query.xq"
    arguments = ["--standalone", "--fragments", FRAGMENTS, "--now", "2003-12-01", "-o", str(out)]
    assert main(["translate", "-e", QUERY, "--tags", TAGS, *arguments]) == 0
    text = out.read_text()
    assert "import module" not in text
    assert 'xs:dateTime("2003-12-01T00:00:00")' in text


def test_clean_copy_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rootless = tmp_path / "rootless.xml"
    rootless.write_text('<filler id="0" tsid="1"><creditAccounts/></filler>')
    out = tmp_path / "query.xq"
    arguments = ["--standalone", "--fragments", f"credit={rootless}", "-o", str(out)]
    command = ["translate", "-e", QUERY, "--tags", TAGS, *arguments]
    assert main(command) == 1
    assert "a clean copy, credit.clean.xml: --clean-to FOLDER" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [rootless]
    assert main([*command, "--clean-to", str(tmp_path / "clean")]) == 0
    assert "credit.clean.xml" in capsys.readouterr().err
    assert (tmp_path / "clean" / "credit.clean.xml").exists()
    assert "credit.clean.xml" in out.read_text()


def test_several_streams_need_names(capsys: pytest.CaptureFixture[str]) -> None:
    query = 'stream("a")/x, stream("b")/x'
    assert main(["translate", "-e", query, "--tags", TAGS]) == 1
    assert "XCQL0405" in capsys.readouterr().err


def test_where_the_library_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "--library"]) == 0
    assert Path(capsys.readouterr().out.strip()).name == "xcql.xqm"
