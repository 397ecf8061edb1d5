"""Attributes and text in time: they have the lifespan of the nearest ancestor that has its own."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession
from tests.effort import FULL, worlds
from tests.queries.random_queries import NOW, leaf_query, world
from tests.translate import saxon
from xcql.check import check
from xcql.compile import Externals, compile_query

WORLDS = range(100, 140) if FULL else (102, 107)
QUERIES = 12 if FULL else 4
TAGS = """<structure><tag type="snapshot" id="1" name="r"><tag type="temporal" id="2" name="i">
  <tag type="snapshot" id="3" name="t"><tag type="snapshot" id="4" name="b"/></tag>
  <tag type="snapshot" id="5" name="n"/>
  <tag type="event" id="6" name="e"><tag type="snapshot" id="7" name="m"/></tag>
</tag></tag></structure>"""
FRAGMENTS = """<f>
<filler id="0" tsid="1"><r k="0"><hole id="1"/><hole id="2"/></r></filler>
<filler id="1" tsid="2" validTime="2001-01-01"><i k="1"><n p="1">one</n><hole id="3"/></i></filler>
<filler id="1" tsid="2" validTime="2003-01-01"><i k="2"><n p="2">two</n><hole id="3"/></i></filler>
<filler id="2" tsid="2" validTime="2002-01-01"><i><t>x<b q="3">bold</b>y</t></i></filler>
<filler id="3" tsid="6" validTime="2004-01-01"><e k="4"><m p="5">event</m></e></filler>
</f>"""
FIXED = [
    'for $k in stream("s")//@k return <v>{ vtFrom($k), vtTo($k) }</v>',
    'for $p in stream("s")//n/@p return <v>{ vtFrom($p), vtTo($p) }</v>',
    'for $p in stream("s")//n/text() return <v>{ vtFrom($p), vtTo($p) }</v>',
    'for $p in stream("s")//t/b/@q return <v>{ vtFrom($p), vtTo($p) }</v>',
    'for $p in stream("s")//t/b/text() return <v>{ vtFrom($p), vtTo($p) }</v>',
    'for $p in stream("s")//t/text() return <v>{ vtFrom($p), vtTo($p) }</v>',
    'for $p in stream("s")//m/@p return <v>{ vtFrom($p), vtTo($p) }</v>',
    'stream("s")//i/@k?[2002-06-01] ! <v>{ . }</v>',
    'stream("s")//n/@p?[2002-06-01, now]/string()',
    'stream("s")//n/text()?[2002-06-01]',
    'stream("s")//t/b/text()?[2001-06-01]',
    'stream("s")//t/b/@q?[2002-06-01]/string()',
    'stream("s")//e/@k?[now] ! string()',
    'stream("s")//m/text()?[2004-01-01]',
    'stream("s")/r/@k?[1990-01-01] ! string()',
    'stream("s")/r/@k?[2990-01-01] ! string()',
    'stream("s")//i/@k#[last] ! <v>{ . }</v>',
    'stream("s")//n/text()#[1]',
    'count(stream("s")//i/@k?[now]/..), count(stream("s")//i/@k#[1]/..)',
    'for $k in stream("s")//i/@k?[2002-06-01] return vtFrom($k)',
    'stream("s")//i?[2002-06-01]/@k/vtFrom(.)',
    'stream("s")//i?[2002-06-01]/n/@p/vtFrom(.)',
    'stream("s")//n?[2002-06-01]/@p/vtFrom(.)',
    'stream("s")?[2002-06-01, 2003-06-01]//n/text()/vtTo(.)',
    'stream("s")//n#[2]/text()/vtFrom(.)',
    'stream("s")//n[@p before [2003-06-01, now]]/string()',
    'stream("s")//n[text() meets [2003-01-01, now]]/string()',
    'for $a in stream("s")//n/@p, $b in stream("s")//m/@p where $a contains $b return $a/string()',
    '<x>{ stream("s")//n/@p?[2002-06-01] }</x>',
    '<x vtFrom="2000-01-01" vtTo="2001-01-01">{ stream("s")//n }</x>/n/@p/vtFrom(.)',
    '<x vtFrom="2000-01-01" vtTo="2001-01-01">{ stream("s")//i }</x>/i/@k/vtFrom(.)',
    '<x vtFrom="2000-01-01" vtTo="2001-01-01" k="1"><y j="2">z</y></x>/(@k, y/@j) ! vtTo(.)',
    '<x vtFrom="2000-01-01" vtTo="2001-01-01" k="1"><y j="2">z</y></x>/y/text()/vtTo(.)',
    'for $n in stream("s")//n return <o>{ $n/@p?[now] ! normalize-unicode(.) }</o>',
    'for $n in stream("s")//n return <o>{ trace($n)/@p?[2002-06-01]/string() }</o>',
    'for $n in stream("s")//n let $p := $n/@p return <o>{ trace(vtFrom($p)) }</o>',
    'for $n in stream("s")//n return <o>{ trace($n) ! (@p/vtFrom(.), vtFrom(.)) }</o>',
]


@pytest.mark.parametrize("strategy", ["qac+", "qac", "caq"])
def test_in_sql(strategy: str, tmp_path: Path, open_session: OpenSession) -> None:
    store = world_store(tmp_path, {"s": FRAGMENTS}, {"s": TAGS})
    session = open_session(store)
    for query in FIXED if FULL else FIXED[:: {"qac+": 2, "qac": 7, "caq": 12}[strategy]]:
        expected = xcql.evaluate(query, streams={"s": (FRAGMENTS, TAGS)}, now="2010-01-01")
        answer = session.query(query, strategy=strategy, now="2010-01-01")
        assert answer.to_xml() == [one.xml for one in expected], query


def test_most_are_native(tmp_path: Path) -> None:
    from xcql_runtime.store_reader import StoreReader

    known = StoreReader(world_store(tmp_path, {"s": FRAGMENTS}, {"s": TAGS})).read().catalog
    for query in (*FIXED[1:18], *FIXED[19:28], *FIXED[29:31]):
        assert not compile_query(check(query), known, "qac+", Externals()).evaluations, query


def test_as_standard_xquery(tmp_path: Path) -> None:
    file = tmp_path / "s.xml"
    file.write_text(FRAGMENTS)
    for query in FIXED:
        if "trace" not in query:
            saxon.agree(query, {"s": (file, TAGS)}, "2010-01-01T00:00:00", tmp_path)


@worlds(WORLDS)
def test_random_questions(number: int, open_session: OpenSession, tmp_path: Path) -> None:
    there = world(number)
    session = open_session(world_store(tmp_path, there.fragments, there.tags))
    streams = {name: (there.fragments[name], there.tags[name]) for name in there.fragments}
    files = {name: (tmp_path / f"{name}.xml", there.tags[name]) for name in there.fragments}
    random = Random(number)
    for index in range(QUERIES):
        query = leaf_query(random, there.roots)
        expected = [item.xml for item in xcql.evaluate(query, streams=streams, now=NOW)]
        for strategy in ("qac+", "qac", "caq") if FULL or index == 0 else ("qac+",):
            found = session.query(query, strategy=strategy, now=NOW).to_xml()
            assert found == expected, f"world {number}, {strategy}: {query}"
        saxon.agree(query, files, NOW, tmp_path)
