"""Queries on the embedded engine, against the evaluator: the same bytes, or the same error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import xcql
from tests.compile.conftest import ingested, small_auctions
from tests.conftest import XMARK
from tests.queries import corpus
from xcql.diagnostics import XcqlError

FULL = bool(os.environ.get("XCQL_TEST_FULL"))
# `stream()` needs a store with only one stream
QUERIES = [query for query in corpus.queries() if "stream()" not in query.text][:: 1 if FULL else 3]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[xcql.Session]:
    store = ingested(tmp_path_factory.mktemp("corpus") / "store", corpus.streams())
    with xcql.Session(store, engine="embedded") as session:
        yield session


@pytest.mark.parametrize("strategy", ["qac", "qac+", "caq"])
def test_the_corpus(session: xcql.Session, strategy: str) -> None:
    wrong = {}
    for query in QUERIES[:: 1 if FULL or strategy != "caq" else 4]:
        found, expected = _answer(session, query, strategy), _expected(query)
        if found != expected:
            wrong[query.name] = found, expected
    assert wrong == {}


@pytest.mark.skipif(not XMARK.exists(), reason="../shared/xmark is not there")
def test_xmark(tmp_path: Path) -> None:
    store, file, tags = small_auctions(tmp_path)
    now = "2004-01-01T00:00:00"
    with xcql.Session(store, engine="embedded") as session:
        for path in sorted((XMARK / "queries").glob("*.xcql")):
            query = path.read_text()
            expected = xcql.evaluate(query, streams={"auction": (file, tags)}, now=now)
            assert session.query(query, now=now).to_xml() == [one.xml for one in expected], path


def _answer(session: xcql.Session, query: corpus.Query, strategy: str) -> list[str] | str:
    """The items, or the error with its place."""
    try:
        return session.query(query.text, strategy, query.now).to_xml()
    except XcqlError as problem:
        return _told(problem)


def _expected(query: corpus.Query) -> list[str] | str:
    try:
        result = xcql.evaluate(query.text, streams=query.streams(), now=query.now)
        return [item.xml for item in result]
    except XcqlError as problem:
        return _told(problem)


def _told(problem: XcqlError) -> str:
    span = problem.diagnostic.span
    return f"{problem.code} at {span.start if span else None}"
