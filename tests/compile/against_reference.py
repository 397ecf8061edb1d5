"""Queries over the corpus' data, answered by an engine and by the reference evaluator."""

from __future__ import annotations

import xcql
from tests.compile.both_ways import Answer, told
from tests.queries import corpus
from xcql.diagnostics import XcqlError

# the `now` of the data set `credit`
NOW = corpus.NOW["credit"]


def check_credit(session: xcql.Session, query: str, *, is_native: bool) -> None:
    """Check that the answer is the evaluator's, and that SQL computes it, or the most of it."""
    answer = session.query(query, strategy="qac+", now=NOW)
    assert ("evaluated row by row" not in answer.explain()) == is_native, query
    assert _outcome(answer.to_xml) == _outcome(lambda: _reference(query)), query
    assert answer.strategy == "qac+", query


def check_credit_error(session: xcql.Session, query: str) -> None:
    """Check that the answer or the error is the evaluator's, whoever finds it."""
    answer = session.query(query, strategy="qac+", now=NOW)
    assert _outcome(answer.to_xml) == _outcome(lambda: _reference(query)), query


def _reference(query: str) -> list[str]:
    streams = {one.name: (one.fragments, one.tags) for one in corpus.datasets()["credit"]}
    return [item.xml for item in xcql.evaluate(query, streams=streams, now=NOW)]


def _outcome(answer) -> Answer:  # type: ignore[no-untyped-def]
    try:
        return answer()  # type: ignore[no-any-return]
    except XcqlError as problem:
        return told(problem)
