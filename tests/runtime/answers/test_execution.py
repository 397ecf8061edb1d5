"""Repeated queries: planned once, computed each time; and in one task if the data is small."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import xcql
from tests.conftest import OpenSession
from xcql.compile.result import TableUse
from xcql.store.commit import read_state
from xcql_runtime.spark.open_tables import is_little

TAGS = """<structure><tag type="snapshot" id="1" name="r">
  <tag type="temporal" id="2" name="a">
    <tag type="snapshot" id="3" name="n"/>
    <tag type="snapshot" id="4" name="p"><tag type="snapshot" id="5" name="b"/></tag>
  </tag>
</tag></structure>"""
FRAGMENTS = """<f>
<filler id="0" tsid="1"><r><hole id="1"/><hole id="2"/></r></filler>
<filler id="1" tsid="2" validTime="2003-01-01"><a><n>7</n><p>mixed <b>text</b></p></a></filler>
<filler id="2" tsid="2" validTime="2003-02-01"><a><n>8</n></a></filler></f>"""
NOW = "2004-01-01"


@pytest.fixture
def small(session: xcql.Session, tmp_path: Path) -> xcql.Session:
    """On Spark."""
    return filled(xcql.Session(tmp_path / "store", session.spark), tmp_path)


@pytest.fixture
def each_small(open_session: OpenSession, tmp_path: Path) -> xcql.Session:
    """On DuckDB and on Spark."""
    return filled(open_session(tmp_path / "store"), tmp_path)


def filled(session: xcql.Session, folder: Path) -> xcql.Session:
    (folder / "tags.xml").write_text(TAGS)
    (folder / "fragments.xml").write_text(FRAGMENTS)
    session.ingest(folder / "fragments.xml", stream="s", tags=folder / "tags.xml")
    return session


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ('stream("s")//a/n/string()', ["7", "8"]),
        ('sum(stream("s")//a/n)', ["15"]),
        ('for $a in stream("s")//a order by $a/n descending return $a/n/string()', ["8", "7"]),
        ('for $a in stream("s")//a, $b in stream("s")//a where $a/n = $b/n return 1', ["1", "1"]),
    ],
)
def test_nothing_that_was_computed_is_kept(
    each_small: xcql.Session, query: str, answer: list[str]
) -> None:
    for _ in range(3):
        assert each_small.query(query, now=NOW).to_xml() == answer
    state = read_state(each_small.store)
    for file in state.stream("s").tables["2"].files:
        (each_small.store / file.path).unlink()
    # a query that read the files again would fail
    with pytest.raises(xcql.XcqlError):
        each_small.query(query, now=NOW).to_xml()


@pytest.mark.parametrize("query", ['sum(stream("s")//a/n)', 'stream("s")//a/n/xs:integer(.)'])
def test_a_query_that_failed_fails_again(each_small: xcql.Session, query: str) -> None:
    good = each_small.query(query, now=NOW).to_xml()
    bad = each_small.store.parent / "bad.xml"
    bad.write_text(
        """<f><filler id="2" tsid="2" validTime="2003-03-01"><a><n>none</n></a></filler></f>"""
    )
    each_small.ingest(bad, stream="s")
    for _ in range(3):
        with pytest.raises(xcql.XcqlError) as raised:
            each_small.query(query, now=NOW).to_xml()
        assert raised.value.code == "FORG0001"
    better = each_small.store.parent / "better.xml"
    better.write_text(
        """<f><replace id="2" tsid="2" validTime="2003-03-01"><a><n>8</n></a></replace></f>"""
    )
    each_small.ingest(better, stream="s")
    assert each_small.query(query.replace("//a", "//a?[now]"), now=NOW).to_xml() == good


@pytest.mark.parametrize("query", ['sum(stream("s")//a/n)', 'stream("s")//a/n/string()'])
def test_one_query_in_several_threads(each_small: xcql.Session, query: str) -> None:
    answer = each_small.query(query, now=NOW).to_xml()
    with ThreadPoolExecutor(4) as threads:
        asked = [
            threads.submit(lambda: each_small.query(query, now=NOW).to_xml()) for _ in range(12)
        ]
        assert [one.result() for one in asked] == [answer] * 12


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([("number",), ("element", "n", "_text")], True),
        ([("element", "p", "_start")], True),
        ([("element", "p", "_text")], False),
        ([("element", "p")], False),
        ([("raw",)], False),
    ],
)
def test_long_texts_are_not_little(
    small: xcql.Session, columns: list[tuple[str, ...]], expected: bool
) -> None:
    use = TableUse("s_a", "s", ("2",), tuple(columns))
    assert is_little(read_state(small.store), [use]) is expected


def test_many_rows_are_not_little(small: xcql.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xcql_runtime.spark.open_tables._FEW_ROWS", 3)
    uses = [TableUse("s_a", "s", ("2",), (("number",),)), TableUse("s_r", "s", ("1",), ())]
    assert is_little(read_state(small.store), uses)
    assert not is_little(read_state(small.store), [*uses, uses[1]])
    assert small.query('count(stream("s")//a)', now=NOW).to_xml() == ["2"]


def test_who_asks_for_the_present_reads_no_files_of_the_past(
    small: xcql.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "later.xml").write_text("""<f>
