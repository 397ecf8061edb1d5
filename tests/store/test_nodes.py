"""The nodes of a store: beside every data file, through appends, compaction and damage."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.store.histories import TAGS, as_file
from tests.store.test_ingest import ROOT, take, version
from xcql.shred.checksums import short_digest
from xcql.shred.nodes import NODES, SOURCE_COLUMNS, nodes_of, write_nodes
from xcql.store.commit import read_state, write_state
from xcql.store.ingest import ingest
from xcql.store.processes import run_here
from xcql.store.repair import repair
from xcql.store.rows import read_file
from xcql.store.state import DataFile, Stream, renumbered
from xcql.store.upkeep import compact, info, vacuum
from xcql.store.verify import verify


def stream_of(folder: Path) -> Stream:
    return read_state(folder / "store").stream("s")


def check_nodes(folder: Path) -> None:
    """Check that every file has the nodes of its rows, and that the commit has their paths."""
    for tsid, table in stream_of(folder).tables.items():
        found: dict[str, bool] = {}
        for file in table.files:
            nodes = nodes_of(TAGS, tsid, read_file(folder / "store", file, SOURCE_COLUMNS))
            assert nodes is not None
            assert file.nodes is not None
            stored = read_file(folder / "store", file.nodes)
            assert stored.schema.equals(NODES)
            assert stored.equals(nodes.table.cast(NODES))
            assert file.nodes.rows == stored.num_rows
            for path, complete in nodes.paths.items():
                found[path] = found.get(path, True) and complete
        assert table.paths is not None
        assert found.items() <= dict(table.paths).items()
    assert verify(folder / "store") == []


def test_every_file_has_its_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take(tmp_path, ROOT, version(1, "one<x k='1'>x</x>"))
    check_nodes(tmp_path)
    assert stream_of(tmp_path).tables["3"].paths == {
        **{"3": False, "3/4": True, "3/4/@k": True, "3/4/text()": True, "3/text()": True}
    }
    # another file, as if the first were full
    monkeypatch.setattr("xcql.store.write._FILE_BYTES", 1)
    take(tmp_path, version(1, "<x><!-- y --></x>", id="2"), name="g.xml")
    check_nodes(tmp_path)
    table = stream_of(tmp_path).tables["3"]
    assert len(table.files) == 2
    assert table.paths == {
        **{"3": False, "3/4": False, "3/4/@k": True, "3/4/comment()": True},
        **{"3/4/text()": True, "3/text()": True},
    }
    there = {str(path.relative_to(tmp_path / "store")) for path in tmp_path.rglob("*.parquet")}
    assert there >= {file.path for file in stream_of(tmp_path).files()}
    size = sum(file.bytes + file.nodes.bytes for file in table.files if file.nodes)
    assert f"tsid 3: 2 rows, 2 files, {size:,} bytes" in str(info(tmp_path / "store"))


def test_nodes_are_kept_if_only_lifespans_change(tmp_path: Path) -> None:
    take(tmp_path, ROOT, version(1, "one"))
    (before,) = stream_of(tmp_path).tables["3"].files
    take(tmp_path, '<remove id="1" validTime="2003-05-01"/>', name="g.xml")
    (after,) = stream_of(tmp_path).tables["3"].files
    assert after.path != before.path
    assert after.nodes == before.nodes
    check_nodes(tmp_path)
    vacuum(tmp_path / "store")
    check_nodes(tmp_path)
    take(tmp_path, version(3, "two"), name="h.xml")
    (last,) = stream_of(tmp_path).tables["3"].files
    assert last.nodes != after.nodes
    check_nodes(tmp_path)


def without_nodes(folder: Path) -> None:
    """Make the store one of format 2."""
    for commit in (folder / "store").glob("co*/*.json"):
        data = json.loads(commit.read_text())
        for stream in data["streams"]:
            for table in stream["tables"].values():
                del table["paths"]
                for file in table["files"]:
                    del file["nodes"]
        del data["checksum"]
        text = json.dumps({**data, "format": 2})[:-1]
        commit.write_text(f'{text}, "checksum": "{short_digest(text.encode())}"}}')


def test_a_store_of_an_earlier_version_gets_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(tmp_path, ROOT, version(1, "one"))
    without_nodes(tmp_path)
    assert all(file.nodes is None for file in stream_of(tmp_path).files())
    assert verify(tmp_path / "store") == []
    monkeypatch.setattr("xcql.store.write._FILE_BYTES", 1)
    take(tmp_path, version(1, "two", id="2"), name="g.xml")
    table = stream_of(tmp_path).tables["3"]
    assert sorted(file.nodes is not None for file in table.files) == [False, True]
    assert table.paths is None
    monkeypatch.undo()
    assert compact(tmp_path / "store") == 1
    check_nodes(tmp_path)
    # there is nothing left to do
    assert compact(tmp_path / "store") == 0
    assert read_state(tmp_path / "store").number == 3


def test_unknown_paths_are_computed_again(tmp_path: Path) -> None:
    """As after an append to a store of an earlier version, whose other files are gone."""
    take(tmp_path, ROOT, version(1, "one"))
    state = read_state(tmp_path / "store")
    tables = {tsid: replace(table, paths=None) for tsid, table in state.stream("s").tables.items()}
    stream = replace(state.stream("s"), tables=tables)
    write_state(tmp_path / "store", state.with_stream(stream))
    compact(tmp_path / "store")
    check_nodes(tmp_path)


def test_wrong_nodes_are_found_and_rebuilt(tmp_path: Path) -> None:
    take(tmp_path, ROOT, version(1, "one<x/>"))
    store = tmp_path / "store"
    state = read_state(store)
    table = state.stream("s").tables["3"]
    (file,) = table.files
    assert file.nodes is not None
    assert table.paths is not None
    wrong = store / file.nodes.path.replace(".nodes", "-.nodes")
    nodes = read_file(store, file.nodes).slice(1)
    checksums = write_nodes(nodes, wrong)
    other = DataFile(
        str(wrong.relative_to(store)), nodes.num_rows, wrong.stat().st_size, checksums=checksums
    )
    fewer = {path: complete for path, complete in table.paths.items() if path != "3/4"}
    for change, problem in (
        (replace(table, files=(replace(file, nodes=other),)), "its nodes do not match"),
        (replace(table, paths=fewer), "its paths do not match"),
        (replace(table, paths={**table.paths, "3": True}), "its paths do not match"),
    ):
        stream = state.stream("s")
        changed = replace(stream, tables={**stream.tables, "3": change})
        write_state(store, renumbered(replace(read_state(store), streams={"s": changed})))
        (found,) = verify(store)
        assert problem in found
        assert any("nothing is lost" in one for one in repair(store))
        check_nodes(tmp_path)


def test_a_missing_file_with_nodes_is_rebuilt(tmp_path: Path) -> None:
    take(tmp_path, ROOT, version(1, "one"))
    (file,) = stream_of(tmp_path).tables["3"].files
    assert file.nodes is not None
    (tmp_path / "store" / file.nodes.path).unlink()
    assert "the file is missing" in verify(tmp_path / "store")[0]
    assert any("nothing is lost" in one for one in repair(tmp_path / "store"))
    check_nodes(tmp_path)


def test_too_many_paths_for_a_commit(tmp_path: Path) -> None:
    """Only hostile data has them; it is stored without nodes."""
    attributes = "".join(f' a{number}="1"' for number in range(6000))
    file = tmp_path / "f.xml"
    file.write_text(as_file([ROOT, version(1, f"mixed<x{attributes}/>")]))
    ingest(tmp_path / "store", file, "s", TAGS, run_here, 1)
    tables = stream_of(tmp_path).tables
    assert tables["3"].paths is None
    assert tables["1"].paths is not None
    assert verify(tmp_path / "store") == []
    assert (tmp_path / "store" / "commits" / "000000000001.json").stat().st_size < 10_000
