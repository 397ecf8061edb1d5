"""`xcqlc infer-tags` and `xcqlc fragment`, as a user runs them."""

from __future__ import annotations

import gzip
import io
from datetime import datetime
from pathlib import Path

import pytest

from tests.model.rebuilt import canonical_text, rebuilt
from xcql.cli.main import main
from xcql.model.tags import read_tags

MONDAY = "<list>\n  <item id='a'>1</item>\n</list>"
TUESDAY = "<list>\n  <item id='b'>2</item>\n  <item id='a'>1</item>\n</list>"
WEDNESDAY = "<list>\n  <item id='b'>3</item>\n</list>"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in [("mon", MONDAY), ("tue", TUESDAY), ("wed", WEDNESDAY)]:
        (tmp_path / f"{name}.xml").write_text(text)
    (tmp_path / "history").mkdir()
    assert main(["infer-tags", "tue.xml", "--temporal", "//item", "-o", "tags.xml"]) == 0
    return tmp_path


def test_a_series_of_dumps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for day, name in enumerate(["mon", "tue", "wed"], 20):
        arguments = ["fragment", f"{name}.xml", "--tags", "tags.xml", "-o", f"history/{day}.xml"]
        arguments += ["--valid-time", f"2003-10-{day}"]
        if day > 20:
            arguments += ["--previous", "history"]
        assert main(arguments) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert [line.partition(",")[0] for line in told.err.splitlines()] == [
        "2 fillers",
        "2 changes",
        "3 changes",
    ]
    files = [(folder / "history" / f"{day}.xml").read_bytes() for day in (20, 21, 22)]
    tags = read_tags("tags.xml")

    def at(day: int) -> str:
        return "".join(rebuilt(files, tags, datetime(2003, 10, day)).split())

    for day, text in [(20, MONDAY), (21, TUESDAY), (22, WEDNESDAY)]:
        assert at(day) == "".join(canonical_text(text).split())


def test_a_key_in_a_child(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    item = "<item><name>{}</name>{}</item>"
    one = f"<list>{item.format('a', 1)}{item.format('b', 2)}</list>"
    other = f"<list>{item.format('b', 1)}</list>"
    (folder / "one.xml").write_text(one)
    (folder / "other.xml").write_text(other)
    assert main(["infer-tags", "one.xml", "--temporal", "//item", "-o", "tags.xml"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[1] == "possible key: --key '/list/item=name[1]' tells 2 elements in 1 parent apart"
    arguments = ["fragment", "other.xml", "--tags", "tags.xml", "--previous", "one.xml"]
    assert main([*arguments, "--key", "/list/item=name[1]", "-o", "out.xml", "-q"]) == 0
    assert '<filler id="2" ' in (folder / "out.xml").read_text()


def test_to_standard_output_from_standard_input(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = io.TextIOWrapper(io.BytesIO(gzip.compress(MONDAY.encode())))
    monkeypatch.setattr("sys.stdin", packed)
    assert (
        main(["fragment", "-", "--tags", "tags.xml", "--valid-time", "2003-10-20T01:00+01:00"]) == 0
    )
    out = capfdbinary.readouterr().out.decode()
    assert '<filler id="1" tsid="2" validTime="2003-10-20T00:00:00"><item id=\'a\'>1</item>' in out


def test_a_failed_run_leaves_no_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.xml").write_text("<list><item></list>")
    assert main(["fragment", "bad.xml", "--tags", "tags.xml", "-o", "out.xml"]) == 1
    assert "bad.xml:1:15" in capsys.readouterr().err
    assert {path.name for path in folder.iterdir()} == {
        *("mon.xml", "tue.xml", "wed.xml", "bad.xml", "tags.xml", "history")
    }


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["fragment", "none.xml", "--tags", "tags.xml"], "'none.xml' cannot be read"),
        (["fragment", "mon.xml", "--tags", "none.xml"], "'none.xml' cannot be read"),
        (["fragment", "mon.xml", "--tags", "tags.xml", "-o", "no/x.xml"], "cannot be written"),
        (["fragment", "mon.xml", "--tags", "tags.xml", "--valid-time", "soon"], "not a valid time"),
        (["fragment", "mon.xml", "--tags", "tags.xml", "--key", "//itm=@id"], "no element matches"),
        (["fragment", "mon.xml", "--tags", "tags.xml", "--previous", "no"], "'no' cannot be read"),
        (["infer-tags", "none.dtd"], "'none.dtd' cannot be read"),
        (["infer-tags", "mon.xml", "--event", "//itm"], "did you mean item?"),
        (["infer-tags", "mon.xml", "--root", "list"], "--root is only for schemas"),
    ],
)
def test_errors(
    arguments: list[str], text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == (2 if "--root" in arguments else 1)
    assert text in capsys.readouterr().err


def test_warnings_in_the_chosen_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "new.xml").write_text(MONDAY.replace("<list>", "<list k='1'>"))
    arguments = ["fragment", "new.xml", "--tags", "tags.xml", "--previous", "mon.xml"]
    assert main([*arguments, "--error-format", "concise", "-o", "out.xml"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("warning[XCQL0259]: 'mon.xml' is a plain document")
    assert lines[1].startswith("warning[XCQL0255]: a change in /list outside its temporal")
    assert lines[2].startswith("1 change, ")
