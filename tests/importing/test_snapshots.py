"""`xcqlc import snapshots`: dated documents become versions; only what is new is taken."""

from __future__ import annotations

import gzip
import os
from datetime import datetime
from pathlib import Path

import pytest

import xcql
from tests.model.rebuilt import canonical_text
from xcql.cli.main import main
from xcql.diagnostics import XcqlError
from xcql.importing.importer import ImportSummary
from xcql.importing.snapshots import Snapshots, name_pattern

ITEM = "<item><name>{}</name><price>{}</price></item>"


def shop(*items: tuple[str, int], extra: str = "") -> str:
    return f"<shop>{''.join(ITEM.format(*item) for item in items)}{extra}</shop>"


DUMPS = {
    "2004-05-03": shop(("tea", 4), ("jam", 3), extra="<note>a</note>"),
    "2004-05-04": shop(("oil", 9), ("tea", 4), ("jam", 3), extra="<note>b</note>"),
    "2004-05-06": shop(("oil", 9), ("tea", 5), extra="<note>b</note><tax><rate>7</rate></tax>"),
}


def written(folder: Path, dumps: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for day, text in dumps.items():
        (folder / f"dump-{day}.xml").write_text(text)


def imported(
    folder: Path, store: Path, name_format: str | None = "%Y-%m-%d", path: str | None = None
) -> ImportSummary:
    source = Snapshots(str(folder / "dump-*"), name_format, path)
    return xcql.Session(store).import_history(source, stream="shop")


def at(store: Path, day: str) -> str:
    return canonical_text("".join(xcql.Session(store).temporalize("shop", at=day)))


def test_all_of_them_at_once(tmp_path: Path) -> None:
    written(tmp_path / "in", DUMPS)
    summary = imported(tmp_path / "in", tmp_path / "store")
    assert (summary.revisions, summary.warnings) == (3, [])
    assert summary.keys == ["key /shop/item=name[1]: it tells 7 elements in 3 parents apart"]
    # item, item, note; then oil, note; then tea, jam, tax
    assert summary.changes == 3 + 2 + 3
    for day, text in DUMPS.items():
        assert at(tmp_path / "store", day) == canonical_text(text)
    query = 'count(stream("shop")//item[name = "tea"])'
    assert xcql.Session(tmp_path / "store").query(query).to_xml() == ["2"]


def test_one_after_the_other(tmp_path: Path) -> None:
    folder, store = tmp_path / "in", tmp_path / "store"
    for number, (day, text) in enumerate(DUMPS.items()):
        written(folder, {day: text})
        summary = imported(folder, store)
        assert summary.revisions == 1
        # `tax` and `rate` are new in the third one
        assert summary.tags == [5, 0, 2][number]
    assert imported(folder, store).commit is None
    for day, text in DUMPS.items():
        assert at(store, day) == canonical_text(text)
    assert xcql.Session(store).verify() == []
    # too late
    written(folder, {"2004-05-05": shop()})
    summary = imported(folder, store)
    assert "is older than another one that is imported" in summary.warnings[0].message


def test_broken_documents_are_skipped(tmp_path: Path) -> None:
    written(tmp_path / "in", {**DUMPS, "2004-05-05": "<shop><item></shop>", "x": "<shop/>"})
    written(tmp_path / "in", {"2004-05-07": "<other/>", "2004-05-08": ""})
    summary = imported(tmp_path / "in", tmp_path / "store")
    told = "\n".join(one.message for one in summary.warnings)
    for text in ("no time like", "mismatched tag", "the root element is other", "no element found"):
        assert text in told
    assert at(tmp_path / "store", "2004-05-09") == canonical_text(DUMPS["2004-05-06"])


def test_times_from_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    written(folder, {"b": "<shop><made>2004-05-03</made></shop>"})
    written(folder, {"a": "<shop><made>2004-05-05</made></shop>", "c": "<shop/>"})
    times = [one.time for one in Snapshots(f"{folder}/*", path="/shop/made").revisions(None)]
    assert times == [datetime(2004, 5, 3), datetime(2004, 5, 5)]
    (folder / "d.xml.gz").write_bytes(gzip.compress(b"<shop at='2004-01-01T01:00:00+01:00'/>"))
    times = [one.time for one in Snapshots(f"{folder}/*", path="/shop/@at").revisions(None)]
    assert times == [datetime(2004, 1, 1)]
    for number, name in enumerate(("dump-b.xml", "dump-a.xml", "dump-c.xml", "d.xml.gz")):
        os.utime(folder / name, (86_400 * number, 86_400 * number))
    times = [one.time.day for one in Snapshots(f"{folder}/*").revisions(None)]
    assert times == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("name", "format", "found"),
    [
        ("20040503T1200.xml", "%Y%m%dT%H%M", "20040503T1200"),
        ("a.3-5-04", "%d-%m-%y", "3-5-04"),
        ("at 1083542400.xml", "%s", "1083542400"),
    ],
)
def test_times_in_names(name: str, format: str, found: str) -> None:
    match = name_pattern(format).search(name)
    assert match is not None
    assert match[0] == found


@pytest.mark.parametrize("format", ["%q", "dump", "%m-%d"])
def test_formats_without_a_date(format: str) -> None:
    with pytest.raises(XcqlError) as problem:
        name_pattern(format)
    assert problem.value.code == "XCQL0100"


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "in", DUMPS)
    command = ["import", "snapshots", "in/dump-*.xml", "--into", "store", "--stream", "shop"]
    assert main([*command, "--time-from-name", "%Y-%m-%d"]) == 0
    assert capsys.readouterr().err.startswith("stream 'shop': 3 revisions, 8 changes; 7 new tags")
    assert main([*command, "--time-from-name", "%Y%m%d"]) == 1
    assert "was imported with other options" in capsys.readouterr().err
    for wrong in (["--path", "a"], ["--every", "day"], ["--time-from-path", "made"]):
        assert main([*command, *wrong]) == 2
    assert main(["import", "git", ".", "--into", "store", "--stream", "x"]) == 2
    assert main(["import", "snapshots", "no*", "--into", "store", "--stream", "x"]) == 1
