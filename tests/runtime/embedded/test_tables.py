"""The tables of DuckDB: exactly the files of the store, and only the columns in use."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import xcql
from tests.compile.conftest import world_store
from xcql_runtime.embedded.tables import leaf_columns

TAGS = '<structure><tag type="snapshot" id="1" name="r"/></structure>'


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
