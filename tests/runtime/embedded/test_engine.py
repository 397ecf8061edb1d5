"""Queries on the embedded engine, against the evaluator: the same bytes, or the same error."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

import xcql
from tests.compile.conftest import ingested, small_auctions
from tests.conftest import XMARK
from tests.queries import corpus
from xcql.check import check
from xcql.compile import Catalog, Externals, NotNative, compile_query
from xcql.diagnostics import XcqlError
from xcql.dialects.duckdb import DUCKDB
from xcql.model.time import parse_time
from xcql.store.state import StoreState
from xcql_runtime.embedded.engine import connect, run
from xcql_runtime.tables.store_reader import StoreReader

FULL = bool(os.environ.get("XCQL_TEST_FULL"))
QUERIES = corpus.queries() if FULL else corpus.queries()[::6]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingested(tmp_path_factory.mktemp("corpus") / "store", corpus.streams())


@pytest.mark.parametrize("strategy", ["qac", "qac+"])
def test_the_corpus(store: Path, strategy: str) -> None:
    state, known = StoreReader(store).read()
    with connect() as connection:
        for query in QUERIES:
            catalog = Catalog({name: known.streams[name] for name in query.streams()})
            found = _answer(query, catalog, strategy, state, store, connection)
            if found is not None:
                assert found == _expected(query), query.name


@pytest.mark.skipif(not XMARK.exists(), reason="../shared/xmark is not there")
def test_xmark(tmp_path: Path) -> None:
    store, file, tags = small_auctions(tmp_path)
    state, known = StoreReader(store).read()
    now = "2004-01-01T00:00:00"
    with connect() as connection:
        for path in sorted((XMARK / "queries").glob("*.xcql")):
            query = path.read_text()
            compiled = compile_query(check(query), known, "qac+", Externals(), dialect=DUCKDB)
            rows = run(connection, store, state, compiled, compiled.sql, parse_time(now))
            expected = xcql.evaluate(query, streams={"auction": (file, tags)}, now=now)
            assert rows["item"].to_pylist() == [item.xml for item in expected], path.stem


def _answer(
    query: corpus.Query,
    catalog: Catalog,
    strategy: str,
    state: StoreState,
    store: Path,
    connection: duckdb.DuckDBPyConnection,
) -> list[str] | str | None:
    """The items, or the code of the error; None if the query is not native as a whole."""
    try:
        compiled = compile_query(check(query.text), catalog, strategy, Externals(), dialect=DUCKDB)
    except (NotNative, XcqlError):
        return None
    if compiled.evaluations:
        return None
    now = parse_time(query.now)
    try:
        return run(connection, store, state, compiled, compiled.sql, now)["item"].to_pylist()
    except duckdb.InvalidInputException as problem:
        number = str(problem).partition("XCQL|")[2].partition("|")[0]
        return compiled.sites[int(number)].code


def _expected(query: corpus.Query) -> list[str] | str:
    try:
        result = xcql.evaluate(query.text, streams=query.streams(), now=query.now)
        return [item.xml for item in result]
    except XcqlError as problem:
        return problem.code
