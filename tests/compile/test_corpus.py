"""The corpus of queries, compiled to SQL: most of it natively, all of it correctly."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import xcql
from tests.compile.both_ways import Answer, told
from tests.compile.conftest import catalog_of_store, ingested
from tests.conftest import OpenSession
from tests.queries import corpus
from xcql.check import check as checked
from xcql.compile import Catalog, Externals, NotNative, compile_query
from xcql.diagnostics import XcqlError
from xcql.dialects.dialect import Dialect
from xcql.dialects.duckdb import DUCKDB
from xcql.dialects.spark import SPARK
from xcql.model.tags import read_tags

QUERIES = corpus.queries()
FULL = bool(os.environ.get("XCQL_TEST_FULL"))
# at each commit, some of the queries; all of them in the full test
COMPILED = QUERIES if FULL else QUERIES[::5]
BY_PLACE = QUERIES if FULL else QUERIES[::3]
BY_HOLE = QUERIES if FULL else QUERIES[1::3]
EVALUATED = QUERIES if FULL else QUERIES[2::12]
# the minimum share of the corpus that an engine runs without the evaluator
NATIVE = [(SPARK, 0.93), (DUCKDB, 0.96)]


@pytest.mark.parametrize(("dialect", "share"), NATIVE, ids=["spark", "duckdb"])
def test_most_of_the_corpus_is_native(dialect: Dialect, share: float, corpus_store: Path) -> None:
    known = catalog_of_store(corpus_store)
    kinds: Counter[str] = Counter()
    for query in COMPILED:
        try:
            catalog = Catalog({name: known.streams[name] for name in query.streams()})
            text = checked(query.text)
            compiled = compile_query(text, catalog, "qac+", Externals(), dialect=dialect)
        except (NotNative, XcqlError):
            kinds["not native"] += 1
        else:
            kinds["in part" if compiled.evaluations else "native"] += 1
    assert kinds["native"] >= share * len(COMPILED), kinds


@pytest.fixture
def session(
    query: corpus.Query, corpus_session: xcql.Session, open_session: OpenSession, tmp_path: Path
) -> xcql.Session:
    """A session over all data sets; a query with `stream()` gets only its own data."""
    if "stream()" not in query.text:
        return corpus_session
    streams = {name: (path, read_tags(tags)) for name, (path, tags) in query.streams().items()}
    return open_session(ingested(tmp_path / "store", streams))


@pytest.mark.parametrize("query", BY_PLACE, ids=lambda query: query.name)
def test_by_place(query: corpus.Query, session: xcql.Session) -> None:
    check(query, session, "qac+")


@pytest.mark.parametrize("query", BY_HOLE, ids=lambda query: query.name)
def test_by_hole(query: corpus.Query, session: xcql.Session) -> None:
    check(query, session, "qac")


@pytest.mark.parametrize("query", EVALUATED, ids=lambda query: query.name)
def test_by_the_evaluator(query: corpus.Query, session: xcql.Session) -> None:
    check(query, session, "caq")


def check(query: corpus.Query, session: xcql.Session, strategy: str) -> None:
    """Check that the answer is the evaluator's: the same bytes, or the same error at its place."""

    def found() -> list[str]:
        answer = session.query(query.text, strategy=strategy, now=query.now)
        # `first` gets the rows in order from the engine, `to_xml` sorts them
        return answer.first(1_000_000) if strategy == "qac" else answer.to_xml()

    def expected() -> list[str]:
        answer = xcql.evaluate(query.text, streams=query.streams(), now=query.now)
        return [item.xml for item in answer]

    assert outcome(found) == outcome(expected)


def outcome(answer: Callable[[], list[str]]) -> Answer:
    try:
        return answer()
    except XcqlError as problem:
        return told(problem)
