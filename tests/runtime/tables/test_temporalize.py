"""The view that Spark assembles is the view of the model."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pyspark.sql import SparkSession

from xcql import Session
from xcql.history.view import document_at, temporal_view
from xcql.model.read import read_all
from xcql.model.tags import TagStructure, parse_tags
from xcql.xdm.parse import parse_xml
from xcql.xdm.serialize import canonical

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
        expected = canonical(temporal_view(known, tags, now).document)
        assert view_of(session, stream, now) == expected
    for at in ("2003-03-01", "2003-02-02"):
        expected = canonical(document_at(known, tags, datetime.fromisoformat(at), NOW).document)
        assert view_of(session, stream, NOW, at) == expected


def view_of(session: Session, stream: str, now: datetime, at: str | None = None) -> str:
    """A view in canonical form; it may have several roots, or none."""
    text = "".join(session.temporalize(stream, now=now, at=at))
    document = canonical(parse_xml(f"<root>{text}</root>"))
    return document.removeprefix("<root>").removesuffix("</root>")


def test_credit_accounts(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "credit.xml"
    file.write_text(CREDIT)
    session = Session(tmp_path / "store", spark)
    summary = session.ingest(file, stream="credit", tags=TAGS)
    assert summary.accepted == {"filler": 10, "remove": 1}
    assert_same_view(session, "credit", CREDIT, TAGS)
