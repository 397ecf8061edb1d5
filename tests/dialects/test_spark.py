"""SQL text without constructs that are slow for Spark's parser, with the same meaning."""

from __future__ import annotations

import pytest
import sqlglot

from xcql.dialects.spark import spark_text
from xcql.dialects.templates import template

CASES = {
    "(a + b) * (c)": "(a + b) * c",
    "((a * b)) + ((c))": "a * b + c",
    "a - (b - c)": "a - (b - c)",
    "(a - b) - c": "a - b - c",
    "a / (b * c)": "a / (b * c)",
    "(a AND (b AND c)) OR (d)": "a AND b AND c OR d",
    "(a OR b) AND c": "(a OR b) AND c",
    "NOT (a AND b)": "NOT (a AND b)",
    "(NOT (a)) AND (b = (c))": "NOT a AND b = c",
    "(a = b) = (c = d)": "(a = b) = (c = d)",
    "(a + b) IS NULL": "a + b IS NULL",
    "(a OR b) IS NULL": "(a OR b) IS NULL",
    "f((a + b), (c))": "f(a + b, c)",
    "(f(a)).b": "f(a).b",
    "f(x -> (x + 1))": "f(x -> x + 1)",
    "CAST((a + b) AS DOUBLE)": "double(a + b)",
    "CAST((a + b) AS DECIMAL(9, 2))": "(a + b)::DECIMAL(9, 2)",
    "CAST(f(a) AS DECIMAL(9, 2)) + 1": "f(a)::DECIMAL(9, 2) + 1",
    "CAST(CAST(a AS STRING) AS TIMESTAMP_NTZ)": "string(a)::TIMESTAMP_NTZ",
    "try_cast(a AS DOUBLE)": "TRY_CAST(a AS DOUBLE)",
    "CASE WHEN a THEN b WHEN c THEN d ELSE e END": "if(a, b, if(c, d, e))",
    "CASE WHEN CASE WHEN a THEN b END THEN c END + 1": "if(if(a, b, NULL), c, NULL) + 1",
    "substring(a, 1, 2)": "`substring`(a, 1, 2)",
}


@pytest.mark.parametrize("written", CASES)
def test_easy(written: str) -> None:
    query = sqlglot.exp.Select(expressions=[template(written)])
    on_one_line = " ".join(spark_text(query).split()).replace("( ", "(").replace(" )", ")")
    assert on_one_line == f"SELECT {CASES[written]}"
