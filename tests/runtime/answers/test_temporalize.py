"""The view of a store is the model's view, byte for byte."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

import xcql
from tests.conftest import OpenSession
from xcql import Session, XcqlError
from xcql.history import vectorised
from xcql.history.view import document_at, temporal_view
from xcql.model.read import read_all
from xcql.model.tags import TagStructure, parse_tags
from xcql.store import places_at
from xcql.store.commit import read_state
from xcql.xdm.serialize import serialize

NOW = datetime(2004, 1, 1)

TAGS = parse_tags("""<stream:structure>
  <tag type="snapshot" id="1" name="accounts">
    <tag type="temporal" id="2" name="account">
      <tag type="snapshot" id="3" name="customer"/>
      <tag type="temporal" id="4" name="limit"/>
      <tag type="event" id="5" name="transaction">
        <tag type="snapshot" id="6" name="vendor"/>
        <tag type="temporal" id="7" name="status"/>
        <tag type="snapshot" id="8" name="amount"/>
      </tag>
    </tag>
  </tag>
</stream:structure>""")

CREDIT = """<f>
<filler id="0" tsid="1" validTime="2003-01-01">
  <accounts> <hole id="1" tsid="2"/>
  <hole id="2"/></accounts></filler>
<filler id="1" tsid="2" validTime="2003-02-01">
  <account id="a" vtFrom="x"><customer>Ann&amp;Co</customer><hole id="10"/><hole id="20"/></account>
</filler>
<filler id="1" tsid="2" validTime="2003-03-01">
  <account id="a"><customer>Bob</customer><hole id="10"/><hole id="20"/><hole id="20"/></account>
</filler>
<filler id="10" tsid="4" validTime="2003-02-01"><limit>100</limit></filler>
<filler id="10" tsid="4" validTime="2003-03-15T10:20:30.5"><limit>200</limit></filler>
<filler id="20" tsid="5" validTime="2003-02-02">
  <transaction><vendor>V</vendor><hole id="30"/><amount>12</amount></transaction></filler>
<filler id="20" tsid="5" validTime="2003-02-03">
  <transaction><vendor>W</vendor><hole id="30"/><amount>13</amount></transaction></filler>
<filler id="30" tsid="7" validTime="2003-02-02"><status>charged</status></filler>
<filler id="30" tsid="7" validTime="2003-05-02"><status>paid</status></filler>
<remove id="30" validTime="2003-06-02"/>
<filler id="99" tsid="4" validTime="2003-02-01"><limit>unreachable</limit></filler>
</f>"""


def assert_same_view(session: Session, stream: str, fragments: str, tags: TagStructure) -> None:
    """Check that the store's view, and documents at several instants, are those of the model."""
    known = read_all(fragments, tags).fragments
    for now in (NOW, datetime(2003, 3, 10)):
        view = "".join(session.temporalize(stream, now=now))
        assert view == serialize(temporal_view(known, tags, now).document)
        (item,) = xcql.evaluate("stream()", streams={stream: (fragments, tags)}, now=now)
        assert view == item.xml
    for at in ("2003-03-01", "2003-02-02", "2002-01-01"):
        document = "".join(session.temporalize(stream, now=NOW, at=at))
        instant = datetime.fromisoformat(at)
        assert document == serialize(document_at(known, tags, instant, NOW).document)


# empty holes, recursive tags, removes, namespaces, an own lifespan, a root with versions
ODD_TAGS = parse_tags("""<structure xmlns:p="urn:p"><tag type="temporal" id="1" name="r">
  <tag type="temporal" id="2" name="a"><tag ref="2"/><tag type="event" id="3" name="p:e"/></tag>
</tag></structure>""")
ODD = """<f xmlns:p="urn:p">
<filler id="0" tsid="1" validTime="2003-01-15"><r xmlns="" vtTo="x"><hole id="9"/></r></filler>
<filler id="0" tsid="1" validTime="2003-02-01">
  <r><hole id="1"/><!-- <r> --><hole id="9"/></r></filler>
<filler id="1" tsid="2"><a k='1'><hole id="2"/><hole id="3"/><hole id="1"/></a></filler>
<filler id="1" tsid="2" validTime="2003-02-20"><a><hole id="3"/></a></filler>
<filler id="2" tsid="2" validTime="2003-01-01"><a vtFrom="x" vtTo="y"><hole id="3"/></a></filler>
<remove id="2" validTime="2003-02-10"/>
<filler id="3" tsid="3" validTime="2003-02-02"><p:e/></filler>
<filler id="3" tsid="3" validTime="2003-03-01"><p:e p:k="é"> &lt; </p:e></filler>
</f>"""


@pytest.mark.parametrize("copies", [200_000, 0], ids=["placed", "unplaced"])
@pytest.mark.parametrize(("fragments", "tags"), [(CREDIT, TAGS), (ODD, ODD_TAGS)])
def test_views(
    open_session: OpenSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fragments: str,
    tags: TagStructure,
    copies: int,
) -> None:
    monkeypatch.setattr(vectorised, "_COPIES", copies)
    monkeypatch.setattr(vectorised, "_COPIES_PER_VERSION", 0)
    file = tmp_path / "s.xml"
    file.write_text(fragments)
    session = open_session(tmp_path / "store")
    assert session.ingest(file, stream="s", tags=tags).quarantined.keys() <= {"cycle"}
    assert read_state(session.store).stream("s").placed == (copies > 0)
    assert_same_view(session, "s", fragments, tags)


def test_too_many_copies(
    open_session: OpenSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectorised, "_COPIES", 0)
    monkeypatch.setattr(vectorised, "_COPIES_PER_VERSION", 0)
    monkeypatch.setattr(places_at, "_MAX_COPIES", 5)
    (tmp_path / "s.xml").write_text(ODD)
    session = open_session(tmp_path / "store")
    session.ingest(tmp_path / "s.xml", stream="s", tags=ODD_TAGS)
    with pytest.raises(XcqlError, match="XCQL0318"):
        "".join(session.temporalize("s", now=NOW))
    assert (
        "".join(session.temporalize("s", now=NOW, at="2003-01-20"))
        == '<r xmlns:p="urn:p" vtTo="x"/>'
    )


def test_a_stream_without_fillers(open_session: OpenSession, tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text("<f/>")
    session = open_session(tmp_path / "store")
    session.ingest(tmp_path / "s.xml", stream="s", tags=TAGS)
    assert "".join(session.temporalize("s", now=NOW)) == ""
    assert session.query('count(stream("s")/node())', "caq", now=NOW).to_xml() == ["0"]
