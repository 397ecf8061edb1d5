"""The tables of DuckDB: exactly the files of the store, and only the columns in use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import xcql
from tests.compile.conftest import world_store
from xcql.compile import TableUse
from xcql.shred.nodes import NODES
from xcql_runtime.embedded.tables import leaf_columns, table_query
from xcql_runtime.store_reader import PinnedStore, StoreReader

TAGS = '<structure><tag type="snapshot" id="1" name="r"/></structure>'
TWO_TAGS = """<structure><tag type="snapshot" id="1" name="r">
  <tag type="temporal" id="2/x" name="a"/><tag type="temporal" id="3" name="b"/>
</tag></structure>"""
FRAGMENTS = """<f><filler id="0" tsid="1"><r k="v"><hole id="1"/></r></filler>
<filler id="1" tsid="2/x" validTime="2003-01-01"><a>one</a></filler>
<filler id="1" tsid="2/x" validTime="2003-02-01"><a>two</a></filler></f>"""


@pytest.mark.parametrize("name", ["what?", "*", "[ab]", "a{b,c}", "it's", "a\\b", "r=1", "x%20y"])
def test_folders_with_any_name(tmp_path: Path, name: str) -> None:
    """A name is not a pattern: it does not match the folders beside it."""
    for other in (name, "what!", "a", "b"):
        folder = tmp_path / other
        folder.mkdir()
        fragment = f'<filler id="0" tsid="1"><r>{other}</r></filler>'
        world_store(folder, {"s": f"<fragments>{fragment}</fragments>"}, {"s": TAGS})
    with xcql.Session(tmp_path / name / "store", engine="embedded") as session:
        assert session.query('stream("s")/r/string()').to_xml() == [name]
        assert session.query('stream("s")', "caq").to_xml() == [f"<r>{name}</r>"]


def test_leaf_columns() -> None:
    text = pa.struct([("_text", pa.string()), ("_start", pa.int32())])
    own = pa.schema(
        [
            ("key", pa.list_(pa.binary())),
            ("raw", pa.binary()),
            ("element", pa.struct([("name", text), ("tag", pa.list_(text))])),
        ]
    )
    only_text = pa.struct([("_text", pa.string())])
    wanted = pa.schema(
        [
            ("key", pa.list_(pa.binary())),
            # in another table it repeats, or does not occur at all
            ("element", pa.struct([("name", pa.list_(only_text)), ("other", only_text)])),
        ]
    )
    assert leaf_columns(own, wanted) == ["key.list.element", "element.name._text"]
    wanted = pa.schema([("element", pa.struct([("tag", pa.list_(only_text))]))])
    assert leaf_columns(own, wanted) == ["element.tag.list.element._text"]


def rows_in(store: PinnedStore, *tags: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    use = TableUse("t", "s", tags, tuple((name,) for name in columns), nodes=True)
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT * FROM {table_query(store, use)}").fetchall()


def test_nodes(tmp_path: Path) -> None:
    folder = world_store(tmp_path, {"s": FRAGMENTS}, {"s": TWO_TAGS})
    store = StoreReader(folder).read()
    every = rows_in(store, "1", "2/x", columns=[*NODES.names, "tag"])
    files = [
        (tsid, file.nodes)
        for tsid, table in store.state.stream("s").tables.items()
        for file in table.files
        if file.nodes
    ]
    assert every == [
        (*row.values(), tsid)
        for tsid, file in files
        for row in pq.read_table(folder / file.path, partitioning=None).to_pylist()
    ]
    assert rows_in(store, "2/x", columns=["value", "path"]) == [
        *[("2%2Fx", "one"), ("2%2Fx", "two"), ("2%2Fx/text()", "one"), ("2%2Fx/text()", "two")]
    ]
    assert rows_in(store, "3", columns=["path", "tag"]) == []
    paths = store.catalog.streams["s"].paths
    assert paths is not None
    assert paths.tables["2/x"] == {"2%2Fx": True, "2%2Fx/text()": True}


def test_damaged_nodes_are_not_read(tmp_path: Path) -> None:
    folder = world_store(tmp_path, {"s": FRAGMENTS}, {"s": TWO_TAGS})
    store = StoreReader(folder).read()
    (file,) = store.state.stream("s").tables["2/x"].files
    assert file.nodes is not None
    path = folder / file.nodes.path
    column = pq.read_metadata(path).row_group(0).column(NODES.get_field_index("start"))
    data = bytearray(path.read_bytes())
    data[column.data_page_offset + column.total_compressed_size - 1] ^= 1
    path.write_bytes(data)
    assert len(rows_in(store, "2/x", columns=["path", "value"])) == 4
    with pytest.raises(xcql.XcqlError, match=r"XCQL0319.*a page does not match"):
        rows_in(store, "2/x", columns=["start"])
