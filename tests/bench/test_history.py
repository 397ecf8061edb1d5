"""The generator: the shape, the proportions, the history, and that its output is deterministic."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import xcql
from bench.data import Data, history_queries, xmark_queries
from bench.history import CLOSING, numbers, write_document
from tests.conftest import XMARK
from xcql.history.stream import stream_view
from xcql.model.time import parse_time

FACTOR = 0.005
NOW = "2004-01-01T00:00:00"


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "auction.xml"
    write_document(path, FACTOR)
    return path


def test_proportions_are_xmarks() -> None:
    count = numbers(1)
    assert (count.people, count.items, count.open, count.closed) == (25500, 21750, 12000, 9750)
    assert numbers(10).people == 255000


def test_the_same_each_time_and_another_with_another_seed(document: Path, tmp_path: Path) -> None:
    write_document(tmp_path / "again.xml", FACTOR)
    write_document(tmp_path / "other.xml", FACTOR, seed=2)
    assert (tmp_path / "again.xml").read_bytes() == document.read_bytes()
    assert (tmp_path / "other.xml").read_bytes() != document.read_bytes()


def test_references_lead_somewhere(document: Path) -> None:
    site = ElementTree.parse(document).getroot()
    ids = {element.get("id") for element in site.iter() if element.get("id")}
    for name, attribute in (
        ("personref", "person"),
        ("itemref", "item"),
        ("watch", "open_auction"),
        ("interest", "category"),
        ("incategory", "category"),
        ("buyer", "person"),
    ):
        references = [element.get(attribute) for element in site.iter(name)]
        assert references
        assert set(references) <= ids


@pytest.mark.parametrize("name", xmark_queries())
def test_every_query_has_something_to_say(name: str, document: Path) -> None:
    answer = xcql.evaluate(xmark_queries()[name], streams={"auction": document})
    said = [item.string for item in answer]
    assert said
    assert set(said) != {"0"}


@pytest.mark.skipif(not XMARK.is_dir(), reason="../shared/xmark is not there")
@pytest.mark.parametrize("name", xmark_queries())
def test_the_queries_are_xmarks(name: str, document: Path) -> None:
    """Our queries mean the same as the original ones."""
    given = (XMARK / "queries" / f"{name}.xcql").read_text()
    answers = [
        [item.xml for item in xcql.evaluate(text, streams={"auction": document})]
        for text in (given, xmark_queries()[name])
    ]
    assert answers[0] == answers[1]


def test_the_present_is_the_same_however_long_the_history(tmp_path: Path) -> None:
    data, answers = Data(tmp_path), []
    for versions in (1, 7):
        auction = data.versions("0.001", versions)
        view = stream_view(auction.fragments, auction.tags_file, parse_time(NOW))
        assert not view.warnings
        prices = xcql.evaluate("count(//current)", view.document, now=NOW).serialize()
        assert int(prices) == versions * numbers(0.001).open
        streams = {"auction": view.document}
        answers.append(
            {
                name: xcql.evaluate(text, streams=streams, now=NOW).serialize()
                for name, text in history_queries().items()
            }
        )
    one, seven = answers
    assert one["now"] == seven["now"]
    assert one["last"] == seven["last"]
    assert one["now"].count("<price") == numbers(0.001).open * (CLOSING - 1) // CLOSING + 1
    assert seven["window"].count(">0<") < one["window"].count(">0<")
    assert "<meanwhile" in seven["coincidence"]
