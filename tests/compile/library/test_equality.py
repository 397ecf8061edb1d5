"""`deep-equal` of nodes: as SQL if there are no elements in them."""

from __future__ import annotations

from pathlib import Path

import pytest

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession

TAGS = """<structure><tag type="snapshot" id="1" name="shop">
  <tag type="snapshot" id="2" name="shelf">
    <tag type="temporal" id="3" name="item">
      <tag type="snapshot" id="4" name="name"/><tag type="snapshot" id="5" name="size"/>
      <tag type="snapshot" id="6" name="note"/><tag type="snapshot" id="7" name="part">
        <tag type="snapshot" id="8" name="name"/></tag></tag>
    <tag type="temporal" id="9" name="price"/></tag></tag></structure>"""

ITEMS = [
    "<name>a</name><size k='1'>2</size><note/>",
    "<name>a</name><size k='1'>2</size><note></note>",
    "<name>a</name><size k='&quot;&gt;2'/><note x='1' y='2'/>",
    "<name>a</name><size k='2'>2</size><note y='2' x='1'/>",
    "<name>a</name><name>a</name><size>2</size>",
    "<name>aa</name><note>a<!-- b --></note>",
    "<name/><note>a</note><part><name>a</name></part>",
    "<note> a</note><part><name>a</name></part><size>a</size>",
]
FILLERS = """<fragments>
<filler id="0" tsid="1"><shop><shelf>{holes}<hole id="90"/><hole id="91"/></shelf></shop></filler>
{items}<filler id="90" tsid="9" validTime="2003-01-01"><price>1</price></filler>
<filler id="91" tsid="9" validTime="2003-01-01"><price>1</price></filler>
<filler id="91" tsid="9" validTime="2003-02-01"><price>1</price></filler></fragments>""".format(
    holes="".join(f'<hole id="{number}"/>' for number, _ in enumerate(ITEMS, 1)),
    items="".join(
        f'<filler id="{number}" tsid="3" validTime="2003-01-01"><item>{item}</item></filler>'
        for number, item in enumerate(ITEMS, 1)
    ),
)

# two sequences, and whether SQL compares them on all engines
PARTS = [
    ("$a/name, $b/name", True),
    ("$a/size, $b/size", True),
    ("($a/name, $a/size), ($b/name, $b/size)", True),
    # with a comment in one of them
    ("$a/name, $b/note", False),
    ("$a/(name | note)/text(), $b/(name | note)/text()", True),
    ("$a/size/@k, $b/size/@k", True),
    ("$a/size/@k, $b/size", True),
    ("$a/size/text(), $b/note/text()", True),
    ("$a/../price, $b/../price[1]", True),
    ("$a/../price[1], $b/../price[2]", True),
    ("$a/part, $b/part", False),
    ("$a, $b", False),
    ("$a/note/@*, $b/note/@*", True),
]


@pytest.mark.parametrize(("arguments", "is_native"), PARTS)
def test_nodes(arguments: str, is_native: bool, open_session: OpenSession, tmp_path: Path) -> None:
    query = f'for $a in stream("s")//item, $b in stream("s")//item return deep-equal({arguments})'
    now = "2004-01-01T00:00:00"
    expected = [one.xml for one in xcql.evaluate(query, streams={"s": (FILLERS, TAGS)}, now=now)]
    answer = open_session(world_store(tmp_path, {"s": FILLERS}, {"s": TAGS})).query(query, now=now)
    assert answer.to_xml() == expected
    is_native = is_native or answer.engine == "embedded"
    assert ("evaluated row by row" not in answer.explain()) == is_native
