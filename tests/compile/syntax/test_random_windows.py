"""Random window clauses: SQL has the answer of the reference evaluator."""

from __future__ import annotations

import pytest

import xcql
from tests.compile.both_ways import Answer, told
from tests.effort import FULL
from tests.queries import corpus
from tests.queries.random_windows import query
from xcql.diagnostics import XcqlError

NOW = "2010-01-01"
QUERIES = 600 if FULL else 30
TOGETHER = 10


@pytest.mark.parametrize("first", range(0, QUERIES, TOGETHER))
def test_random_windows(first: int, corpus_session: xcql.Session) -> None:
    for number in range(first, first + TOGETHER):
        text = query(number)
        expected = _outcome(lambda text: [one.xml for one in _reference(text)], text)
        found = _outcome(lambda text: corpus_session.query(text, "qac+", NOW).to_xml(), text)
        assert found == expected, f"{number}: {text}"


def _reference(text: str) -> list[xcql.Item]:
    streams = {one.name: (one.fragments, one.tags) for one in corpus.datasets()["sensors"]}
    return list(xcql.evaluate(text, streams=streams, now=NOW))


def _outcome(answer, text: str) -> Answer:  # type: ignore[no-untyped-def]
    try:
        return answer(text)  # type: ignore[no-any-return]
    except XcqlError as problem:
        return told(problem)
