"""Places above a filler: the one at a depth is the one that the list of all has there."""

from __future__ import annotations

import pytest

from xcql.dialects.duckdb import DUCKDB
from xcql.dialects.duckdb_text import duckdb_text
from xcql.dialects.trees import Sql, constant, number
from xcql_runtime.embedded.connection import connect, limits

# the numbers of fillers, and between them the offsets of the holes that lead from one to the next
KEY = b"".join(one.to_bytes(4, "big") for one in (0, 17, 3, 300, 1))


@pytest.mark.parametrize("depth", [0, 1])
def test_a_place_is_cut_from_the_key(depth: int) -> None:
    place = DUCKDB.forms["place_above"](constant(KEY), number(depth))
    made = [DUCKDB.forms[name](place) for name in ("parent_key", "hole_offset")]
    above = _value(DUCKDB.forms["places_above"](constant(KEY)))
    assert [_value(one) for one in made] == [above[depth]["key"], above[depth]["offset"]]


@pytest.mark.parametrize("depth", [2, 3])
def test_a_filler_is_not_above_itself(depth: int) -> None:
    assert _value(DUCKDB.forms["place_above"](constant(KEY), number(depth))) is None


def _value(tree: Sql):  # type: ignore[no-untyped-def]
    with connect(limits()) as connection:
        (row,) = connection.execute(f"SELECT {duckdb_text(tree)}").fetchall()
    return row[0]
