"""Constants are computed once, when a query is compiled; values that may change are not folded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession

TAGS = """<structure><tag type="snapshot" id="1" name="r">
  <tag type="temporal" id="2" name="i"/><tag type="temporal" id="3" name="j"/>
</tag></structure>"""
ROOT = '<filler id="0" tsid="1"><r><hole id="1"/></r></filler>'
ONE = f'<f>{ROOT}<filler id="1" tsid="2" validTime="2001-01-01"><i>k</i></filler></f>'
OTHER = f'<f>{ROOT}<filler id="1" tsid="3" validTime="2001-01-01"><j>k</j></filler></f>'
LASTING = '<a vtFrom="1999-01-01T00:00:00" vtTo="now"/>'


@pytest.mark.parametrize(
    "call",
    [
        "apply(current-date#0, [])",
        "apply(now#0, [])",
        'function-lookup(xs:QName("fn:current-dateTime"), 0)()',
        f"apply(vtTo#1, [{LASTING}])",
        f"apply(function($e) {{ $e before [2005-01-01, 2006-01-01] }}, [{LASTING}])",
    ],
)
def test_now_is_none(call: str, tmp_path: Path, open_session: OpenSession) -> None:
    session = open_session(world_store(tmp_path, {"s": ONE}, {"s": TAGS}))
    for now in ("2003-01-01", "2010-01-01"):
        (expected,) = xcql.evaluate(f"string({call})", now=now)
        query = f'for $i in stream("s")//i return string({call})'
        assert session.query(query, now=now).to_xml() == [expected.xml]


def test_a_file_is_none(tmp_path: Path, open_session: OpenSession) -> None:
    session = open_session(world_store(tmp_path, {"s": ONE}, {"s": TAGS}))
    file = tmp_path / "text"
    for call in (f'unparsed-text-available("{file}")', f'"{file}" => unparsed-text-available()'):
        query = f'for $i in stream("s")//i return {call}'
        file.write_text("text")
        assert session.query(query).to_xml() == ["true"]
        file.unlink()
        assert session.query(query).to_xml() == ["false"]


def test_a_store_that_was_made_anew_is_another(tmp_path: Path, open_session: OpenSession) -> None:
    session = open_session(world_store(tmp_path, {"s": ONE}, {"s": TAGS}))
    for text, expected in ((ONE, []), (OTHER, ["k"]), (ONE, [])):
        shutil.rmtree(session.store)
        world_store(tmp_path, {"s": text}, {"s": TAGS})
        assert session.query('stream("s")//j/string()').to_xml() == expected
