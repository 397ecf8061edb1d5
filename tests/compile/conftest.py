"""The stores that compiled queries run on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import xcql
from tests.conftest import XMARK, OpenSession
from tests.queries import corpus
from xcql.cli.documents import open_document
from xcql.compile import Catalog
from xcql.model.fragmenter import fragment
from xcql.model.infer import tag_structure
from xcql.model.infer_schema import infer_from_dtd
from xcql.model.tags import TagStructure, parse_tags


def ingested(store: Path, streams: Mapping[str, tuple[Path, TagStructure]]) -> Path:
    """A store with some streams, created without Spark."""
    from xcql.store.ingest import ingest
    from xcql.store.processes import run_here

    for name, (fragments, tags) in streams.items():
        ingest(store, fragments, name, tags, run_here, cores=1)
    return store


def catalog_of_store(store: Path) -> Catalog:
    """What the compiler knows about a store."""
    from xcql_runtime.store_reader import StoreReader

    return StoreReader(store).read().catalog


def small_auctions(folder: Path) -> tuple[Path, Path, TagStructure]:
    """XMark's smallest document in many fillers: a store, its fragments and its tags."""
    tree = infer_from_dtd(XMARK / "auction.dtd", "site")
    parts = ["//item", "//person", "//open_auction", "//closed_auction", "//category", "//bidder"]
    tags = tag_structure(tree, parts, ["//mail"])
    file = folder / "fragments.xml"
    with open_document(str(XMARK / "auction-0.0.xml")) as document, file.open("wb") as output:
        fragment(document, tags, "2003-01-01", output)
    return ingested(folder / "store", {"auction": (file, tags)}), file, tags


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
def corpus_session(corpus_store: Path, new_session: OpenSession) -> Iterator[xcql.Session]:
    with new_session(corpus_store) as session:
        yield session
