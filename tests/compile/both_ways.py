"""Expressions answered natively, many in one Spark query, and by the reference evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import xcql
from xcql.check import check
from xcql.compile import NotNative, compile_query
from xcql.compile.catalog import Catalog, Externals
from xcql.diagnostics import XcqlError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = "2003-12-01T10:00:00.25"
Answer = list[str] | str


def reference(expression: str) -> Answer:
    """The items as XML, or the code of the error."""
    try:
        return [item.xml for item in xcql.evaluate(expression, now=NOW)]
    except XcqlError as problem:
        return problem.code


def native_sql(expression: str) -> str:
    """The expression as SQL text; raises `NotNative` if the evaluator is needed for any part."""
    compiled = compile_query(check(expression), Catalog({}), "qac+", Externals())
    if compiled.evaluations:
        raise NotNative(compiled.evaluations[0].reason)
    return compiled.sql.format_string({":now": ":now"}).format()


def natively(spark: SparkSession, expressions: Sequence[str]) -> list[Answer]:
    """The items of each expression, in order; one query answers all of them."""
    parts = []
    for number, expression in enumerate(expressions):
        parts.append(f"SELECT {number} AS n, item FROM (\n{native_sql(expression)}\n)")
    answers: list[Answer] = [[] for _ in expressions]
    for row in _run(spark, "\nUNION ALL\n".join(parts)):
        answers[row["n"]].append(row["item"])  # type: ignore[union-attr]
    return answers


def native_error(spark: SparkSession, expression: str) -> str:
    """The code of the error that the expression raises."""
    from pyspark.errors import PySparkException

    from xcql_runtime.spark.failures import translated

    query = check(expression)
    compiled = compile_query(query, Catalog({}), "qac+", Externals())
    assert not compiled.evaluations
    try:
        rows = _run(spark, compiled.sql.format_string({":now": ":now"}).format())
    except PySparkException as problem:
        return translated(problem, query.source, compiled.sites).code
    return f"no error, but {rows}"


def _run(spark: SparkSession, sql: str):  # type: ignore[no-untyped-def]
    from xcql_runtime.spark.frames import instant

    quick = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: spark.conf.get(name) for name in quick}
    try:
        for name, value in quick.items():
            spark.conf.set(name, value)
        return spark.sql(sql, args={"now": instant(datetime.fromisoformat(NOW))}).collect()
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