<filler id="1" tsid="2" validTime="2003-03-01"><a><n>9</n></a></filler>
<filler id="2" tsid="2" validTime="2003-03-01"><a><n>10</n></a></filler></f>""")
    # as if the file were full
    monkeypatch.setattr("xcql.store.write._FILE_BYTES", 1)
    small.ingest(tmp_path / "later.xml", stream="s")
    present, past = 'sum(stream("s")//a?[now]/n)', 'sum(stream("s")//a/n)'
    assert small.query(present, now="2003-02-15").to_xml() == ["15"]
    state = read_state(small.store)
    files = state.stream("s").tables["2"].files
    assert sorted((file.rows, file.present) for file in files) == [(2, 0), (2, 2)]
    monkeypatch.setattr("xcql_runtime.spark.open_tables._FEW_ROWS", 3)
    use = TableUse("s_a", "s", ("2",), (("number",),))
    assert is_little(state, [replace(use, present=True)])
    assert not is_little(state, [use])
    for file in files:
        if not file.present:
            (small.store / file.path).unlink()
    assert "2 that have not ended" in small.query(present, now=NOW).explain()
    assert small.query(present, now=NOW).to_xml() == ["19"]
    with pytest.raises(xcql.XcqlError):
        small.query(past, now=NOW).to_xml()


def test_where_nothing_is_left_the_present_is_empty(
    each_small: xcql.Session, tmp_path: Path
) -> None:
    (tmp_path / "later.xml").write_text("""<f><remove id="1" validTime="2003-03-01"/>
<remove id="2" validTime="2003-04-01"/></f>""")
    each_small.ingest(tmp_path / "later.xml", stream="s")
    query = 'count(stream("s")//a?[now]), stream("s")//a?[now]/n/string()'
    assert each_small.query(query, now=NOW).to_xml() == ["0"]
    assert each_small.query(query, now="2003-03-15").to_xml() == ["1", "8"]


def test_a_large_answer_is_sorted_in_parts(
    small: xcql.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = 'for $a in stream("s")//a order by $a/n descending return $a/n'
    expected = ["<n>8</n>", "<n>7</n>"]
    assert list(small.query(query, now=NOW).items()) == expected
    monkeypatch.setattr("xcql.sql.lowering._FEW_BYTES", 0)
    answer = small.query(f"{query} ", now=NOW)
    assert "REBALANCE" in answer.explain("sql")
    assert list(answer.items()) == expected


def test_buckets_of_time_are_made_of_what_is_joined_alone(
    small: xcql.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "later.xml").write_text('<f><remove id="2" validTime="2003-06-01"/></f>')
    small.ingest(tmp_path / "later.xml", stream="s")
    # as if there were many intervals
    monkeypatch.setattr(sys.modules["xcql.algebra.rules.interval_joins"], "MANY", 0)
    answer = small.query(
        'for $a in stream("s")//a[n = 7], $b in stream("s")//a where $b during $a return $b/n',
        now=NOW,
    )
    plan = answer.explain("spark")
    assert "inline(" in plan
    assert not any("shiftright" in line for line in plan.splitlines() if "Condition" in line)
    assert answer.to_xml() == ["<n>8</n>"]
