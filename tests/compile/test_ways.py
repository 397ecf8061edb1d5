"""Texts inside mixed content, from the columns that ingest creates for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import xcql
from tests.compile.conftest import ingested
from tests.conftest import OpenSession
from xcql.compile.api import compile_reusable
from xcql.compile.literals import Reusable
from xcql.compile.result import Compiled
from xcql.model.tags import parse_tags
from xcql.shred.shape import Slot
from xcql.store.commit import read_state, write_state
from xcql.store.state import StoreState, renumbered, state_from_json, state_to_json
from xcql.store.upkeep import compact
from xcql.store.verify import verify

NOW = "2010-01-01"
ITEM = """
    <tag type="snapshot" id="{0}1" name="text">
      <tag type="snapshot" id="{0}2" name="bold"><tag type="snapshot" id="{0}3" name="emph"/></tag>
      <tag type="snapshot" id="{0}4" name="emph"/>
      <tag type="snapshot" id="{0}9" name="Bold"/>
    </tag>
    <tag type="snapshot" id="{0}5" name="par"><tag type="snapshot" id="{0}6" name="li">
      <tag ref="{0}5"/>
      <tag type="snapshot" id="{0}7" name="text"><tag type="snapshot" id="{0}8" name="bold"/></tag>
    </tag></tag>"""
TAGS = f"""<structure><tag type="snapshot" id="1" name="site">
  <tag type="snapshot" id="2" name="east"><tag type="temporal" id="3" name="item">
    {ITEM.format(3)}</tag></tag>
  <tag type="snapshot" id="4" name="west"><tag type="temporal" id="5" name="item">
    {ITEM.format(5)}</tag></tag>
</tag></structure>"""


def item(id: str, tag: int, content: str, time: str = "2005-01-01") -> str:
    body = f'<item id="{id}">{content}</item>'
    return f'<filler id="{id}" tsid="{tag}" validTime="{time}">{body}</filler>'


def stream(*fillers: str) -> str:
    return f"<fragments>{''.join(fillers)}</fragments>"


ROOT = """<filler id="0" tsid="1" validTime="2005-01-01"><site>
  <east><hole id="a"/><hole id="b"/><hole id="c"/></east><west><hole id="d"/><hole id="e"/></west>
