"""Comparisons of values computed from an element that may be missing, against the evaluator."""

from __future__ import annotations

from pathlib import Path

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
