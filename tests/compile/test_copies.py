"""The plan for copies of fillers, and the SQL text that it becomes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
import sqlglot

from tests.compile.conftest import world_store
from xcql.algebra.printing import plan_text
from xcql.compile import Catalog, compile_copies
from xcql.compile.copies import COPY, VERSION, copies_plan
from xcql.store.commit import read_state
from xcql_runtime.store_reader import catalog_of

TAGS = """<structure><tag type="snapshot" id="1" name="r">
  <tag type="temporal" id="2" name="a"/><tag type="temporal" id="3" name="b"/>
  <tag type="event" id="4" name="e"/>
</tag></structure>"""
FRAGMENTS = """<f><filler id="0" tsid="1"><r><hole id="1"/><hole id="3"/></r></filler>
<filler id="1" tsid="2" validTime="2003-01-01"><a/></filler>
<filler id="3" tsid="4" validTime="2003-01-01"><e/></filler></f>"""
BEFORE, SETTLED = datetime(2002, 1, 1), datetime(2004, 1, 1)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return catalog_of(read_state(world_store(tmp_path, {"s": FRAGMENTS}, {"s": TAGS})))


def unplaced(catalog: Catalog) -> Catalog:
    return Catalog({"s": replace(catalog.streams["s"], placed=False)})


def test_each_kind_of_tag_is_one_scan(catalog: Catalog) -> None:
    assert plan_text(copies_plan(catalog.streams["s"], None)) == (
        "merge key, raw, namespaces, vtFrom, vtTo, starts, lengths, timed\n"
        "  extract copy: fillers of s with tag 1\n"
        "    unit\n"
        "  extract copy: fillers of s with tag 2\n"
        "    unit\n"
        "  extract copy: fillers of s with tag 4\n"
        "    unit"
    )


def test_versions_if_places_are_not_kept(catalog: Catalog) -> None:
    at = datetime(2003, 5, 1)
    text = plan_text(copies_plan(unplaced(catalog).streams["s"], at))
    assert "  select" in text
    assert "    versions copy: of fillers of s with tag 2" in text
    assert "extract" not in text


@pytest.mark.parametrize("now", [BEFORE, SETTLED])
@pytest.mark.parametrize("at", [None, datetime(2003, 5, 1)])
def test_the_text_has_the_columns_of_a_copy(
    catalog: Catalog, now: datetime, at: datetime | None
) -> None:
    for known, columns in (
        (catalog, list(COPY)),
        (unplaced(catalog), [*VERSION, *(name for name in COPY if name != "key")]),
    ):
        compiled = compile_copies(known, "s", now, at)
        text = compiled.sql.format_string({name: name for name in compiled.sql.slots})
        assert sqlglot.parse_one(text, "spark").named_selects == columns
        assert (":now" in compiled.sql.slots) == (now == BEFORE)
        assert not any(path[:1] == ("element",) for use in compiled.tables for path in use.columns)
