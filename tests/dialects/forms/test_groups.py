"""The least tuple of a group: NULL is less than any value."""

from __future__ import annotations

from sqlglot import exp

from xcql.dialects.duckdb import DUCKDB
from xcql.dialects.duckdb_text import duckdb_text
from xcql_runtime.embedded.connection import connect, limits


def test_the_least_tuple_of_one_value() -> None:
    least = duckdb_text(DUCKDB.forms["group_min"](DUCKDB.forms["tuple"](exp.column("x"))))
    rows = "VALUES (1, 'b'), (1, 'a'), (2, NULL), (2, 'a'), (3, NULL)"
    with connect(limits()) as connection:
        found = connection.execute(
            f"SELECT {least} FROM ({rows}) AS t(g, x) GROUP BY g ORDER BY g"
        ).fetchall()
    assert [one["col1"] for (one,) in found] == ["a", None, None]
    # the same order as that of the values
    assert [one["has_col1"] for (one,) in found] == [True, False, False]
