"""Failures of DuckDB itself."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import xcql
from tests.compile.conftest import world_store
from xcql_runtime.embedded.engine import EmbeddedEngine

TAGS = """<structure><tag type="snapshot" id="1" name="r">
  <tag type="temporal" id="2" name="i"/></tag></structure>"""
ROOT = '<filler id="0" tsid="1" validTime="2001-01-01"><r><hole id="1"/><hole id="2"/></r></filler>'
ITEM = '<filler id="{0}" tsid="2" validTime="2001-01-0{1}"><i n="{0}"/></filler>'
LAST = 'stream("s")//i[@n = "1"]#[last]/vtFrom(.)'


def test_an_internal_error_ends_no_session(tmp_path: Path) -> None:
    """No SQL is known by now that has one; DuckDB refuses everything after it."""
    items = "".join(ITEM.format(id, day) for id in (1, 2) for day in (1, 2, 3))
    store = world_store(tmp_path, {"s": f"<f>{ROOT}{items}</f>"}, {"s": TAGS})
    with xcql.Session(store, engine="embedded") as session:
        assert session.query(LAST).to_xml() == ["2001-01-03T00:00:00"]
        engine = session.query("1")._choice.engine
        assert isinstance(engine, EmbeddedEngine)
        before = engine._database
        with pytest.raises(duckdb.InternalException), engine._renewed():
            raise duckdb.InternalException("INTERNAL Error: a fault")
        assert engine._database is not before
        assert session.query(LAST).to_xml() == ["2001-01-03T00:00:00"]
