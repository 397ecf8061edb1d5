"""Values computed from an element that may be missing, against the evaluator."""

from __future__ import annotations

from pathlib import Path

import pytest

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession
from xcql.model.tags import parse_tags

TAGS = """<structure><tag type="snapshot" id="1" name="all">
  <tag type="temporal" id="2" name="person">
    <tag type="snapshot" id="3" name="profile">
      <tag type="snapshot" id="4" name="age"/><tag type="snapshot" id="5" name="interest"/>
    </tag>
  </tag>
</tag></structure>"""
FRAGMENTS = """<fragments>
<filler id="0" tsid="1" validTime="2005-01-01"><all><hole id="1"/><hole id="2"/><hole id="3"/></all>
</filler>
<filler id="1" tsid="2" validTime="2005-01-01"><person id="none"/></filler>
<filler id="2" tsid="2" validTime="2005-01-01"><person id="age"><profile income="3"><age>5</age>
</profile></person></filler>
<filler id="3" tsid="2" validTime="2005-01-01"><person id="interest"><profile><interest/>
<interest/></profile></person></filler>
</fragments>"""
CONDITIONS = [
    'profile/string(age) = ""',
    "profile/string-length(age) < 5",
    "profile/empty(age) = true()",
    'profile/concat(age, "x") = "x"',
    "profile/count(interest) = 0",
    "profile/(count(interest) + 0.5e0) > 0",
    "profile/number(age) != 5",
    "profile/number(age) < 6",
    "profile/(if (age) then 1e0 else 2e0) >= 2",
    "profile/@income > 2",
    "profile/@income != 4",
    "profile/age = 5",
    "not(profile/age >= 5)",
]


def test_what_is_not_there_is_compared_with_nothing(
    open_session: OpenSession, tmp_path: Path
) -> None:
    session = open_session(world_store(tmp_path, {"s": FRAGMENTS}, {"s": TAGS}))
    streams = {"s": (tmp_path / "s.xml", parse_tags(TAGS))}
    parts = (f"<x>{{ stream('s')//person[{one}]/@id/string() }}</x>" for one in CONDITIONS)
    query = ", ".join(parts)
    answer = session.query(query, now="2006-01-01")
    assert answer.strategy != "caq"
    expected = xcql.evaluate(query, streams=streams, now="2006-01-01")
    for condition, found, right in zip(CONDITIONS, answer.to_xml(), expected, strict=True):
        assert found == right.xml, condition


SORTED_TAGS = """<structure><tag type="snapshot" id="1" name="r">
  <tag type="temporal" id="2" name="i"><tag type="snapshot" id="3" name="v"/>
    <tag type="snapshot" id="4" name="w"/>
    <tag type="event" id="5" name="e"><tag type="snapshot" id="6" name="w"/></tag></tag>
</tag></structure>"""
ITEMS = [
    '<i n="1" k="a"><v>3</v><w>2</w></i>',
    '<i n="2" k="b"><v>-0</v></i>',
    '<i n="3" k="a"><w>1</w><hole id="e1"/></i>',
    '<i n="4" k="b"><v>0</v><w>5</w></i>',
    '<i n="5" k="c"><w>0</w><w>9</w></i>',
    '<i n="6" k="c"><hole id="e2"/></i>',
]
HOLES = "".join(f'<hole id="{number}"/>' for number, _ in enumerate(ITEMS, 1))
FILLERS = "".join(
    f'<filler id="{number}" tsid="2" validTime="2001-01-01">{item}</filler>'
    for number, item in enumerate(ITEMS, 1)
)
SORTED = f"""<f><filler id="0" tsid="1"><r>{HOLES}</r></filler>{FILLERS}
<filler id="e1" tsid="5" validTime="2002-01-01"><e><w>7</w></e></filler>
<filler id="e2" tsid="5" validTime="2002-01-01"><e/></filler></f>"""

ORDERS = [
    "for $i in ITEMS order by $i/v group by $k := $i/@k return <g>{ $k, $i/@n/string() }</g>",
    "for $i in ITEMS let $w := number($i/v) order by $i/w[1] group by $w return $w",
    "distinct-values(for $i in ITEMS order by $i/v, $i/@n return $i/@k)",
    "distinct-values(for $i in ITEMS, $w in $i/w order by $i/v return $i/@k)",
    "distinct-values(for $i in ITEMS order by $i/v return number($i/w[1]))",
    "string-join(ITEMS/(v|w|e)/string(), '|')",
    "string-join(stream('s')//(i|w|e)/name(), '|')",
    "for $i in ITEMS return <x>{ string-join(($i/v | $i//w | $i/e)/name(), ',') }</x>",
    "for $i in ITEMS order by $i/v empty greatest, $i/w[1] descending return $i/@n/string()",
    "max(ITEMS/v), min(ITEMS/v), max(ITEMS/v[. = 0]), min(ITEMS/v[. = 0])",
    "for $i in ITEMS group by $k := $i/@k return <m>{ $k, max($i/v), min($i/v), min($i//w) }</m>",
    "for $i in ITEMS group by $k := $i/@k order by max($i/v), $k return $k",
    "for $i in ITEMS group by $k := $i/v/number(), $l := $i/w[1]/number() return <m>{ $k, $l }</m>",
    "for $i in ITEMS order by $i/@n descending group by $k := $i/v/number() return <m>{ $k }</m>",
]


@pytest.mark.parametrize("strategy", ["qac+", "qac"])
def test_what_is_not_there_comes_first(
    strategy: str, open_session: OpenSession, tmp_path: Path
) -> None:
    """It is the least key; and the first of -0 and 0 counts for both, whatever they are in."""
    streams = {"s": (SORTED, SORTED_TAGS)}
    session = open_session(world_store(tmp_path, {"s": SORTED}, {"s": SORTED_TAGS}))
    for query in ORDERS:
        text = query.replace("ITEMS", 'stream("s")//i')
        answer = session.query(text, strategy, "2010-01-01")  # type: ignore[arg-type]
        assert answer.strategy == strategy
        expected = xcql.evaluate(text, streams=streams, now="2010-01-01")
        assert answer.to_xml() == [one.xml for one in expected], query
