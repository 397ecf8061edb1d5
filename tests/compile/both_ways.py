"""Expressions answered natively by an engine, and by the reference evaluator."""

from __future__ import annotations

import xcql
from xcql.check import check
from xcql.compile import NotNative, compile_query
from xcql.compile.catalog import Catalog, Externals
from xcql.diagnostics import XcqlError

NOW = "2003-12-01T10:00:00.25"
# the items as XML; or the code and the place of the error
Answer = list[str] | tuple[str, int | None]


def reference(expression: str) -> Answer:
    """The answer of the evaluator."""
    try:
        return [item.xml for item in xcql.evaluate(expression, now=NOW)]
    except XcqlError as problem:
        return told(problem)


def natively(session: xcql.Session, expression: str) -> Answer:
    """The answer of an engine, without help of the evaluator."""
    answer = session.query(expression, now=NOW)
    try:
        return answer.to_xml()
    except XcqlError as problem:
        return told(problem)
    finally:
        # the strategy changes if the evaluator has to answer in the end
        assert answer.strategy != "caq", expression
        assert "evaluated" not in answer.explain(), expression


def answered(session: xcql.Session, expression: str) -> Answer:
    """The answer of an engine, with or without help of the evaluator."""
    try:
        return session.query(expression, now=NOW).to_xml()
    except XcqlError as problem:
        return told(problem)


def told(problem: XcqlError) -> tuple[str, int | None]:
    span = problem.diagnostic.span
    return problem.code, span.start if span else None


def native_sql(expression: str) -> str:
    """The expression as SQL text; raises `NotNative` if the evaluator is needed for any part."""
    compiled = compile_query(check(expression), Catalog({}), "qac+", Externals())
    if compiled.evaluations:
        raise NotNative(compiled.evaluations[0].reason)
    return compiled.sql.format_string({":now": ":now"}).format()
