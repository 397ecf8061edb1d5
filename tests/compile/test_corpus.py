"""The corpus of queries, compiled to Spark SQL: most of it natively, all of it rightly."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

import xcql
from tests.compile.same_form import same_form
from tests.queries import corpus
from xcql.compile import Catalog, Externals, NotNative, compile_query
from xcql.diagnostics import XcqlError
from xcql.syntax.prolog import MainModule

QUERIES = corpus.queries()
FULL = bool(os.environ.get("XCQL_TEST_FULL"))
# every query is compiled; a sample of them is also run at each commit, all in the longer test
BY_PLACE = QUERIES if FULL else QUERIES[::16]
BY_HOLE = QUERIES if FULL else QUERIES[5::32]
# the part of the corpus that runs without a Python worker, at least
NATIVE = 0.9


def test_most_of_the_corpus_is_native(corpus_store: Path) -> None:
    from xcql_runtime.catalog import StoreReader

    _, known = StoreReader(corpus_store).read()
    kinds: Counter[str] = Counter()
    for query in QUERIES:
        try:
            module = xcql.parse(query.text)
            assert isinstance(module, MainModule)
            catalog = Catalog({name: known.streams[name] for name in query.streams()})
            compiled = compile_query(module, catalog, "qac+", Externals())
        except (NotNative, XcqlError):
            kinds["not native"] += 1
        else:
            kinds["in part" if compiled.evaluations else "native"] += 1
    assert kinds["native"] >= NATIVE * len(QUERIES), kinds


@pytest.mark.parametrize("query", BY_PLACE, ids=lambda query: query.name)
def test_by_place(query: corpus.Query, corpus_session: xcql.Session) -> None:
    check(query, corpus_session, "qac+")


@pytest.mark.parametrize("query", BY_HOLE, ids=lambda query: query.name)
def test_by_hole(query: corpus.Query, corpus_session: xcql.Session) -> None:
    check(query, corpus_session, "qac")


def check(query: corpus.Query, session: xcql.Session, strategy: str) -> None:
    def answer() -> list[str]:
        return session.query(query.text, strategy=strategy, now=query.now).to_xml()

    if query.error is not None:
        with pytest.raises(XcqlError) as raised:
            answer()
        assert raised.value.code == query.error
    else:
        found = xcql.evaluate(query.text, streams=query.streams(), now=query.now)
        assert same_form(answer()) == same_form(item.xml for item in found)
