"""Rare data: lifespans inside fillers, and holes that no filler can fill."""

from __future__ import annotations

from pathlib import Path

import pytest

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession
from xcql.model.tags import parse_tags
from xcql.shred.shape import Slot, walk
from xcql.store.commit import read_state

NOW = "2010-01-01"
TAGS = """<structure><tag type="snapshot" id="1" name="r"><tag type="temporal" id="2" name="i">
  <tag type="snapshot" id="3" name="t"><tag type="snapshot" id="4" name="b"/></tag>
  <tag type="snapshot" id="5" name="n"/>
  <tag type="snapshot" id="6" name="g"><tag type="snapshot" id="7" name="n"/></tag>
</tag></tag></structure>"""
ENDED = 'vtFrom="2001-01-01T00:00:00" vtTo="2002-01-01T00:00:00"'
LASTING = 'vtFrom="2002-01-01T00:00:00" vtTo="now"'


def fragments(*contents: str, root: str = "") -> str:
    """Fillers with items of these contents; a comment rules out the plain reader."""
    holes = "".join(f'<hole id="{number}"/>' for number, _ in enumerate(contents, 1))
    fillers = "".join(
        f'<filler id="{number}" tsid="2" validTime="2001-01-01"><i>{content}</i></filler>'
        for number, content in enumerate(contents, 1)
    )
    return f'<f><filler id="0" tsid="1"><r {root}>{holes}</r></filler>{fillers}</f>'


TIMED = {
    "a column": fragments(f"<n {ENDED}>1</n>", f"<n {LASTING}>2</n><n>3</n>"),
    "below": fragments(f"<g><n {ENDED}>1</n></g>", f"<g><n {LASTING}>2</n></g>"),
    "mixed content": fragments(f"<t>x<b {ENDED}>b1</b><b>b2</b></t>", "<n>4</n>"),
    "mixed later": fragments("<t><b>b0</b></t>", f"<t><b {ENDED}>b1</b></t>", "<t>x<b>b2</b></t>"),
    "not plain": fragments(f"<!-- --><t>x<b {ENDED}>b1</b></t>", f"<!-- --><n {LASTING}>2</n>"),
    "the root": fragments("<n>1</n>", root=ENDED),
}
ABOUT_TIME = [
    'stream("s")//n?[2005-01-01]',
    'stream("s")?[2005-01-01]//i/t/b/text()',
    'stream("s")?[2005-01-01]//i/string()',
    'stream("s")//i?[2005-01-01]',
    'for $x in stream("s")//i/* return vtFrom($x)',
    'for $x in stream("s")//i return vtTo($x)',
    'stream("s")/r/vtFrom(.)',
    'stream("s")//i#[1]',
    'for $n in stream("s")//n where $n before [2005-01-01, 2006-01-01] return $n/string()',
]


@pytest.mark.parametrize("kind", TIMED)
def test_lifespans_that_came_with_the_data(
    kind: str, tmp_path: Path, open_session: OpenSession
) -> None:
    session = open_session(world_store(tmp_path, {"s": TIMED[kind]}, {"s": TAGS}))
    for query in ABOUT_TIME:
        check(query, session)
    answer = session.query('stream("s")//n', now=NOW)
    assert answer.arrow() == session.query('stream("s")//n', "caq", NOW).arrow()


def test_a_view_that_was_written_is_asked_again(tmp_path: Path, open_session: OpenSession) -> None:
    """The output of `xcqlc temporalize`, read by `xcqlc run --doc`."""
    text = fragments(f"<n {ENDED}>1</n>", "<n>2</n>")
    store = world_store(tmp_path, {"s": text}, {"s": TAGS})
    view = "".join(open_session(store).temporalize("s", now=NOW))
    tags = TAGS.replace('"temporal"', '"snapshot"')
    again = f'<f><filler id="0" tsid="1">{view.partition("?>")[2] or view}</filler></f>'
    (tmp_path / "again").mkdir()
    written = world_store(tmp_path / "again", {"s": again}, {"s": tags})
    session = open_session(written)
    for query in ABOUT_TIME:
        check(query, session)


