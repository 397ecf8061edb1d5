"""What `session.query` guarantees besides answers: laziness, early checks, and explanations."""

from __future__ import annotations

from pathlib import Path

import pytest

import xcql
from tests.conftest import OpenSession
from tests.runtime.samples import STREAMS

NOW = "2003-12-01"


@pytest.fixture
def without_spark(store: Path, monkeypatch: pytest.MonkeyPatch) -> xcql.Session:
    """A session on Spark that fails when Spark is needed."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Spark was asked for")

    monkeypatch.setattr("xcql_runtime.spark.engine.local_session", refuse)
    return xcql.Session(store, engine="spark")


def test_nothing_runs_before_it_is_asked_for(without_spark: xcql.Session) -> None:
    answer = without_spark.query('stream("credit")//account', "caq", now=NOW)
    assert answer.strategy == "caq"
    assert "views built: credit" in answer.explain()
    with pytest.raises(AssertionError, match="Spark was asked for"):
        answer.count()


def test_the_document_of_a_stream_as_the_context_item(
    without_spark: xcql.Session, session: xcql.Session
) -> None:
    answer = without_spark.query("//account/customer", now=NOW, context="credit")
    assert answer.strategy == "qac+"
    with pytest.raises(xcql.XcqlError, match="XCQL0311"):
        without_spark.query("//account", context="nosuch")
    query = 'count(//account), exists(/self::document-node()), . is stream("credit")'
    assert session.query(query, "caq", NOW, context="credit").to_xml() == ["4", "true", "true"]
    # the query's own context item takes precedence
    own = "declare context item := <a><b/></a>; count(b)"
    assert session.query(own, now=NOW, context="credit").to_xml() == ["1"]


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("1 +", "XPST0003", (1, 4)),
        ("for $a in 1\nreturn $b", "XPST0008", (2, 8)),
        ("nosuch(1)", "XPST0017", (1, 1)),
        ('module namespace m = "m"; declare variable $m:x := 1;', "XPST0003", (1, 1)),
    ],
)
def test_static_errors_are_raised_at_once(
    without_spark: xcql.Session, text: str, code: str, place: tuple[int, int]
) -> None:
    with pytest.raises(xcql.XcqlError) as caught:
        without_spark.query(text)
    assert (caught.value.code, (caught.value.line, caught.value.column)) == (code, place)


def test_unknown_choices_name_those_that_there_are(without_spark: xcql.Session) -> None:
    with pytest.raises(xcql.XcqlError, match=r"caq, qac, qac\+, auto") as caught:
        without_spark.query("1", strategy="quick")  # type: ignore[arg-type]
    assert caught.value.code == "XCQL0501"
    with pytest.raises(xcql.XcqlError, match="plan, algebra, sql, spark"):
        without_spark.query("1").explain("all")  # type: ignore[arg-type]


def test_values_that_no_query_knows(without_spark: xcql.Session) -> None:
    with pytest.raises(xcql.XcqlError) as caught:
        without_spark.query("declare variable $x external; $x", variables={"x": object()})
    assert caught.value.code == "XCQL0006"


def test_old_spellings_are_told_of(without_spark: xcql.Session) -> None:
    assert [one.code for one in without_spark.query("currentDateTime()").warnings] == ["XCQL0001"]


def test_the_store_is_read_again_only_after_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import xcql_runtime.store_reader as catalog

    reads = []
    monkeypatch.setattr(
        catalog, "read_state", lambda store, read=catalog.read_state: reads.append(1) or read(store)
    )
    session = xcql.Session(tmp_path / "store")
    fragments, tags = STREAMS["credit"]
    session.query("1")
    session.query("2")
    assert len(reads) == 1
    session.ingest(fragments, stream="credit", tags=tags)
    for _ in range(3):
        session.query('stream("credit")')
    assert len(reads) == 2


def test_an_answer_keeps_its_now_and_its_commit(tmp_path: Path, open_session: OpenSession) -> None:
    growing = open_session(tmp_path / "store")
    tags = tmp_path / "tags.xml"
    tags.write_text(
        '<structure><tag type="snapshot" id="1" name="r"><tag type="event" id="2" name="e"/></tag>'
        "</structure>"
    )
    root = '<filler id="0" tsid="1" validTime="2003-01-01"><r><hole id="1"/></r></filler>'
    event = '<filler id="1" tsid="2" validTime="2003-01-0{}"><e/></filler>'
    one, two = tmp_path / "1.xml", tmp_path / "2.xml"
    one.write_text(f"<f>{root}{event.format(2)}</f>")
    two.write_text(f"<f>{event.format(3)}</f>")
    growing.ingest(one, stream="s", tags=tags)
    before = growing.query('count(stream("s")//e), current-dateTime()')
    growing.ingest(two, stream="s")
    after = growing.query('count(stream("s")//e)')
    first = before.to_xml()
    assert first[0] == "1"
    assert before.to_xml() == first
    assert after.to_xml() == ["2"]


def test_show_tells_when_there_is_more(
    each_session: xcql.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    each_session.query("1 to 3").show(2)
    assert capsys.readouterr().out == "1\n2\n… these are the first 2; there are more\n"
    each_session.query("1 to 2").show(2)
    assert capsys.readouterr().out == "1\n2\n"


def test_the_plan_of_spark(session: xcql.Session, capsys: pytest.CaptureFixture[str]) -> None:
    assert "ArrowEvalPythonUDTF" in session.query("1", "caq").explain("spark")
    assert capsys.readouterr().out == ""


def test_an_answer_is_a_view_for_sql(session: xcql.Session) -> None:
    session.create_view("customers", 'stream("credit")//customer/string()')
    try:
        rows = session.spark.sql("SELECT item FROM customers WHERE item LIKE 'J%'").collect()
        assert [row["item"] for row in rows] == ["John Smith", "Jane Roe"]
    finally:
        session.spark.catalog.dropTempView("customers")


def test_answers_that_are_no_elements_have_a_value(session: xcql.Session) -> None:
    answer = session.query(
        """1, <a n="1" value="v">t<b/><b k="x">y</b><N>z</N></a>, "x &lt; y" """,
        "caq",
    )
    table = answer.table()
    assert table.schema.simpleString() == (
        "struct<n:string,value:string,b:array<struct<k:string,value:string>>,N_2:string,"
        "value_2:string>"
    )
    one, two, three = (row.asDict(recursive=True) for row in table.collect())
    assert one == {"n": None, "value": None, "b": None, "N_2": None, "value_2": "1"}
    assert two == {
        "n": "1",
        "value": "v",
        "b": [{"k": None, "value": ""}, {"k": "x", "value": "y"}],
        "N_2": "z",
        "value_2": "tyz",
    }
    assert three["value_2"] == "x < y"
