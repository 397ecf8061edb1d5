"""The 20 XMark queries, natively. Needs ../shared/xmark."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

import xcql
from tests.compile.conftest import ingested
from tests.compile.same_form import same_form
from tests.conftest import XMARK, OpenSession
from xcql.cli.documents import open_document
from xcql.history.stream import stream_view
from xcql.model.fragmenter import fragment
from xcql.model.infer import tag_structure
from xcql.model.infer_schema import infer_from_dtd
from xcql.model.tags import TagStructure
from xcql.model.time import parse_time
from xcql.xdm.nodes import DocumentNode

QUERIES = sorted((XMARK / "queries").glob("*.xcql"))
FULL = bool(os.environ.get("XCQL_TEST_FULL"))
NOW = "2004-01-01T00:00:00"
# signs of Python in a physical plan of Spark
PYTHON = re.compile(r"Python|Arrow|MapIn")

pytestmark = pytest.mark.skipif(not QUERIES, reason="../shared/xmark is not there")


class Auction(NamedTuple):
    session: xcql.Session
    fragments: Path
    tags: TagStructure
    view: DocumentNode


@contextmanager
def _auction(
    folder: Path, factor: str, new_session: OpenSession, events: list[str]
) -> Iterator[Auction]:
    tree = infer_from_dtd(XMARK / "auction.dtd", "site")
    versions = ["//item", "//person", "//open_auction", "//closed_auction", "//category"]
    tags = tag_structure(tree, versions, events)
    file = folder / "fragments.xml"
    with open_document(str(XMARK / f"auction-{factor}")) as document, file.open("wb") as output:
        fragment(document, tags, "2003-01-01", output)
    store = ingested(folder / "store", {"auction": (file, tags)})
    view = stream_view(file, tags, parse_time(NOW)).document
    with new_session(store) as session:
        yield Auction(session, file, tags, view)


@pytest.fixture(scope="module")
def auction(
    tmp_path_factory: pytest.TempPathFactory, new_session: OpenSession
) -> Iterator[Auction]:
    factor = "0.01.xml.gz" if FULL else "0.0.xml"
    folder = tmp_path_factory.mktemp("xmark")
    with _auction(folder, factor, new_session, ["//bidder"]) as auction:
        yield auction


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
@pytest.mark.parametrize("strategy", ["qac", "qac+"] if FULL else ["qac+"])
def test_same_answer_as_the_evaluator(path: Path, strategy: str, auction: Auction) -> None:
    query = path.read_text()
    answer = auction.session.query(query, strategy=strategy, now=NOW)
    assert answer.strategy == strategy
    if answer.engine == "spark":
        assert not PYTHON.search(answer.explain("spark"))
    expected = xcql.evaluate(query, streams={"auction": auction.view}, now=NOW)
    assert answer.to_xml() == [item.xml for item in expected]


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory, new_session: OpenSession) -> Iterator[Auction]:
    folder = tmp_path_factory.mktemp("xmark")
    with _auction(folder, "0.05.xml.gz", new_session, []) as auction:
        yield auction


@pytest.mark.slow
@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
@pytest.mark.parametrize("strategy", ["qac", "qac+"])
def test_answer_that_xmark_expects(path: Path, strategy: str, larger: Auction) -> None:
    """The expected answers are for the plain document, without lifespans."""
    answer = larger.session.query(path.read_text(), strategy=strategy, now=NOW).to_xml()
    (expected,) = (XMARK / "expected" / "0.05").glob(f"{path.stem}.*")
    plain = [re.sub(r' vtFrom="[^"]*" vtTo="[^"]*"', "", item) for item in answer]
    assert same_form(["\n".join(plain)]) == same_form([expected.read_text().rstrip("\n")])
