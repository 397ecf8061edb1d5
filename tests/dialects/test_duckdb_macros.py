"""Macros mean what the forms mean that they stand for."""

from __future__ import annotations

import pytest

from xcql.algebra.operations import OPERATIONS
from xcql.algebra.scalars import Column, Constant, Lambda, Scalar, call
from xcql.dialects.duckdb import DUCKDB, macro_definition, macros_in
from xcql.dialects.duckdb_text import duckdb_text
from xcql_runtime.embedded.connection import connect, define_macros, limits

TEXTS = (" 2004-02-29Z ", "12:30:00.5+05:30", "-1.50", "1e3", "", "x", "<a> & b</a>")
ROWS = " UNION ALL ".join(f"SELECT '{text}' AS \"$t\"" for text in TEXTS)
OF_TEXT = [
    name
    for name in DUCKDB.macros
    if OPERATIONS[name].parameters == ("text",) and not name.startswith("parse_")
]


@pytest.mark.parametrize("name", OF_TEXT)
def test_macros_of_texts(name: str) -> None:
    macro = duckdb_text(DUCKDB.sql(call(name, Column("t")), {}))
    form = duckdb_text(DUCKDB.forms[name](DUCKDB.sql(Column("t"), {})))
    assert macro.startswith(f"{name}(")
    with connect(limits()) as connection:
        define_macros(connection, [name])
        rows = connection.execute(f"SELECT {macro}, {form} FROM ({ROWS})").fetchall()
    assert [row[0] for row in rows] == [row[1] for row in rows]


def _text(scalar: Scalar) -> str:
    text = duckdb_text(DUCKDB.sql(scalar, {}))
    with connect(limits()) as connection:
        define_macros(connection, macros_in(text))
        row = connection.execute(f"SELECT {text}").fetchone()
    assert row is not None
    return str(row[0])


def test_names_inside_macros_are_no_names_of_their_arguments() -> None:
    # the form of `parse_decimal` calls its text `t`
    inner = call("parse_decimal", Column(".t"), call("to_decimal", call("trimmed", Column(".t"))))
    texts = call(
        "transform", call("array", Constant(" 1.5 "), Constant("2")), Lambda((".t",), inner)
    )
    assert _text(texts).count("1.50000000000000000000") == 1


def test_a_long_argument_is_computed_once() -> None:
    text = call("upper", call("concat", Column("a"), Column("b")))
    written = duckdb_text(DUCKDB.sql(call("text_order", text, Column("c")), {}))
    assert written.count("xcql_upper") == 1


def test_what_may_fail_is_computed_only_where_it_is_needed() -> None:
    limit = call("fail", Constant(7), Constant(""))
    assert _text(call("parse_integer", Constant(" 12 "), limit)) == "12"


def test_only_macros_that_a_text_calls_are_created() -> None:
    assert macros_in("SELECT parse_date(x), my_parse_time(parse_date) FROM t") == {"parse_date"}
    assert all(macro_definition(one).startswith(f"CREATE MACRO {one}(") for one in DUCKDB.macros)
