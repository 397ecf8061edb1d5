"""`id()` and `idref()` over streams: every version and copy of an element, on every engine."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession
from tests.continuous.worlds import check, random_world
from tests.effort import FULL
from tests.queries.random_histories import NOW as RANDOM_NOW
from tests.queries.random_histories import random_fragments, random_tags
from tests.translate import saxon
from xcql.model.tags import parse_tags, tags_to_xml

NOW = "2010-01-01T00:00:00"
TAGS = """<structure><tag type="snapshot" id="1" name="site">
  <tag type="snapshot" id="2" name="people"><tag type="temporal" id="3" name="person">
    <attribute name="key" type="ID"/><tag type="snapshot" id="4" name="name"/></tag></tag>
  <tag type="snapshot" id="5" name="sold"><tag type="event" id="6" name="sale">
    <attribute name="by" type="IDREF"/><attribute name="seen" type="IDREFS"/>
    <tag type="snapshot" id="7" name="person"/></tag></tag>
</tag></structure>"""
FRAGMENTS = """<f>
<filler id="0" tsid="1"><site><people><hole id="1"/><hole id="2"/><hole id="1"/></people>
  <sold><hole id="3"/></sold></site></filler>
<filler id="1" tsid="3" validTime="2001-01-01"><person key="p1"><name>Ann</name></person></filler>
<filler id="1" tsid="3" validTime="2003-01-01"><person key=" p1 "><name>Anne</name></person>
</filler>
<filler id="2" tsid="3" validTime="2002-01-01"><person key="2"><name xml:id="n">Bob</name></person>
</filler>
<filler id="3" tsid="6" validTime="2004-01-01"><sale by="p1" seen="2 p1"><person key="p1"/></sale>
</filler>
<filler id="3" tsid="6" validTime="2005-01-01"><sale by="2" seen=""><person/></sale></filler>
</f>"""
QUERIES = [
    'id("p1", stream("s"))/name',
    'id("p1 2 n", stream("s")) ! name()',
    'id(("2", "n"), stream("s")/site/sold/sale[1]) ! name()',
    'stream("s")/id("p1")/vtFrom(.)',
    'id("p1", stream("s")?[now])/name/string()',
    'for $s in stream("s")//sale return <who>{ id($s/@by, $s)/name/string() }</who>',
    'idref("p1", stream("s"))/../vtFrom(.)',
    'for $p in stream("s")/site/people/person return <n>{ count(idref($p/@key, $p)) }</n>',
    'id("nobody", stream("s"))',
    'element-with-id("p1", stream("s")) ! name()',
]


def test_by_the_evaluator() -> None:
    def ask(query: str) -> str:
        answer = xcql.evaluate(query, streams={"s": (FRAGMENTS, TAGS)}, now=NOW)
        return " ".join(item.xml for item in answer)

    # two versions at each of two holes
    assert ask(QUERIES[0].replace("/name", "/name/string()")) == "Ann Anne Ann Anne"
    assert ask(QUERIES[1]) == "person person person name person person"
    assert ask(QUERIES[4]) == "Anne Anne"
    assert ask(QUERIES[5]) == "<who>Ann Anne Ann Anne</who> <who>Bob</who>"
    assert ask('idref("p1", stream("s")) ! name()') == "by seen"
    assert ask('idref("2", stream("s")) ! name()') == "seen by"
    # an undeclared attribute is not an ID, and a copy has no types
    assert ask('count(id("p1", stream("s"))[parent::sale])') == "0"
    assert ask('count(document { stream("s") }/id("p1"))') == "0"
    # in other documents, the first element counts
    assert ask("document { <a><b xml:id='x'/><c xml:id='x'/></a> }/id('x')") == '<b xml:id="x"/>'


@pytest.mark.parametrize("strategy", ["auto", "qac"])
def test_in_sql(strategy: str, tmp_path: Path, open_session: OpenSession) -> None:
    session = open_session(world_store(tmp_path, {"s": FRAGMENTS}, {"s": TAGS}))
    assert session.tags("s") == parse_tags(TAGS)
    for query in QUERIES if FULL else QUERIES[strategy == "qac" :: 3]:
        expected = xcql.evaluate(query, streams={"s": (FRAGMENTS, TAGS)}, now=NOW)
        found = session.query(query, strategy=strategy, now=NOW).to_xml()
        assert found == [one.xml for one in expected], query


def test_all_but_one_are_native(tmp_path: Path) -> None:
    """The one asks in the document of a node that might not exist."""
    with xcql.Session(world_store(tmp_path, {"s": FRAGMENTS}, {"s": TAGS})) as session:
        answers = [session.query(query, now=NOW) for query in QUERIES]
    assert [one.strategy for one in answers].count("caq") == 1


def test_as_standard_xquery(tmp_path: Path) -> None:
    file = tmp_path / "s.xml"
    file.write_text(FRAGMENTS)
    for query in QUERIES:
        saxon.agree(query, {"s": (file, TAGS)}, NOW, tmp_path, ("caq", "auto"))


@pytest.mark.parametrize("number", range(100) if FULL else range(3))
def test_random_streams(number: int, tmp_path: Path, open_session: OpenSession) -> None:
    """The attribute `k` is an ID in some tags, and a reference in others."""
    random = Random(f"identifiers {number}")
    root = random_tags(random)
    tags = root.structure()
    for tag in root.all():
        head = f'id="{tag.id}" name="{tag.name}">'
        type_ = random.choice(["ID", "ID", "IDREF", None])
        if type_ is not None:
            tags = tags.replace(head, f'{head}<attribute name="k" type="{type_}"/>')
    fragments = random_fragments(random, root)
    (tmp_path / "s.xml").write_text(fragments, encoding="utf-8")
    session = open_session(world_store(tmp_path, {"s": fragments}, {"s": tags}))
    for query in (
        'id(("1", "3"), stream("s")) ! <x>{ @k, name(), string() }</x>',
        'for $k in idref("2", stream("s")?[2003-01-05, now]) return <x>{ name($k/..), $k/.. }</x>',
    ):
        expected = xcql.evaluate(query, streams={"s": (fragments, tags)}, now=RANDOM_NOW)
        found = session.query(query, now=RANDOM_NOW).to_xml()
        assert found == [one.xml for one in expected], query
        # recursive tags with the same name, only some with the attribute, are indistinguishable
        with suppress(xcql.XcqlError):
            files = {"s": (tmp_path / "s.xml", tags)}
            saxon.agree(query, files, RANDOM_NOW, tmp_path, ("auto",))


def test_continuously(tmp_path: Path) -> None:
    for number in range(20 if FULL else 3):
        world = random_world(Random(number))
        folder = tmp_path / str(number)
        folder.mkdir()
        check('for $a in stream("s")//a return <x>{ count(id("1", $a)) }</x>', world, folder)


def test_written_and_read_again() -> None:
    tags = parse_tags(TAGS.replace('name="by"', 'xmlns:x="urn:x" name="by"'))
    assert parse_tags(tags_to_xml(tags)) == tags
    assert '<attribute name="by" type="IDREF"/>' in tags_to_xml(tags)
