"""The user's Spark session is used through its public API, and left unchanged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import xcql
from tests.runtime.answers.test_native import EVALUATED, EVALUATION, reusable
from xcql.compile import Compiled
from xcql.dialects.slots import SqlText

RUNTIME = Path(__file__).parents[3] / "runtime"


def test_only_the_public_side_of_spark() -> None:
    private = re.compile(r"\b_j(?:vm|df|sc|sparkSession|seq|map)\b|sparkContext|\.rdd\b")
    found = {
        (path.name, match[0])
        for path in RUNTIME.rglob("*.py")
        for match in private.finditer(path.read_text(encoding="utf-8"))
    }
    assert found == {
        # public, but not on Spark Connect, where another way is used
        ("jobs.py", ".rdd"),
        # PySpark has no public way to drop a Java that has ended
        ("java_process.py", "_jsc"),
        ("java_process.py", "_jvm"),
    }


def test_a_session_is_as_it_was(session: xcql.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    spark = session.spark

    def state() -> Any:
        return (
            [table.name for table in spark.catalog.listTables()],
            [row[0] for row in spark.sql("SHOW USER FUNCTIONS").collect()],
            dict(spark.conf.getAll),
            spark.catalog.currentDatabase(),
            spark.getTags(),
        )

    before = state()
    rows = spark.range(3)
    answer = session.query("declare variable $r external; $r", "caq", variables={"r": rows})
    answer.to_xml()
    answer.table().collect()
    with pytest.raises(xcql.XcqlError):
        session.query("error()", "caq").count()
    sql = SqlText.of(EVALUATED.replace("attribute", "text"))
    monkeypatch.setattr(
        "xcql_runtime.answers.answer.compile_reusable",
        lambda *_: reusable(Compiled(sql, "qac", evaluations=(EVALUATION,))),
    )
    assert session.query("1").count() == 2
    assert state() == before
