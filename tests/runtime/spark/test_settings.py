"""A user's Spark session may have other settings than ours: answers are the same, and the session's
settings are unchanged afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import ParseException

import xcql
from tests.hostile.texts import CANARY, SECRET
from xcql_runtime.spark.settings import SETTINGS, our_settings

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

OTHERS = {name: {"true": "false", "false": "true"}[ours] for name, ours in SETTINGS.items()}


@pytest.fixture
def users_own(spark: SparkSession) -> Iterator[SparkSession]:
    before = {name: spark.conf.get(name) for name in OTHERS}
    for name, value in OTHERS.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


def test_the_environment_is_not_read(users_own: SparkSession, store: Path) -> None:
    # Spark does substitute it in text that is not ours
    with pytest.raises(ParseException, match="s3cr"):
        users_own.sql(f"SELECT '${{env:{CANARY}}}'")
    session = xcql.Session(store, users_own)
    query = f"""declare variable $given external;
        stream("credit")//customer[1]/concat("${{env:{CANARY}}}", $given, "\\n", string(.))"""
    given = f"'${{env:{CANARY}}} \\' ${{spark.app.name}}"
    answer = session.query(query, variables={"given": given}, now="2004-01-01")
    found = answer.to_xml()
    assert found
    assert [item.partition("\\n")[0] for item in found] == [f"${{env:{CANARY}}}{given}"] * len(
        found
    )
    assert [row["item"] for row in answer.df.collect()] == found
    assert SECRET not in answer.explain("sql") + answer.explain("spark")
    assert {name: users_own.conf.get(name) for name in OTHERS} == OTHERS


def test_numbers_that_are_too_large_are_exact(users_own: SparkSession, store: Path) -> None:
    session = xcql.Session(store, users_own)
    query = 'stream("credit")//account[1]/(9223372036854775807 + string-length(customer))'
    answer = session.query(query, "qac+", now="2004-01-01")
    assert answer.strategy == "qac+"
    assert answer.to_xml() == ["9223372036854775817"]
    assert answer.reasons == ("a number is too large for SQL, or has too many digits",)


def test_settings_go_back_after_an_error(users_own: SparkSession) -> None:
    def fail() -> None:
        with our_settings(users_own):
            assert users_own.conf.get("spark.sql.variable.substitute") == "false"
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert {name: users_own.conf.get(name) for name in OTHERS} == OTHERS