</site></filler>"""
FIRST = [
    ROOT,
    item("a", 3, "<text>x<bold>a1</bold> y <bold>a2<emph>a3</emph>a4</bold></text>"),
    item("a", 3, "<text>x<bold>A1</bold></text><text/>", "2005-02-01"),
    item("b", 3, "<text>none</text><text>b<bold>b&amp;1<!-- c -->b2<![CDATA[<b>]]></bold></text>"),
    item("c", 3, "<par><li><text>p<bold>c1</bold></text><par><li> <text>q<bold>c2</bold>"
                 "r<bold>c3</bold></text></li></par></li></par>"),
    item("d", 5, "<text>z<bold>d1</bold></text><text/><par><li>\n<text>t</text></li></par>"),
    item("e", 5, ""),
]  # fmt: skip
# each with whether the query reads the fillers' bytes
QUERIES = [
    ('stream("s")//item/text/bold/text()', False),
    ('stream("s")/site/west/item/text/bold/text()', False),
    ('stream("s")/site/east/item/par/li/par/li/text/bold/text()', False),
    ('stream("s")//item/par/li/text()', False),
    ('stream("s")//item/text/emph/text()', False),
    ('for $t in stream("s")//item/text return <n>{ count($t/bold/text()) }</n>', False),
    ('for $i in stream("s")//item, $b in $i/text/bold/text() where $b = "A1" return $i/@id', False),
    ('stream("s")//item[text/bold/emph/text()]/@id/string()', False),
    ('stream("s")//item[empty(text/bold/text())]/@id/string()', False),
    ('for $i in stream("s")//item return <i>{ ($i/text/bold/text())[2] }</i>', False),
    ('stream("s")//item/text/bold/text()[. = "A1"]', False),
    ('(stream("s")//item/text/bold/text())[last()]', False),
    ('string-join(for $b in stream("s")//item/text/bold/text() order by $b return $b, "|")', False),
    ('stream("s")//item?[2005-01-15]/text/bold/text()', False),
    ('stream("s")?[2005-01-10, 2005-01-20]//item/text/bold/text()', False),
    ('stream("s")//item#[last]/text/bold/text()', False),
    ('stream("s")//item/text/bold[2]/text()', True),
    ('for $i in stream("s")//item return <i>{ $i/text/bold/text()[2] }</i>', True),
    ('stream("s")//item/text/bold/text()[last()]', True),
    ('stream("s")//item/text//emph/text()', False),
    ('stream("s")//item/text/text()', False),
]


class Asked:
    """A store, and the stream that it should contain."""

    def __init__(
        self, folder: Path, open_session: OpenSession, patch: pytest.MonkeyPatch, *fillers: str
    ) -> None:
        self._folder = folder
        self._fillers: list[str] = []
        self.store = folder / "store"
        self.add(*fillers)
        self._compiled: list[Compiled] = []
        self._session = open_session(self.store)
        patch.setattr("xcql_runtime.answers.answer.compile_reusable", self._compile)

    def _compile(self, *arguments: Any) -> Reusable:
        found = compile_reusable(*arguments)
        self._compiled.append(found.compiled)
        return found

    def add(self, *fillers: str) -> None:
        new, self._all = self._folder / "new.xml", self._folder / "all.xml"
        self._fillers += fillers
        new.write_text(stream(*fillers), encoding="utf-8")
        self._all.write_text(stream(*self._fillers), encoding="utf-8")
        ingested(self.store, {"s": (new, parse_tags(TAGS))})

    def slot(self, tsid: str, column: str) -> Slot:
        shape = self.state().stream("s").tables[tsid].shape
        return next(child for child in shape.children if child.column == column)

    def state(self) -> StoreState:
        return read_state(self.store)

    def check(self, text: str, reads_bytes: bool) -> None:
        """Check that the answer is the evaluator's, with or without the fillers' bytes."""
        assert self.is_native(text), text
        columns = {path for use in self._compiled[-1].tables for path in use.columns}
        assert (("raw",) in columns) == reads_bytes, text

    def is_native(self, text: str) -> bool:
        """Check that the answer is the evaluator's; return whether only SQL computes it."""
        streams = {"s": (self._all, parse_tags(TAGS))}
        answer = self._session.query(text, now=NOW)
        found = answer.to_xml()
        expected = xcql.evaluate(text, streams=streams, now=NOW)
        assert found == [one.xml for one in expected], text
        return answer.strategy != "caq" and "evaluated" not in answer.explain()


