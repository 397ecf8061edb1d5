"""One store with all sample streams, and the reference evaluator's answers for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import xcql
from tests.conftest import OpenSession
from tests.runtime.samples import STREAMS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample streams, ingested; tests must not change it."""
    from xcql.store.ingest import ingest
    from xcql.store.processes import run_here

    store = tmp_path_factory.mktemp("query") / "store"
    for name, (fragments, tags) in STREAMS.items():
        ingest(store, fragments, name, xcql.model.tags.read_tags(tags), run_here, cores=1)
    return store


@pytest.fixture
def session(store: Path, spark: SparkSession) -> xcql.Session:
    """On Spark; `each_session` is for whatever is the same on both engines."""
    return xcql.Session(store, spark)


@pytest.fixture
def each_session(store: Path, open_session: OpenSession) -> xcql.Session:
    """On DuckDB and on Spark."""
    return open_session(store)


@pytest.fixture
def expected() -> Callable[..., list[str]]:
    """The answer of the reference evaluator, item by item."""

    def evaluate(text: str, now: str, **options: Any) -> list[str]:
        return [item.xml for item in xcql.evaluate(text, streams=STREAMS, now=now, **options)]

    return evaluate
