"""Part of the tests of answers on Spark, so that its dialect is checked at each commit.

All of them run on Spark in the full test: see `new_session` in `tests/conftest.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import xcql
from tests.compile.both_ways import natively, reference
from tests.compile.conftest import small_auctions, world_store
from tests.compile.test_corpus import QUERIES, outcome
from tests.compile.test_functions import EVERY
from tests.conftest import XMARK
from tests.queries import corpus
from tests.queries.random_queries import case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# `stream()` needs a store with only one stream
CORPUS = [query for query in QUERIES if "stream()" not in query.text]
# with few tags: queries over many take long to plan
WORLD = 12


@pytest.mark.parametrize("query", CORPUS[5 :: len(CORPUS) // 40], ids=lambda query: query.name)
def test_corpus(query: corpus.Query, corpus_store: Path, spark: SparkSession) -> None:
    session = xcql.Session(corpus_store, spark)
    found = outcome(lambda: session.query(query.text, now=query.now).to_xml())
    expected = outcome(
        lambda: [
            item.xml for item in xcql.evaluate(query.text, streams=query.streams(), now=query.now)
        ]
    )
    assert found == expected


def test_functions(tmp_path: Path, spark: SparkSession) -> None:
    session = xcql.Session(tmp_path, spark)
    for expression in EVERY[::25]:
        assert natively(session, expression) == reference(expression), expression


@pytest.mark.skipif(not XMARK.exists(), reason="../shared/xmark is not there")
def test_xmark(tmp_path: Path, spark: SparkSession) -> None:
    store, file, tags = small_auctions(tmp_path)
    session = xcql.Session(store, spark)
    now = "2004-01-01T00:00:00"
    for path in sorted((XMARK / "queries").glob("*.xcql")):
        query = path.read_text()
        expected = xcql.evaluate(query, streams={"auction": (file, tags)}, now=now)
        assert session.query(query, now=now).to_xml() == [one.xml for one in expected], path.stem


def test_random_queries(tmp_path: Path, spark: SparkSession) -> None:
    first = case(WORLD, 0)
    session = xcql.Session(world_store(tmp_path, first.world.fragments, first.world.tags), spark)
    for number in range(8):
        query = case(WORLD, number)
        expected = xcql.evaluate(query.text, streams=query.streams(), now=query.now)
        strategy = "qac" if number % 4 == 0 else "qac+"
        found = session.query(query.text, strategy=strategy, now=query.now).to_xml()
        assert found == [item.xml for item in expected], f"{query.name} by {strategy}: {query.text}"
