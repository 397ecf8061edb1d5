"""Python functions that queries call, and DataFrames as sequences of rows."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import xcql
from xcql_runtime.evaluator.externals import external_function
from xcql_runtime.evaluator.rows_as_xml import element_name


def test_registered_functions(each_session: xcql.Session) -> None:
    each_session.register("distance", lambda a, b: abs(a - b), returns="xs:double")
    each_session.register("words", str.split, returns="xs:string*")
    each_session.register(
        "half", lambda a: pc.divide(a, pa.scalar(2.0)), returns="xs:decimal?", vectorised=True
    )
    answer = each_session.query(
        "distance(3, 5) instance of xs:double, words(<a>b c</a>), half(5), half(5) instance of "
        "xs:decimal",
        "caq",
    )
    assert answer.to_xml() == ["true", "b", "c", "2.5", "true"]


def test_a_function_that_fails_is_named(each_session: xcql.Session) -> None:
    each_session.register("inverse", lambda a: 1 / a, returns="xs:double")
    with pytest.raises(xcql.XcqlError, match=r"inverse\(\) failed: division by zero") as caught:
        each_session.query("1,\n  inverse(0)", "caq").count()
    assert (caught.value.code, caught.value.line, caught.value.column) == ("XCQL0005", 2, 3)


@pytest.mark.parametrize(
    ("returns", "value", "items"),
    [
        ("xs:double", 1, [1.0]),
        ("xs:double", "1.5", [1.5]),
        ("xs:integer*", [1, "2"], [1, 2]),
        ("xs:string?", None, []),
        ("xs:decimal", 0.5, [Decimal("0.5")]),
        ("xs:string", datetime.date(2020, 1, 2), ["2020-01-02"]),
    ],
)
def test_what_is_returned_is_cast(returns: str, value: Any, items: list[Any]) -> None:
    assert external_function("f", lambda: value, returns, False)() == items


def test_returning_the_wrong_thing() -> None:
    with pytest.raises(xcql.XcqlError, match=r"f\(\) must return xs:double; it returned nothing"):
        external_function("f", lambda: None, "xs:double", False)()


@pytest.mark.parametrize(
    ("name", "returns", "message"),
    [
        ("count", None, "a function count() already exists"),
        ("a b", None, "'a b' cannot be the name of a function"),
        ("f", "xs:float64", "'xs:float64' is not a type that a function can return"),
        ("f", "double", "'double' is not a type that a function can return"),
    ],
)
def test_what_cannot_be_registered(name: str, returns: str | None, message: str) -> None:
    with pytest.raises(xcql.XcqlError) as caught:
        external_function(name, len, returns, False)
    assert caught.value.code == "XCQL0502"
    assert caught.value.message.startswith(message)


def test_rows_of_a_data_frame(session: xcql.Session) -> None:
    rows = session.spark.sql(
        """SELECT 1 AS a, 'x<y' AS `b c`, array(1, NULL, 2) AS l, 1 AS a,
             named_struct('p', 1.5D, 'q', timestamp'2020-01-01 05:30:00') AS s,
             map('k', 1) AS m, array(array(1), array()) AS ll, date'2020-02-01' AS d,
             timestamp_ntz'2020-01-01 00:00:00.5' AS t, X'00' AS bin, 1.50BD AS dec, true AS yes
           UNION ALL SELECT 2, NULL, array(), 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"""
    )
    answer = session.query(
        "declare variable $rows external; $rows, $rows[1]/..", variables={"rows": rows}
    )
    assert answer.to_xml() == [
        "<row><a>1</a><b_x0020_c>x&lt;y</b_x0020_c><l>1</l><l>2</l><a>1</a>"
        "<s><p>1.5</p><q>2020-01-01T00:00:00</q></s><m><key>k</key><value>1</value></m>"
        "<ll><item>1</item></ll><ll/><d>2020-02-01</d><t>2020-01-01T00:00:00.5</t>"
        "<bin>AA==</bin><dec>1.5</dec><yes>true</yes></row>",
        "<row><a>2</a><a>2</a></row>",
    ]


def test_many_rows_stay_in_order(session: xcql.Session) -> None:
    rows = session.spark.range(0, 300, 1, 5)
    answer = session.query(
        "declare variable $rows external; deep-equal($rows/id/xs:integer(.), 0 to 299)",
        variables={"rows": rows},
    )
    assert answer.to_xml() == ["true"]


def test_a_character_that_xml_does_not_have(session: xcql.Session) -> None:
    rows = session.spark.sql("SELECT 'a' || char(1) AS name")
    with pytest.raises(xcql.XcqlError, match=r"column 'name' has the character U\+0001") as caught:
        session.query("declare variable $r external; $r", variables={"r": rows}).count()
    assert caught.value.code == "XCQL0503"


def test_values_of_variables(each_session: xcql.Session, tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.write_bytes("<?xml version='1.0' encoding='latin-1'?><a>é</a>".encode("latin-1"))
    answer = each_session.query(
        """declare variable $n external; declare variable $l external;
           declare variable $d external; declare variable $f external;
           $n + 1, $l, $d/b/string(), $f/a/string()""",
        variables={"n": 40, "l": ["x", 2.5, None], "d": "<b>c</b>", "f": file},
    )
    assert answer.to_xml() == ["41", "x", "2.5", "c", "é"]


def test_names_of_elements() -> None:
    assert [element_name(name) for name in ("a", "1a", "a:b", "-", "é")] == [
        "a",
        "_x0031_a",
        "a_x003A_b",
        "_x002D_",
        "é",
    ]