@pytest.fixture
def asked(tmp_path: Path, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(tmp_path, open_session, monkeypatch, *FIRST)


def of_old(state: StoreState, ways: bool) -> StoreState:
    """The state as written by earlier versions, which knew less, with or without ways."""

    def strip(slot: dict[str, Any]) -> None:
        del slot["strays"], slot["timed"]
        if not ways:
            del slot["ways"]
            slot["flags"] = [flag for flag in slot["flags"] if flag != "indexed"]
        for child in slot["children"]:
            strip(child)

    data = state_to_json(state)
    for table in data["streams"][0]["tables"].values():
        strip(table["shape"])
    return state_from_json(data)


def test_texts_are_read_from_columns(asked: Asked) -> None:
    for text, reads_bytes in QUERIES:
        asked.check(text, reads_bytes)


def test_of_a_store_of_old_less_is_known(asked: Asked) -> None:
    """The compiler then assumes that mixed content may contain anything."""
    write_state(asked.store, renumbered(of_old(asked.state(), ways=True)))
    # a text has the lifespan of an ancestor, and an element inside may have its own
    assert not asked.is_native(QUERIES[0][0])
    asked.check('for $t in stream("s")//item/text return count($t/bold/text())', False)
    assert not asked.is_native('stream("s")//item?[2005-01-15]/text/bold/text()')
    write_state(asked.store, renumbered(of_old(asked.state(), ways=False)))
    for text, _ in QUERIES[:3]:
        assert not asked.is_native(text)
    # and this does not change: its files have no columns for the inside
    asked.add(item("a", 3, "<text>x<bold>a5</bold></text>", "2005-03-01"))
    assert not asked.slot("3", "text").indexed
    assert not asked.is_native(QUERIES[0][0])


def test_ways_that_come_later(asked: Asked) -> None:
    missing = 'stream("s")//item/text/emph/text()'
    counts = 'for $t in stream("s")//item/text return <n>{ count($t/emph/text()) }</n>'
    asked.add(item("e", 5, "<text>e<emph>e1</emph></text>", "2005-03-01"))
    assert asked.slot("5", "text").way_columns == ["bold", "emph"]
    for text in (missing, counts, QUERIES[0][0]):
        asked.check(text, False)
    compact(asked.store)
    assert verify(asked.store) == []
    for text in (missing, counts, QUERIES[0][0]):
        asked.check(text, False)


def test_the_first_ways_come_later(
    tmp_path: Path, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = [item(id, 3, "<text>x</text><text>y</text>") for id in "ab"]
    asked = Asked(tmp_path, open_session, monkeypatch, ROOT, *plain)
    inner = 'stream("s")//item/text/bold/text()'
    asked.check(inner, False)
    asked.add(item("c", 3, "<text>x<bold>c1</bold></text>"))
    assert len(asked.state().stream("s").tables["3"].files) == 2
    asked.check(inner, False)
    counts = 'for $t in stream("s")//item/text return <n>{ count($t/bold/text()) }</n>'
    asked.check(counts, False)


def test_what_becomes_mixed_later(
    tmp_path: Path, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    shredded = [
        item("a", 3, "<text><bold><emph>a1</emph>\n</bold></text><text><emph/></text>"),
        item("b", 3, "<text><bold><emph>b1</emph><emph>b2</emph></bold></text>"),
        item("c", 3, "<text><bold>c1<emph>c2</emph></bold></text>"),
        item("d", 5, "<text><!-- c --><bold/></text>"),
    ]
    asked = Asked(tmp_path, open_session, monkeypatch, ROOT, *shredded)
    assert not asked.slot("3", "text").opaque
    asked.add(
        item("b", 3, "<text>x<emph>b3</emph></text>", "2005-03-01"),
        item("d", 5, '<text>y<hole id="7"/></text>', "2005-03-01"),
    )
    assert asked.slot("3", "text").way_columns == ["bold", "bold/emph", "emph"]
    for way in ("bold", "bold/emph", "emph"):
        asked.check(f'stream("s")/site/east/item/text/{way}/text()', False)
    counts = (
        'for $t in stream("s")/site/east/item/text return <n>{ count($t/bold/emph/text()) }</n>'
    )
    asked.check(counts, False)
    assert not asked.slot("5", "text").indexed
    # the table of nodes has texts that have no column
    assert asked.is_native('stream("s")/site/west/item/text/bold/text()')
    # the texts around a hole that no filler can fill form one text
    assert asked.is_native('stream("s")/site/west/item/text/text()')


def test_where_there_are_no_ways(asked: Asked) -> None:
    asked.add(item("e", 5, "<text>e<Bold>e1</Bold></text>", "2005-03-01"))
    # SQL cannot distinguish the two
    assert not asked.slot("5", "text").indexed
    asked.check('stream("s")//item/text/bold/text()', True)
    asked.check('stream("s")//item/text/Bold/text()', True)
    asked.check('stream("s")/site/east/item/text/bold/text()', False)
    asked.add(item("a", 3, '<par><li><text>x<hole id="7"/></text></li></par>', "2005-03-01"))
    assert not asked.slot("3", "par").indexed
    assert asked.is_native('stream("s")/site/east/item/par/li/text/bold/text()')
    assert asked.is_native('stream("s")/site/east/item/par/li/text/text()')
    assert verify(asked.store) == []
