"""Every strategy gives the reference evaluator's answers.

The tests of this module also run on other kinds of Spark sessions: see `test_elsewhere.py`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

import pytest

import xcql
from tests.runtime.samples import query
from xcql.store.commit import read_state
from xcql.strategies import Strategy
from xcql_runtime.store_reader import PinnedStore, StoreReader, catalog_of

DECEMBER = "2003-12-01T00:00:00"
JUNE = "2004-06-13T10:06:00"


def triangulate(one: str, other: str) -> str:
    a, b = math.radians(float(one)), math.radians(float(other))
    reach = 10 * math.sin(b) / math.sin(b - a)
    return f"{reach * math.cos(a):.1f} {reach * math.sin(a):.1f}"


def distance(one: str, other: str) -> float:
    return math.dist([float(part) for part in one.split()], [float(part) for part in other.split()])


FUNCTIONS = {"triangulate": triangulate, "distance": distance}

PAPERS = [
    ("papers/1-2-syn-ack.xcql", JUNE),
    ("network/queries/unacknowledged.xcql", JUNE),
    ("papers/1-2-radar.xcql", JUNE),
    ("papers/1-2-traffic-light.xcql", JUNE),
    ("papers/1-3.1-maxed-out.xcql", DECEMBER),
    ("papers/1-3.1-fraud.xcql", "2003-11-15T10:00:00"),
    ("papers/1-6-first-ten.xcql", DECEMBER),
    ("papers/1-6.1-charged.xcql", DECEMBER),
    ("papers/1-6.1-charged-now.xcql", "2003-10-31T00:00:00"),
]

OTHERS = [
    # whole views, and copies with the order of their attributes
    'stream("credit")',
    'stream("credit")//account/@*/name()',
    'stream("credit")?[2003-10-01, 2003-11-02]//transaction',
    'stream("credit")//creditLimit#[last]',
    'for $t in stream("credit")//transaction order by number($t/amount) return $t/ancestor::*/@id',
    "let $c := stream('credit') return ($c is stream('credit'), count($c//status), now())",
    # streams whose names are only known when the query runs
    'for $s in ("gsyn", "ack") return count(stream($s)//*)',
    '"credit" => stream() => count()',
    # no stream at all; text that needs escaping; nodes of other kinds
    '"Ann &amp; Co", <a b="&lt;">x &amp; y</a>, attribute a { "1" }, text { "<" }, comment { "c" }',
    "declare function local:f($n) { if ($n = 0) then 0 else 1 + local:f($n - 1) }; local:f(5000)",
    'for tumbling window $w in stream("credit")//transaction start at $i when $i mod 3 = 1 '
    "return <w>{$w/amount}</w>",
    "()",
]


@pytest.mark.parametrize("strategy", ["caq", "auto"])
@pytest.mark.parametrize(("name", "now"), PAPERS)
def test_queries_of_the_paper(
    each_session: xcql.Session,
    expected: Callable[..., list[str]],
    name: str,
    now: str,
    strategy: Strategy,
) -> None:
    for function_name, function in FUNCTIONS.items():
        each_session.register(function_name, function)
    text = query(name).replace("creditSystem", "credit")
    items = each_session.query(text, strategy, now=now).to_xml()
    assert items == expected(text, now, functions=FUNCTIONS)


@pytest.mark.parametrize("text", OTHERS)
def test_other_queries(
    each_session: xcql.Session, expected: Callable[..., list[str]], text: str
) -> None:
    assert each_session.query(text, "caq", now=DECEMBER).to_xml() == expected(text, DECEMBER)


def test_a_stream_whose_places_are_not_kept(
    each_session: xcql.Session, expected: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = read_state(each_session.store)
    credit = replace(state.stream("credit"), placed=False)
    unplaced = replace(state, streams={"credit": credit})
    pinned = PinnedStore(each_session.store, unplaced, catalog_of(unplaced))
    monkeypatch.setattr(StoreReader, "read", lambda _: pinned)
    answer = each_session.query('stream("credit")', "caq", now=DECEMBER)
    assert answer.to_xml() == expected('stream("credit")', DECEMBER)


def test_lifespans(each_session: xcql.Session) -> None:
    # its own; the cover of its content; none; instants after a projection; an attribute has its
    # element's; values that are not times are ignored
    answer = each_session.query(
        """let $a := stream("credit")//account[@id = "1234"]
           return ($a/creditLimit, <both>{$a/creditLimit[1], $a/transaction[2]}</both>, 1,
                   $a/customer, $a/creditLimit[2]?[now], $a/creditLimit[1]/@vtTo,
                   <x vtFrom="soon" vtTo="later"/>)""",
        "caq",
        now=DECEMBER,
    )
    rows = [(row["vtFrom"], row["vtTo"]) for row in answer.arrow().to_pylist()]
    opened, raised = datetime(1998, 10, 10, 12, 20, 22), datetime(2001, 4, 23, 23, 11, 8)
    now = datetime(2003, 12, 1)
    assert rows == [
        (opened, raised),
        (raised, None),
        (opened, datetime(2003, 10, 23, 12, 23, 34)),
        (None, None),
        (None, None),
        (now, now),
        (opened, raised),
        (None, None),
    ]


def test_an_error_has_its_place(each_session: xcql.Session) -> None:
    answer = each_session.query('for $c in stream("credit")//customer\nreturn $c + 1')
    with pytest.raises(xcql.XcqlError) as caught:
        answer.to_xml()
    assert (caught.value.code, caught.value.line, caught.value.column) == ("FORG0001", 2, 8)
    # Rows are computed in parallel: which of the two customers fails first is left open.
    assert any(name in caught.value.message for name in ("John Smith", "Max Muster"))
    assert "\n2 | return $c + 1\n" in str(caught.value)


def test_variables_and_tables(session: xcql.Session) -> None:
    orders = session.spark.sql("SELECT 1 AS id, array('a', 'b') AS tag UNION ALL SELECT 2, NULL")
    answer = session.query(
        """declare variable $limit external; declare variable $orders external;
           for $o in $orders where $o/id < $limit return <o no="{$o/id}">{$o/tag}</o>""",
        variables={"limit": 3, "orders": orders},
    )
    assert answer.to_xml() == ['<o no="1"><tag>a</tag><tag>b</tag></o>', '<o no="2"/>']
    table = answer.table()
    assert table.schema.simpleString() == "struct<no:string,tag:array<string>>"
    assert [tuple(row) for row in table.collect()] == [("1", ["a", "b"]), ("2", [])]


@pytest.mark.parametrize("strategy", ["qac+", "caq"])
def test_computed_columns_have_types(session: xcql.Session, strategy: str) -> None:
    table = session.query(
        """for $a in stream("credit")//account?[now] where $a/@id < 6000
           return <a n="{count($a/creditLimit)}" half="{$a/creditLimit div 2}" id="{$a/@id}"
                     rich="{$a/creditLimit > 2000}" text="nr {1}">{
             <since>{vtFrom($a)}</since>, <day x="{1.5}">{xs:date("2003-10-23")}</day>,
             <none>{(1)[. > count($a)]}</none>, <two>{1, 2}</two>, $a/customer
           }</a>""",
        strategy=strategy,
        now=DECEMBER,
    ).table()
    assert table.schema.simpleString() == (
        "struct<n:bigint,half:double,id:string,rich:boolean,text:string,since:timestamp_ntz,"
        "day:struct<x:decimal(38,18),value:date>,none:bigint,two:string,customer:string>"
    )
    first = table.first()
    assert first is not None
    assert first.asDict(recursive=True) == {
        "n": 1,
        "half": 2500.0,
        "id": "1234",
        "rich": True,
        "text": "nr 1",
        "since": datetime(2003, 12, 1),
        "day": {"x": Decimal("1.5"), "value": date(2003, 10, 23)},
        "none": None,
        "two": "1 2",
        "customer": "John Smith",
    }


def test_an_answer_runs_again(session: xcql.Session) -> None:
    answer = session.query('stream("credit")//account/@id', now=DECEMBER)
    assert answer.count() == 4
    assert answer.first(2) == ['id="1234"', 'id="5678"']
    assert answer.df.where("item LIKE '%9%'").count() == 1


def test_the_session_is_of_the_kind_that_was_asked_for(session: xcql.Session) -> None:
    kind = os.environ.get("XCQL_TEST_SPARK", "local")
    if kind == "connect":
        assert type(session.spark).__module__.startswith("pyspark.sql.connect")
    else:
        assert session.spark.conf.get("spark.master").startswith(f"{kind}[")
