"""Nodes that contain each other: what is found below one comes before what is below the next."""

from __future__ import annotations

from pathlib import Path

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession
from tests.effort import FULL, worlds
from tests.queries.random_queries import case

NOW = "2010-01-01"
TAGS = """<structure><tag type="snapshot" id="1" name="r"><tag type="temporal" id="2" name="b">
  <tag ref="2"/><tag type="temporal" id="3" name="c"/>
</tag></tag></structure>"""
FRAGMENTS = """<fragments>
<filler id="0" tsid="1"><r><hole id="1"/></r></filler>
<filler id="1" tsid="2" validTime="2003-01-01"><b n="1"><hole id="3"/><hole id="2"/><hole id="5"/>
</b></filler>
<filler id="2" tsid="2" validTime="2003-01-01"><b n="2"><hole id="4"/></b></filler>
<filler id="3" tsid="3" validTime="2003-01-01"><c>before</c></filler>
<filler id="4" tsid="3" validTime="2003-01-01"><c>inside</c></filler>
<filler id="5" tsid="3" validTime="2003-01-01"><c>after</c></filler>
</fragments>"""
RECURSIVE = [
    'for $x in stream("t")//b return $x/c/string()',
    'for $x in stream("t")//b, $c in $x/c return concat($x/@n, $c)',
    'stream("t")//b ! c/string()',
    'stream("t")//b/c/string()',
    'stream("t")//b?[now]/c/string()',
    'stream("t")//b?[now]//c/string()',
]
CONDITIONS = [
    'stream("t")[.//c]//c/string()',
    'stream("t")//b/root(.)//c/string()',
    'stream("t")?[2003-06-01]//c/ancestor::*/name()',
    'stream("t")?[2003-06-01]//c/../@n/string()',
    'stream("t")/r?[2003-06-01]//c/string()',
    'for $y in 2002 to 2004 return stream("t")?[xs:date($y || "-06-01")]//c/string()',
    'for $b in reverse(stream("t")//b) return $b//c/string()',
]
SEVERAL_TAGS = [
    'for $x in stream("t")//r | stream("t")//a return $x/*',
    'for $x in stream("t")//* return $x/*/name()',
    'for $x in (stream("t")//r | stream("t")//a)?[now], $y in $x/* return $y/name()',
    'for $x in (stream("t")//*/parent::*)?[now] return $x/*',
    'stream("t")//*/parent::*?[now]/child::*[@*]',
    'count(stream("t")//(a|r|b)?[now]/descendant::a)',
    'stream("s")//(a|b)?[now]/*/*[1]',
    'stream("s")//(a|b)#[1,4]/*',
]


def test_recursive_tags(open_session: OpenSession, tmp_path: Path) -> None:
    session = open_session(world_store(tmp_path, {"t": FRAGMENTS}, {"t": TAGS}))
    for query in RECURSIVE:
        answer = xcql.evaluate(query, streams={"t": (FRAGMENTS, TAGS)}, now=NOW)
        for strategy in ("qac+", "qac"):
            found = session.query(query, strategy=strategy, now=NOW).to_xml()
            assert found == [item.xml for item in answer], query


@worlds(range(20) if FULL else (2, 13, 17))
def test_several_tags(number: int, open_session: OpenSession, tmp_path: Path) -> None:
    there = case(number, 0)
    session = open_session(world_store(tmp_path, there.world.fragments, there.world.tags))
    for query in SEVERAL_TAGS:
        answer = xcql.evaluate(query, streams=there.streams(), now=there.now)
        for strategy in ("qac+", "qac"):
            found = session.query(query, strategy=strategy, now=there.now).to_xml()
            assert found == [item.xml for item in answer], query


def test_order_below_a_condition(open_session: OpenSession, tmp_path: Path) -> None:
    session = open_session(world_store(tmp_path, {"t": FRAGMENTS}, {"t": TAGS}))
    for query in CONDITIONS:
        answer = xcql.evaluate(query, streams={"t": (FRAGMENTS, TAGS)}, now=NOW)
        for strategy in ("qac+", "qac"):
            found = session.query(query, strategy=strategy, now=NOW).to_xml()
            assert found == [item.xml for item in answer], query
