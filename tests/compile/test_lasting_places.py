"""A root that is sent again and again: places are kept for the view after the last change."""

from __future__ import annotations

from pathlib import Path

import pytest

import xcql
from tests.conftest import OpenSession
from xcql.history import vectorised
from xcql.model.tags import parse_tags
from xcql.store.commit import read_state
from xcql.store.upkeep import compact
from xcql.store.verify import verify

TAGS = """<structure><tag type="snapshot" id="1" name="r"><tag type="temporal" id="2" name="b">
  <tag ref="2"/><tag type="temporal" id="3" name="c"/></tag>
</tag></structure>"""
FIRST = """<fragments>
<filler id="0" tsid="1" validTime="2003-01-01"><r><hole id="1"/></r></filler>
<filler id="0" tsid="1" validTime="2003-02-01"><r><hole id="9"/><hole id="1"/></r></filler>
<filler id="1" tsid="2" validTime="2003-01-01"><b n="1"><hole id="2"/><hole id="3"/></b></filler>
<filler id="1" tsid="2" validTime="2003-03-01"><b n="1"><hole id="3"/><hole id="2"/></b></filler>
<filler id="2" tsid="2" validTime="2003-01-01"><b n="2"><hole id="4"/></b></filler>
<filler id="3" tsid="3" validTime="2003-01-01"><c>three</c></filler>
<filler id="4" tsid="3" validTime="2003-01-01"><c>four</c></filler>
<filler id="4" tsid="3" validTime="2003-04-01"><c>four again</c></filler>
<filler id="9" tsid="2" validTime="2003-02-01"><b n="9"/></filler>
</fragments>"""
SECOND = """<fragments>
<filler id="0" tsid="1" validTime="2003-06-01"><r>
  <hole id="9"/> <hole id="1"/></r></filler>
<remove id="9" validTime="2003-05-01"/>
</fragments>"""
QUERIES = [
    'count(stream("s")//b)',
    'stream("s")//c/string()',
    'stream("s")//b[c]/@n/string()',
    'stream("s")?[now]//c/string()',
    'stream("s")?[2003-02-15]//c/ancestor::b/@n/string()',
    'for $c in stream("s")//c return vtFrom($c)',
    'stream("s")//b/c/../b/@n/string()',
]
# before, at and after the last changes of the two files
NOWS = ["2003-01-15", "2003-03-15", "2003-04-01", "2003-05-15", "2003-06-01", "2003-07-01"]


def test_places_after_the_last_change(
    open_session: OpenSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectorised, "_COPIES", 14)
    monkeypatch.setattr(vectorised, "_COPIES_PER_VERSION", 0)
    session = open_session(tmp_path / "store")
    known: list[str] = []
    for index, text in enumerate((FIRST, SECOND)):
        file = tmp_path / f"{index}.xml"
        file.write_text(text)
        known.append(str(file))
        session.ingest(file, stream="s", tags=parse_tags(TAGS))
        stream = read_state(session.store).stream("s")
        assert not stream.placed
        assert stream.placed_if_settled
        assert verify(session.store) == []
        _check(session, known)
    compact(session.store)
    assert verify(session.store) == []
    _check(session, known)
    assert session.query(QUERIES[0], now="2004-01-01").strategy == "qac+"
    assert session.query('stream("s")/r/b/c/string()', now="2003-03-15").strategy == "qac"


def _check(session: xcql.Session, files: list[str]) -> None:
    for now in NOWS:
        for query in QUERIES:
            answer = xcql.evaluate(query, streams={"s": (files, TAGS)}, now=now)
            found = session.query(query, now=now).to_xml()
            assert found == [item.xml for item in answer], (query, now)
        view = "".join(session.temporalize("s", now=now))
        (item,) = xcql.evaluate('stream("s")', streams={"s": (files, TAGS)}, now=now)
        assert view == item.xml, now
