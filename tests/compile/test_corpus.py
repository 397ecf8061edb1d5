"""The corpus of queries, compiled to Spark SQL: most of it natively, all of it correctly."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import xcql
from tests.compile.conftest import catalog_of_store, ingested
from tests.queries import corpus
from xcql.check import check as checked
from xcql.compile import Catalog, Externals, NotNative, compile_query
from xcql.diagnostics import XcqlError
from xcql.model.tags import read_tags

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = corpus.queries()
FULL = bool(os.environ.get("XCQL_TEST_FULL"))
# at each commit, some queries are compiled and a few are run; all of them in the full test
COMPILED = QUERIES if FULL else QUERIES[::5]
BY_PLACE = QUERIES if FULL else QUERIES[3::25]
BY_HOLE = QUERIES if FULL else QUERIES[5::40]
# the minimum share of the corpus that runs without a Python worker
NATIVE = 0.9


def test_most_of_the_corpus_is_native(corpus_store: Path) -> None:
    known = catalog_of_store(corpus_store)
    kinds: Counter[str] = Counter()
    for query in COMPILED:
        try:
            catalog = Catalog({name: known.streams[name] for name in query.streams()})
            compiled = compile_query(checked(query.text), catalog, "qac+", Externals())
        except (NotNative, XcqlError):
            kinds["not native"] += 1
        else:
            kinds["in part" if compiled.evaluations else "native"] += 1
    assert kinds["native"] >= NATIVE * len(COMPILED), kinds


@pytest.fixture
def session(
    query: corpus.Query, corpus_session: xcql.Session, spark: SparkSession, tmp_path: Path
) -> xcql.Session:
    """A session over all data sets; a query with `stream()` gets only its own data."""
    if "stream()" not in query.text:
        return corpus_session
    streams = {name: (path, read_tags(tags)) for name, (path, tags) in query.streams().items()}
    return xcql.Session(ingested(tmp_path / "store", streams), spark)


@pytest.mark.parametrize("query", BY_PLACE, ids=lambda query: query.name)
def test_by_place(query: corpus.Query, session: xcql.Session) -> None:
    check(query, session, "qac+")


@pytest.mark.parametrize("query", BY_HOLE, ids=lambda query: query.name)
def test_by_hole(query: corpus.Query, session: xcql.Session) -> None:
    check(query, session, "qac")


def check(query: corpus.Query, session: xcql.Session, strategy: str) -> None:
    def answer() -> list[str]:
        answer = session.query(query.text, strategy=strategy, now=query.now)
        if strategy == "qac":
            # sorted by Spark, in any number of tasks
            return answer.first(1_000_000)
        return answer.to_xml()

    if query.error is not None:
        with pytest.raises(XcqlError) as raised:
            answer()
        assert raised.value.code == query.error
    else:
        found = xcql.evaluate(query.text, streams=query.streams(), now=query.now)
        assert answer() == [item.xml for item in found]