STRAYS = fragments(
    '<t>x<b>p<hole id="7"/>q</b>y<hole id="8"/>z</t><n>k<hole id="9"/>l</n>',
    '<!-- --><t>x<b>p<hole id="7"/>q</b></t><n><hole id="9"/></n>',
    '<g><hole id="10"/><n>m</n></g><t><hole id="11"/></t>',
)
ABOUT_HOLES = [
    'stream("s")//n',
    'stream("s")//i',
    'stream("s")//t',
    'stream("s")//t/b',
    'stream("s")//g',
    'stream("s")/r',
    'stream("s")//n/text()',
    'stream("s")//t/text()',
    'stream("s")//t/b/text()',
    'stream("s")//t//text()',
    'stream("s")//t/string()',
    'count(stream("s")//*)',
    'stream("s")//t/has-children(.)',
    'for $i in stream("s")//i return <c>{ $i/t, $i/g }</c>',
    'stream("s")//i?[2005-01-01]',
]


def test_holes_where_no_filler_can_be(tmp_path: Path, open_session: OpenSession) -> None:
    session = open_session(world_store(tmp_path, {"s": STRAYS}, {"s": TAGS}))
    for query in ABOUT_HOLES:
        check(query, session)


def test_what_is_common_is_answered_natively(tmp_path: Path, open_session: OpenSession) -> None:
    """A lifespan on a filler's own element is overwritten, and half a lifespan is ignored."""
    text = fragments('<t>x<b vtFrom="2001-01-01">b1</b></t>', "<n>1</n>").replace(
        "<i><n>", f"<i {ENDED}><n>"
    )
    session = open_session(world_store(tmp_path, {"s": text}, {"s": TAGS}))
    for query in (*ABOUT_TIME, *ABOUT_HOLES):
        assert check(query, session) != "caq" or "#[" in query or "//text()" in query, query


def check(query: str, session: xcql.Session) -> str:
    """Check that the answer is the evaluator's; return the strategy."""
    stream = {"s": (session.store.parent / "s.xml", session.tags("s"))}
    expected = [one.xml for one in xcql.evaluate(query, streams=stream, now=NOW)]
    answer = session.query(query, now=NOW)
    assert answer.to_xml() == expected, query
    return answer.strategy


def test_ways_are_kept_when_a_table_is_shredded_anew(
    tmp_path: Path, open_session: OpenSession
) -> None:
    """Each part of a file has few paths in its mixed content; together they have many."""
    names = [f"a{number}" for number in range(300)]
    inside = "".join(f'<tag type="snapshot" id="{one}" name="{one}"/>' for one in ("b", *names))
    tags = f"""<structure><tag type="snapshot" id="1" name="r">
      <tag type="temporal" id="2" name="i">
        <tag type="snapshot" id="3" name="t">{inside}</tag>
        <tag type="snapshot" id="4" name="u"><tag type="snapshot" id="5" name="v"/></tag>
      </tag></tag></structure>"""

    def filler(number: int, content: str) -> str:
        return f'<filler id="{number}" tsid="2" validTime="2001-01-01"><i>{content}</i></filler>'

    root = '<filler id="0" tsid="1"><r><hole id="1"/><hole id="2"/><hole id="3"/></r></filler>'
    parts = [
        root + filler(1, f"<t>x<b>b1</b>{''.join(f'<{one}/>' for one in names[:150])}</t>"),
        filler(2, f"<t>x{''.join(f'<{one}/>' for one in names[150:])}<b>b2</b></t>"),
        filler(3, "<u>mixed<v/></u>"),
    ]
    store = tmp_path / "store"
    for part in parts:
        (tmp_path / "s.xml").write_text(f"<f>{part}</f>")
        xcql.Session(store).ingest(tmp_path / "s.xml", stream="s", tags=parse_tags(tags))
    (tmp_path / "s.xml").write_text(f"<f>{''.join(parts)}</f>")
    check('stream("s")//t/b/text()', open_session(store))
    mixed = next(one for one in walk(_shape(store, "2")) if one.column == "t")
    assert mixed.indexed


def _shape(store: Path, tsid: str) -> Slot:
    return read_state(store).stream("s").tables[tsid].shape
