"""The stores that compiled queries run on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import xcql
from tests.queries import corpus
from xcql.compile import Catalog
from xcql.model.tags import TagStructure, parse_tags

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def ingested(store: Path, streams: Mapping[str, tuple[Path, TagStructure]]) -> Path:
    """A store with some streams, created without Spark."""
    from xcql.store.ingest import ingest
    from xcql.store.processes import run_here

    for name, (fragments, tags) in streams.items():
        ingest(store, fragments, name, tags, run_here, cores=1)
    return store


def catalog_of_store(store: Path) -> Catalog:
    """What the compiler knows about a store."""
    from xcql_runtime.tables.store_reader import StoreReader

    return StoreReader(store).read()[1]


def world_store(folder: Path, fragments: Mapping[str, str], tags: Mapping[str, str]) -> Path:
    """A store of streams given as text."""
    streams = {}
    for name, text in fragments.items():
        file = folder / f"{name}.xml"
        file.write_text(text, encoding="utf-8")
        streams[name] = (file, parse_tags(tags[name]))
    return ingested(folder / "store", streams)


@pytest.fixture(scope="session")
def corpus_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All data sets of the corpus; tests must not change it."""
    return ingested(tmp_path_factory.mktemp("corpus") / "store", corpus.streams())


@pytest.fixture(scope="session")
def corpus_session(corpus_store: Path, spark: SparkSession) -> xcql.Session:
    return xcql.Session(corpus_store, spark)
