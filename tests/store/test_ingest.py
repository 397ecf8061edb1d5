"""Ingest: what is accepted, what is quarantined, and what is left alone."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.store.histories import NOWS, TAGS, as_file, view_of_tables
from xcql import XcqlError
from xcql.history.view import temporal_view
from xcql.model.read import read_all
from xcql.model.tags import parse_tags
from xcql.store.commit import read_state, writing
from xcql.store.ingest import IngestSummary, ingest
from xcql.store.processes import Run, on_cores, run_here
from xcql.store.upkeep import compact, info, vacuum
from xcql.store.verify import verify
from xcql.xdm.serialize import canonical

ROOT = '<filler id="0" tsid="1"><r><a><hole id="1"/></a><hole id="6"/></r></filler>'


def version(month: int, text: str = "", id: str = "1") -> str:
    return f'<filler id="{id}" tsid="3" validTime="2003-0{month}-01"><t>{text}</t></filler>'


def take(folder: Path, *fragments: str, name: str = "f.xml", strict: bool = False) -> IngestSummary:
    file = folder / name
    file.write_text(as_file(list(fragments)))
    return ingest(folder / "store", file, "s", TAGS, run_here, 1, strict)


def quarantine(folder: Path) -> list[tuple[str, int, str]]:
    rows = []
    for file in read_state(folder / "store").stream("s").quarantine:
        rows += pq.read_table(folder / "store" / file.path, partitioning=None).to_pylist()
    return [(Path(row["file"]).name, row["offset"], row["reason"].split(":")[0]) for row in rows]


def test_a_bad_fragment_is_put_aside_and_the_rest_is_taken(tmp_path: Path) -> None:
    bad = [
        '<filler id="1" tsid="3"><t></filler>',
        '<filler id="1" tsid="99"><t/></filler>',
        '<filler id="1" tsid="3"/>',
        '<filler id="1" tsid="3"><t/><t/></filler>',
        '<filler id="1" tsid="3"><u/></filler>',
        '<filler id="1" tsid="3"><t><nope/></t></filler>',
        '<filler id="1" tsid="3"><t><w/></t></filler>',
        '<filler id="6" tsid="8"><e/></filler>',
        '<filler id="1" tsid="3" validTime="soon"><t/></filler>',
        '<filler id="1" tsid="3"><t>&bomb;</t></filler>',
        '<filler tsid="3"><t/></filler>',
        "<stray/>",
    ]
    summary = take(tmp_path, ROOT, *bad, version(1))
    assert summary.accepted == {"filler": 2}
    assert sum(summary.quarantined.values()) == len(bad)
    text = (tmp_path / "f.xml").read_text()
    assert sorted(quarantine(tmp_path)) == sorted(
        ("f.xml", text.index(one), kind)
        for one, kind in zip(
            bad,
            [
                *("malformed", "tag", "element", "element", "element", "undeclared element"),
                *("inline element", "time", "time", "malformed", "no id", "not a fragment"),
            ],
            strict=True,
        )
    )


def test_an_id_keeps_its_tag(tmp_path: Path) -> None:
    take(tmp_path, ROOT, version(1))
    clash = '<filler id="1" tsid="8" validTime="2003-02-01"><e/></filler>'
    summary = take(tmp_path, clash, version(3), name="g.xml")
    assert summary.quarantined == {"tag conflict": 1}
    assert summary.accepted == {"filler": 1}


def test_strict_changes_nothing(tmp_path: Path) -> None:
    take(tmp_path, ROOT)
    before = sorted(path for path in (tmp_path / "store").rglob("*") if path.is_file())
    with pytest.raises(XcqlError, match=r"XCQL0317.*the store is unchanged") as caught:
        take(tmp_path, version(1), "<filler/>", name="g.xml", strict=True)
    assert "byte" in caught.value.diagnostic.notes[0]
    assert before == sorted(path for path in (tmp_path / "store").rglob("*") if path.is_file())
    with pytest.raises(XcqlError, match="XCQL0317"):
        ingest(tmp_path / "new", tmp_path / "g.xml", "s", TAGS, run_here, 1, strict=True)
    assert read_state(tmp_path / "new").streams == {}


def test_the_same_content_is_skipped(tmp_path: Path) -> None:
    assert take(tmp_path, ROOT, version(1)).commit == 1
    again = take(tmp_path, ROOT, version(1), name="other.xml")
    assert again.commit is None
    assert again.skipped_files == (str(tmp_path / "other.xml"),)
    assert read_state(tmp_path / "store").number == 1


def test_repetitions_are_counted_and_change_nothing(tmp_path: Path) -> None:
    take(tmp_path, ROOT, version(1, '<x k="1" l="2"/>'))
    files = read_state(tmp_path / "store").stream("s").tables["3"].files
    summary = take(tmp_path, version(1, "<x l='2'  k='1'></x>"), name="g.xml")
    assert summary.repetitions == 1
    assert read_state(tmp_path / "store").stream("s").tables["3"].files == files


def test_what_follows_eos_is_ignored_with_a_warning(tmp_path: Path) -> None:
    summary = take(tmp_path, ROOT, version(1), "<eos/>", version(2), version(3), "<bad/>")
    assert summary.accepted == {"filler": 2}
    assert summary.quarantined == {}
    assert [warning.code for warning in summary.warnings] == ["XCQL0301"]
    assert "2 fragments" in summary.warnings[0].message


def test_a_cycle_is_told_and_kept(tmp_path: Path) -> None:
    summary = take(tmp_path, ROOT, version(1, '<hole id="5"/>'), cycle())
    assert summary.quarantined == {"cycle": 1}
    assert summary.accepted == {"filler": 3}
    assert '<w vtFrom="2003-01-01T00:00:00" vtTo="now"></w>' in view_of_tables(
        tmp_path / "store", "s", NOWS[-1]
    )


def cycle() -> str:
    return '<filler id="5" tsid="7" validTime="2003-01-01"><w><hole id="1"/></w></filler>'


def test_files_folders_gzip_and_encodings(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.xml").write_text("\ufeff" + as_file([ROOT]), encoding="utf-8")
    with gzip.open(folder / "b.xml.gz", "wt", encoding="utf-8") as file:
        file.write(as_file([version(1, "é")]))
    declared = '<?xml version="1.0" encoding="latin1"?>' + as_file([version(2, "ö")])
    (folder / "c.xml").write_bytes(declared.encode("latin1"))
    (folder / "d.xml").write_bytes(b'<?xml version="1.0"?><f>\xff</f>')
    summary = ingest(tmp_path / "store", folder, "s", TAGS, run_here, 1)
    assert summary.accepted == {"filler": 3}
    view = view_of_tables(tmp_path / "store", "s", NOWS[-1])
    assert ">é</t>" in view
    assert ">ö</t>" in view
    with pytest.raises(XcqlError, match="XCQL0300"):
        ingest(tmp_path / "store", tmp_path / "missing.xml", "s", TAGS, run_here, 1)
    (tmp_path / "cut.xml.gz").write_bytes((folder / "b.xml.gz").read_bytes()[:30])
    with pytest.raises(XcqlError, match=r"XCQL0300.*gzip"):
        ingest(tmp_path / "store", tmp_path / "cut.xml.gz", "s", TAGS, run_here, 1)


def test_a_dtd_is_refused_and_nothing_is_fetched_or_expanded(tmp_path: Path) -> None:
    file = tmp_path / "f.xml"
    file.write_text(
        '<!DOCTYPE f [<!ENTITY a "x"><!ENTITY b SYSTEM "file:///etc/passwd">]>'
        + as_file([ROOT, version(1, "&a;"), version(2, "&b;"), version(3, "fine")])
    )
    summary = ingest(tmp_path / "store", file, "s", TAGS, run_here, 1)
    assert summary.accepted == {"filler": 2}
    assert summary.quarantined == {"malformed": 2, "not a fragment": 1}


def test_columns_may_come_repeat_and_turn_opaque_later(tmp_path: Path) -> None:
    contents = ["<x>1</x>", "<x k='1'>2</x>", "<x>3</x><x>4</x>", "mixed <x>5</x>", "<x>6</x>"]
    batches = [version(month, text) for month, text in enumerate(contents, 1)]
    take(tmp_path, ROOT)
    for number, batch in enumerate(batches):
        take(tmp_path, batch, name=f"{number}.xml")
        table = read_state(tmp_path / "store").stream("s").tables["3"]
        values = []
        for file in table.files:
            rows = pq.read_table(tmp_path / "store" / file.path, partitioning=None).to_pylist()
            values += [row["element"] for row in rows]
        if number < 2:
            assert {value["x"]["_text"] for value in values} == set("12"[: number + 1])
        elif number == 2:
            texts = {tuple(x["_text"] for x in value["x"]) for value in values}
            assert texts == {("1",), ("2",), ("3", "4")}
        else:
            assert {"1", "2", "34", "mixed 5"} <= {value["_text"] for value in values}
    check_view(tmp_path, [ROOT, *batches])


def check_view(folder: Path, fragments: list[str]) -> None:
    known = read_all(as_file(fragments), TAGS).fragments
    for now in NOWS:
        expected = canonical(temporal_view(known, TAGS, now).document)
        assert view_of_tables(folder / "store", "s", now) == expected


def test_an_append_leaves_files_alone_that_it_does_not_touch(tmp_path: Path) -> None:
    take(tmp_path, ROOT, version(1), '<filler id="6" tsid="8" validTime="2003-01-01"><e/></filler>')
    before = read_state(tmp_path / "store").stream("s").tables
    take(tmp_path, version(2), name="g.xml")
    after = read_state(tmp_path / "store").stream("s").tables
    assert after["8"].files == before["8"].files
    assert after["1"].files == before["1"].files
    assert after["3"].files != before["3"].files


def test_other_tags_for_a_stream_are_refused(tmp_path: Path) -> None:
    take(tmp_path, ROOT)
    other = parse_tags('<structure><tag type="snapshot" id="1" name="r"/></structure>')
    (tmp_path / "g.xml").write_text(as_file([version(1)]))
    with pytest.raises(XcqlError, match="XCQL0315"):
        ingest(tmp_path / "store", tmp_path / "g.xml", "s", other, run_here, 1)
    with pytest.raises(XcqlError, match="XCQL0315"):
        ingest(tmp_path / "store", tmp_path / "g.xml", "new", None, run_here, 1)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    take(tmp_path, ROOT)
    with writing(tmp_path / "store"), pytest.raises(XcqlError, match=r"XCQL0312.*another process"):
        take(tmp_path, version(1), name="g.xml")


def test_a_newer_format_is_told(tmp_path: Path) -> None:
    take(tmp_path, ROOT)
    commit = next((tmp_path / "store" / "commits").iterdir())
    data = json.loads(commit.read_text())
    del data["checksum"]
    commit.write_text(json.dumps({**data, "format": 99}))
    with pytest.raises(XcqlError, match=r"XCQL0314.*format 99"):
        read_state(tmp_path / "store")


def test_a_folder_that_is_no_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "precious").write_text("x")
    with pytest.raises(XcqlError, match="XCQL0313"):
        take(tmp_path, ROOT)


def test_upkeep(tmp_path: Path) -> None:
    fragments = [ROOT, *(version(month, str(month)) for month in range(1, 6))]
    for number, fragment in enumerate([*fragments, '<remove id="1" validTime="2003-09-01"/>']):
        take(tmp_path, fragment, "<bad/>", f"<!-- {number} -->", name=f"{number}.xml")
    (tmp_path / "store" / "staging" / "dead").mkdir(parents=True)
    (tmp_path / "store" / "data" / "s" / "leftover.parquet").write_text("x")
    store = tmp_path / "store"
    assert verify(store) == []
    view = view_of_tables(store, "s", NOWS[-1])
    compact(store)
    assert vacuum(store) > 2
    assert len(list((tmp_path / "store" / "commits").iterdir())) == 1
    tables = read_state(store).stream("s").tables
    assert {len(table.files) for table in tables.values()} == {1}
    assert view_of_tables(store, "s", NOWS[-1]) == view
    assert verify(store) == []
    assert "tsid 3: 5 rows, 1 file," in str(info(store))
    victim = store / tables["3"].files[0].path
    victim.write_bytes(victim.read_bytes()[:-1])
    assert "bytes" in verify(store)[0]
    victim.unlink()
    assert "missing" in verify(store)[0]


def test_what_one_process_reads_is_read_in_parallel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with on_cores(2) as run:
        check_parallel(tmp_path, monkeypatch, lambda file: read_by(run, tmp_path / "store", file))


def read_by(run: Run, store: Path, file: Path) -> IngestSummary:
    return ingest(store, file, "s", TAGS, run, 2)


def check_parallel(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ingested: Callable[[Path], IngestSummary]
) -> None:
    """Ingest a file in many small chunks: the store is the same as after reading it in one."""
    monkeypatch.setattr("xcql.store.ingest._SMALLEST_CHUNK", 2000)
    monkeypatch.setattr("xcql.store.ingest._LARGEST_CHUNK", 2000)
    monkeypatch.setattr("xcql.store.ingest.WORTH_A_JOB", 0)
    monkeypatch.setattr("xcql.store.write.WORTH_A_JOB", 0)
    tricky = version(4, "<![CDATA[</filler><filler>]]><!-- </filler> --><x/>")
    bad = '<filler id="1" tsid="3"><t></filler>'
    fragments = [ROOT, *(version(n % 9 + 1, f"<x>{n}</x>") for n in range(200)), tricky, bad]
    fragments = [
        one for n, some in enumerate(fragments) for one in (some, tricky)[: 1 + (n % 9 == 0)]
    ]
    (folder / "f.xml").write_text(as_file(fragments))
    summary = ingested(folder / "f.xml")
    assert summary.quarantined == {"malformed": 1}
    check_view(folder, fragments)
