"""Running compiled SQL text: tables, evaluations, and errors at their sites.

The compiler has its own tests; here the SQL is written by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import xcql
from xcql.compile import Compiled, Evaluation, NotNative, Site, TableUse
from xcql.compile.literals import Reusable
from xcql.compile.terms.layout import joint_schema, read_schema
from xcql.dialects.slots import SqlText, slot
from xcql.shred.shape import Slot
from xcql.source import Source, Span
from xcql.store.commit import read_state
from xcql_runtime.spark.open_tables import table_in_use
from xcql_runtime.store_reader import StoreReader, catalog_of

NOW = "2003-12-01"
QUERY = "for $x in (1, 2)\nreturn native($x)"
PLACE = Span(Source(QUERY), 24, 34)

TAGS = """<structure><tag type="snapshot" id="1" name="r">
  <tag type="temporal" id="2" name="a"><tag type="snapshot" id="3" name="v"/></tag>
  <tag type="temporal" id="4" name="b"><tag type="snapshot" id="5" name="v"/></tag>
  <tag type="temporal" id="6 é" name="c"/><tag type="temporal" id="7" name="d"/>
</tag></structure>"""
FRAGMENTS = """<f>
<filler id="0" tsid="1"><r><hole id="1"/><hole id="2"/><hole id="3"/></r></filler>
<filler id="1" tsid="2" validTime="2003-01-01"><a k="1"><v>x</v></a></filler>
<filler id="1" tsid="2" validTime="2003-02-01"><a/></filler>
<filler id="2" tsid="4" validTime="2003-01-01"><b><v>y</v><v n="1">z</v></b></filler>
<filler id="3" tsid="6 é" validTime="2003-01-01"><c>w</c></filler></f>"""


def reusable(compiled: Compiled) -> Reusable:
    """The result of the compiler for a query without literals."""
    return Reusable(compiled, (), frozenset(), Source(QUERY))


def compiled_to(monkeypatch: pytest.MonkeyPatch, compiled: Compiled) -> None:
    monkeypatch.setattr(
        "xcql_runtime.answers.answer.compile_reusable", lambda *_: reusable(compiled)
    )


@pytest.fixture
def mixed(session: xcql.Session, tmp_path: Path) -> xcql.Session:
    """A store in which an element repeats in the fillers of one tag, but not of another."""
    (tmp_path / "tags.xml").write_text(TAGS)
    (tmp_path / "f.xml").write_text(FRAGMENTS)
    mixed = xcql.Session(tmp_path / "store", session.spark)
    mixed.ingest(tmp_path / "f.xml", stream="s", tags=tmp_path / "tags.xml")
    return mixed


def read(session: xcql.Session, *tags: str, columns: tuple[tuple[str, ...], ...]) -> Any:
    use = TableUse("t", "s", tags, columns)
    return table_in_use(session.spark, StoreReader(session.store).read(), use)


def test_only_what_is_asked_for_is_read(mixed: xcql.Session) -> None:
    frame = read(mixed, "2", columns=(("filler",), ("element", "v", "_text"), ("places", "key")))
    assert frame.schema.simpleString() == (
        "struct<filler:string,places:array<struct<key:binary>>,"
        "element:struct<v:struct<_text:string>>>"
    )
    # rows that have not ended come first
    assert [row["element"]["v"] and row["element"]["v"]["_text"] for row in frame.collect()] == [
        None,
        "x",
    ]


def test_tables_of_one_layout_are_one_read(
    mixed: xcql.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = read(mixed, "2", "6 é", columns=(("filler",), ("tag",)))
    assert sorted(map(tuple, frame.collect())) == [("1", "2"), ("1", "2"), ("3", "6 é")]
    frame.explain()
    assert capsys.readouterr().out.count("FileScan") == 1


def test_where_one_repeats_all_are_arrays(mixed: xcql.Session) -> None:
    frame = read(mixed, "2", "4", columns=(("element", "v", "_text"), ("tag",)))
    rows = [
        (row["tag"], row["element"]["v"] and [v["_text"] for v in row["element"]["v"]])
        for row in frame.collect()
    ]
    assert sorted(rows, key=str) == [("2", ["x"]), ("2", []), ("4", ["y", "z"])]


def test_a_tag_without_fillers_is_an_empty_table(mixed: xcql.Session) -> None:
    columns = (("filler",), ("element", "x", "_start"), ("tag",))
    frame = read(mixed, "7", columns=columns)
    assert frame.collect() == []
    assert frame.schema.simpleString() == (
        "struct<filler:string,element:struct<x:struct<_start:int>>,tag:string>"
    )


def test_nodes(mixed: xcql.Session) -> None:
    use = TableUse(
        "t", "s", ("2", "4", "7"), (("path",), ("level",), ("value",), ("tag",)), nodes=True
    )
    frame = table_in_use(mixed.spark, StoreReader(mixed.store).read(), use)
    assert frame.schema.simpleString() == (
        "struct<path:string,level:smallint,value:string,tag:string>"
    )
    assert sorted(map(tuple, frame.collect()), key=str) == [
        *[
            ("2", 0, "", "2"),
            ("2", 0, None, "2"),
            ("2/3", 1, "x", "2"),
            ("2/3/text()", 2, "x", "2"),
        ],
        *[("2/@k", 1, "1", "2"), ("4", 0, None, "4"), ("4/5", 1, "y", "4"), ("4/5", 1, "z", "4")],
        *[("4/5/@n", 2, "1", "4"), ("4/5/text()", 2, "y", "4"), ("4/5/text()", 2, "z", "4")],
    ]
    empty = table_in_use(
        mixed.spark,
        StoreReader(mixed.store).read(),
        TableUse("t", "s", ("7",), (("seq",),), nodes=True),
    )
    assert empty.collect() == []


def test_layouts() -> None:
    one = Slot("1", "a", children=(Slot("2", "v", is_leaf=True),))
    many = Slot("3", "b", children=(Slot("4", "v", is_leaf=True, repeats=True),))
    columns = [("element", "v", "_text")]
    joint = joint_schema([read_schema(one, columns), read_schema(many, columns)])
    text = pa.struct([("_text", pa.string())])
    assert joint.field("element").type == pa.struct([("v", pa.list_(text))])


def test_the_catalog_knows_the_tables(mixed: xcql.Session) -> None:
    stream = catalog_of(read_state(mixed.store)).streams["s"]
    assert dict(stream.rows) == {"1": 1, "2": 2, "4": 1, "6 é": 1}
    assert dict(stream.depths) == {"1": (0,), "2": (1,), "4": (1,), "6 é": (1,)}
    assert stream.placed
    assert stream.slots["2"].children[0].column == "v"


def test_compiled_text_runs_over_its_tables(
    mixed: xcql.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = SqlText.of(
        f"SELECT concat('{{', filler, '}}') AS item, vtFrom, vtTo FROM {slot('s_a')}"
        f" WHERE vtFrom < {slot(':now')} ORDER BY vtFrom"
    )
    use = TableUse("s_a", "s", ("2",), (("filler",), ("vtFrom",), ("vtTo",)))
    monkeypatch.setattr(
        "xcql_runtime.answers.answer.compile_reusable",
        lambda *_: reusable(Compiled(sql, "qac+", (use,), reasons=("it is cheap",))),
    )
    answer = mixed.query("1", now="2003-01-15")
    assert answer.to_xml() == ["{1}"]
    assert answer.strategy == "qac+"
    assert "because: it is cheap" in answer.explain()
    assert "reads: s, tags 2" in answer.explain()
    assert answer.explain("sql") == str(sql)


def test_what_is_not_native_is_answered_by_caq(
    session: xcql.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Reusable:
        raise NotNative("it is recursive", PLACE)

    monkeypatch.setattr("xcql_runtime.answers.answer.compile_reusable", refuse)
    answer = session.query("1 + 1", strategy="qac")
    assert answer.explain().splitlines()[1:3] == [
        "strategy: caq (requested: qac)",
        "because: it is recursive (line 2)",
    ]
    assert answer.to_xml() == ["2"]


EVALUATION = Evaluation(
    "xcql_evaluate_1",
    "declare variable $a external; declare variable $b external; <r>{$a, sum($b), now()}</r>",
    ("a", "b"),
    "constructors",
    PLACE,
)
EVALUATED = f"""SELECT string({slot("xcql_evaluate_1")}({slot(":now")},
    array(named_struct('kind', 'element', 'value', '<x>' || id || '</x>'),
          named_struct('kind', 'attribute', 'value', 'k="1"')),
    array(named_struct('kind', 'xs:double', 'value', string(id)),
          named_struct('kind', 'xs:integer', 'value', '1')))[0].value) AS item,
  CAST(NULL AS TIMESTAMP_NTZ) AS vtFrom, CAST(NULL AS TIMESTAMP_NTZ) AS vtTo FROM range(2)"""


def test_evaluations(session: xcql.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = EVALUATED.replace("'attribute', 'value', 'k=\"1\"'", "'text', 'value', 'a &lt; b'")
    compiled_to(monkeypatch, Compiled(SqlText.of(sql), "qac", evaluations=(EVALUATION,)))
    answer = session.query("1", now=NOW)
    assert answer.to_xml() == [
        "<r><x>0</x>a &lt; b1 2003-12-01T00:00:00</r>",
        "<r><x>1</x>a &lt; b2 2003-12-01T00:00:00</r>",
    ]
    assert "evaluated row by row at 2:8: constructors" in answer.explain()
    assert answer.count() == 2


def test_an_error_of_an_evaluation(session: xcql.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_to(monkeypatch, Compiled(SqlText.of(EVALUATED), "qac", evaluations=(EVALUATION,)))
    with pytest.raises(xcql.XcqlError) as caught:
        session.query(QUERY.replace("native", "xs:int")).to_xml()
    # an attribute after an element
    assert (caught.value.code, caught.value.line, caught.value.column) == ("XQTY0024", 2, 8)


def test_an_error_at_a_site(session: xcql.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site("FORG0001", '"{}" is not a value of type xs:integer', PLACE)
    sql = """SELECT if(id = 3, raise_error('XCQL|1|a|b ' || id), 'x') AS item,
             NULL AS vtFrom, NULL AS vtTo FROM range(0, 5, 1, 2)"""
    compiled_to(monkeypatch, Compiled(SqlText.of(sql), "qac", sites=(site, site)))
    with pytest.raises(xcql.XcqlError) as caught:
        session.query("1").to_xml()
    assert caught.value.code == "FORG0001"
    assert caught.value.message == '"a|b 3" is not a value of type xs:integer'
    assert caught.value.line == 2


def test_other_failures_of_spark_are_one_line(
    session: xcql.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = SqlText.of("SELECT CAST('abc' AS INT) AS item")
    compiled_to(monkeypatch, Compiled(sql, "qac"))
    with pytest.raises(xcql.XcqlError) as caught:
        session.query("1").to_xml()
    assert caught.value.code == "XCQL0500"
    assert caught.value.message.startswith("Spark could not run the query: The value 'abc'")
    assert "\n" not in caught.value.message
    assert "org.apache" not in str(caught.value)


def test_what_is_too_long_for_spark_is_left_to_the_evaluator(
    mixed: xcql.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xcql.compile.api.MOST_TEXT", 100)
    answer = mixed.query('stream("s")//a/v', now=NOW)
    assert answer.strategy == "caq"
    assert "too long" in answer.reasons[0]
    assert answer.to_xml() == ["<v>x</v>"]
