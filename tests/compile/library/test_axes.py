"""Paths of all kinds, against the reference evaluator."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession
from tests.queries import corpus
from xcql.model.tags import parse_tags

NOW = "2010-01-01"
FULL = bool(os.environ.get("XCQL_TEST_FULL"))
# by data set; all of them are native
QUERIES = {
    "credit": [
        'stream("credit")//transaction[last()]/@id/string()',
        'stream("credit")//account/*[position() >= 2][1]/name()',
        'stream("credit")//(account|transaction)[@id]/@id/string()',
        'let $a := stream("credit")//account return ($a[@id="5678"], $a[@id="1234"])/@id/string()',
        'let $t := stream("credit")//transaction return ($t[amount > 100] | $t)/@id/string()',
        'stream("credit")//transaction[1]/following::customer/string()',
        'count(stream("credit")//status/preceding::transaction)',
        'stream("credit")//transaction/root()/creditAccounts/account[1]/@id/string()',
    ],
    "odd": [
        'for $p in stream("odd")//part return $p/@id || ":" || count($p//part)',
        'stream("odd")//part[name = "ring"]/string-join(ancestor-or-self::*/name(), "/")',
        'stream("odd")/lab/part[1]',
        'stream("odd")?[2005-02-15]//part/@id/string()',
    ],
}


@pytest.mark.parametrize("strategy", ["qac+", "qac"] if FULL else ["qac+"])
@pytest.mark.parametrize("data", QUERIES)
def test_axes(data: str, strategy: str, corpus_session: xcql.Session) -> None:
    streams = {one.name: (one.fragments, one.tags) for one in corpus.datasets()[data]}
    for text in QUERIES[data]:
        answer = corpus_session.query(text, strategy=strategy, now=NOW)
        assert answer.strategy == strategy, text
        expected = xcql.evaluate(text, streams=streams, now=NOW)
        assert answer.to_xml() == [item.xml for item in expected], text


def test_nodes_that_have_to_be_one(corpus_session: xcql.Session) -> None:
    answer = corpus_session.query('stream("credit")//account is stream("credit")//customer')
    with pytest.raises(xcql.XcqlError) as raised:
        answer.to_xml()
    assert raised.value.code == "XPTY0004"


# elements of one name whose parents are different elements of one filler
REGIONS = """<stream:structure><tag type="snapshot" id="1" name="site">
  <tag type="snapshot" id="2" name="asia"><tag type="temporal" id="3" name="item"/></tag>
  <tag type="snapshot" id="4" name="europe"><tag type="temporal" id="5" name="item"/></tag>
  </tag></stream:structure>"""
ITEMS = """<fragments>
  <filler id="0" tsid="1"><site><asia><hole id="1"/><hole id="2"/></asia>
    <europe><hole id="3"/><hole id="4"/></europe></site></filler>
  <filler id="1" tsid="3" validTime="2003-01-01"><item>a</item></filler>
  <filler id="2" tsid="3" validTime="2003-01-01"><item>b</item></filler>
  <filler id="3" tsid="5" validTime="2003-01-01"><item>c</item></filler>
  <filler id="4" tsid="5" validTime="2003-01-01"><item>d</item></filler></fragments>"""


@pytest.mark.parametrize("predicate", ["1", "last()", "position() > 1"])
def test_positions_are_those_below_each_parent(
    predicate: str, tmp_path: Path, open_session: OpenSession
) -> None:
    session = open_session(world_store(tmp_path, {"s": ITEMS}, {"s": REGIONS}))
    query = f'stream("s")//item[{predicate}]/string()'
    answer = session.query(query, now=NOW)
    file = tmp_path / "s.xml"
    expected = xcql.evaluate(query, streams={"s": (file, parse_tags(REGIONS))}, now=NOW)
    assert answer.to_xml() == [item.xml for item in expected]
    assert answer.strategy != "caq"
