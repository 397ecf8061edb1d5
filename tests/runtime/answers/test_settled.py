"""All late values of `now` behave alike; and the cache never returns results for old data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import xcql
from tests.conftest import OpenSession
from xcql.store.commit import read_state
from xcql.store.state import state_from_json, state_to_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FULL = bool(os.environ.get("XCQL_TEST_FULL"))
TAGS = """<structure><tag type="snapshot" id="1" name="r">
  <tag type="temporal" id="2" name="a"/><tag type="event" id="3" name="e"/>
</tag></structure>"""
FRAGMENTS = """<f>
<filler id="0" tsid="1"><r><hole id="1"/><hole id="2"/></r></filler>
<filler id="1" tsid="2" validTime="2003-01-01"><a>x</a></filler>
<filler id="1" tsid="2" validTime="2003-03-01"><a>y</a></filler>
<filler id="2" tsid="3" validTime="2003-02-01"><e>z</e></filler></f>"""
REPLACED = """<f><replace id="1" tsid="2" validTime="2003-02-01"><a>w</a></replace></f>"""
LOST = """<f><filler id="9" tsid="2" validTime="2003-02-01"><a>nowhere</a></filler></f>"""
QUERIES = (
    'stream("s")//a/string(.)',
    'for $a in stream("s")//a return <v from="{vtFrom($a)}" to="{vtTo($a)}">{$a}</v>',
    'count(stream("s")//e)',
    'stream("s")//a?[2003-01-15, now]',
    'stream("s")//*?[now]',
)
EARLY, AT_LAST, LATE = "2003-01-20", "2003-03-01", "2003-03-01T00:00:00.000001"
LATER = "2004-05-06T07:08:09"


@pytest.fixture
def small(open_session: OpenSession, tmp_path: Path) -> xcql.Session:
    (tmp_path / "tags.xml").write_text(TAGS)
    small = open_session(tmp_path / "store")
    add(small, FRAGMENTS)
    return small


def add(session: xcql.Session, fragments: str) -> None:
    file = session.store.parent / f"{len(list(session.store.parent.iterdir()))}.xml"
    file.write_text(fragments)
    session.ingest(file, stream="s", tags=session.store.parent / "tags.xml")


def expected(session: xcql.Session, query: str, now: str) -> list[str]:
    files = sorted(session.store.parent.glob("[0-9]*.xml"))
    fillers = "".join(file.read_text().removeprefix("<f>").removesuffix("</f>") for file in files)
    streams = {"s": (f"<f>{fillers}</f>", TAGS)}
    return [item.xml for item in xcql.evaluate(query, streams=streams, now=now)]


def test_no_row_is_asked_whether_it_counts_by_now(small: xcql.Session) -> None:
    text = QUERIES[0]
    for now in (EARLY, AT_LAST):
        assert ":now" in small.query(text, "qac+", now).explain("sql")
    for now in (LATE, LATER):
        sql = small.query(text, "qac+", now).explain("sql")
        assert not any(word in sql for word in (":now", "since", "until"))


@pytest.mark.parametrize("more", [None, REPLACED, LOST] if FULL else [REPLACED])
@pytest.mark.parametrize("strategy", ["qac+", "qac"] if FULL else ["qac+"])
def test_answers_at_every_now(small: xcql.Session, strategy: str, more: str | None) -> None:
    if more is not None:
        add(small, more)
    for query in QUERIES:
        for now in (EARLY, AT_LAST, LATE, LATER):
            answer = small.query(query, strategy, now).to_xml()  # type: ignore[arg-type]
            assert answer == expected(small, query, now), (query, now)


def test_a_query_sees_what_came_since_it_was_asked(small: xcql.Session) -> None:
    def values(now: str) -> list[str]:
        return small.query('stream("s")//a/string(.)', now=now).to_xml()

    assert values(LATE) == values(LATE) == values(LATER) == ["x", "y"]
    add(small, REPLACED)
    assert values(LATER) == ["w"]


def test_queries_that_read_alike_are_of_different_tables(
    open_session: OpenSession, tmp_path: Path
) -> None:
    """Their SQL is the same, but its table names stand for different tables."""
    (tmp_path / "tags.xml").write_text("""<structure><tag type="snapshot" id="1" name="r">
      <tag type="snapshot" id="2" name="b"><tag type="temporal" id="3" name="a"/></tag>
      <tag type="snapshot" id="4" name="c"><tag type="temporal" id="5" name="a"/></tag>
    </tag></structure>""")
    both = open_session(tmp_path / "store")
    add(
        both,
        """<f><filler id="0" tsid="1"><r><b><hole id="1"/></b><c><hole id="2"/></c></r></filler>
        <filler id="1" tsid="3" validTime="2003-01-01"><a>x</a></filler>
        <filler id="2" tsid="5" validTime="2003-01-01"><a>y</a></filler></f>""",
    )
    for steps, answer in (("/a", "xy"), ("r/c/a", "y"), ("r/b/a", "x")):
        query = f'stream("s")/{steps}/string(.)'
        assert both.query(query, now=LATE).to_xml() == list(answer)


def test_answers_of_one_query_can_be_joined(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "tags.xml").write_text(TAGS)
    small = xcql.Session(tmp_path / "store", spark)
    add(small, FRAGMENTS)
    first = small.query(QUERIES[0], now=LATE).df
    second = small.query(QUERIES[0], now=LATER).df
    assert first.join(second, first["item"] == second["item"]).count() == 2


def test_a_commit_of_old_settles_never(small: xcql.Session) -> None:
    data = state_to_json(read_state(small.store))
    for table in data["streams"][0]["tables"].values():
        table["max_places"] = table.pop("standing")["max_places"]
    stabilities = [table.stability for table in state_from_json(data).stream("s").tables.values()]
    assert {one.max_places for one in stabilities} == {1}
    assert not any(one.is_lasting for one in stabilities)
    assert all(one.settled > 4_000_000_000_000_000 for one in stabilities)
