"""The catalogue: its documents and fragments; engines and plain Python agree on all queries."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import xcql
from bench.answers import digest
from bench.catalogue import STREAM, TIMES, write_snapshots
from bench.catalogue_judge import judged, read_years
from bench.data import NOW, Catalogue, Data, recursive_queries
from xcql.history.stream import stream_view
from xcql.model.time import parse_time


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    return Data(tmp_path_factory.mktemp("catalogue")).catalogue("0.004")


def test_sixty_documents_over_fifteen_years(small: Catalogue, tmp_path: Path) -> None:
    paths = sorted(small.snapshots.iterdir())
    assert [path.stem for path in paths] == [f"{time:%Y-%m-%d}" for time in TIMES]
    assert (TIMES[0].year, TIMES[-1].year, len(TIMES)) == (1989, 2003, 60)
    write_snapshots(tmp_path, float(small.size))
    assert all((tmp_path / path.name).read_bytes() == path.read_bytes() for path in paths)
    last = ElementTree.parse(paths[-1]).getroot()
    assert last.find(".//binary/binary") is not None
    assert last.find(".//note/note") is not None


def test_the_view_at_a_time_is_the_document_of_that_time(small: Catalogue) -> None:
    view = stream_view(small.fragments, small.tags_file, parse_time(NOW))
    assert not view.warnings
    assert not view.rejected
    for day in ("1989-02-15", "1996-05-15", "2003-11-15"):
        text = f'stream("{STREAM}")?[{day}]/catalogue/system'
        systems = xcql.evaluate(text, streams={STREAM: view.document}, now=NOW).serialize()
        before = [path for path in sorted(small.snapshots.iterdir()) if path.stem < day]
        document = ElementTree.parse(before[-1]).getroot()
        expected = "".join(ElementTree.tostring(system, "unicode") for system in document)
        assert digest(systems) == digest(expected)


def _evaluated(catalogue: Catalogue) -> dict[str, str]:
    view = stream_view(catalogue.fragments, catalogue.tags_file, parse_time(NOW)).document
    return {
        name: xcql.evaluate(text, streams={STREAM: view}, now=NOW).serialize()
        for name, text in recursive_queries().items()
    }


def _right(catalogue: Catalogue) -> dict[str, str]:
    return judged(read_years(catalogue.snapshots, NOW), recursive_queries())


def test_the_evaluator_agrees_with_plain_python(small: Catalogue) -> None:
    answers, right = _evaluated(small), _right(small)
    for name, answer in answers.items():
        assert digest(answer) == digest(right[name]), name


@pytest.mark.slow
def test_the_engine_agrees_with_both(tmp_path: Path) -> None:
    catalogue = Data(tmp_path).catalogue("0.02")
    right, evaluated = _right(catalogue), _evaluated(catalogue)
    with xcql.Session(tmp_path / "store", engine="embedded") as session:
        session.ingest(catalogue.fragments, stream=STREAM, tags=catalogue.tags_file)
        for name, text in recursive_queries().items():
            answer = "\n".join(session.query(text, now=NOW).to_xml())
            assert answer == evaluated[name], name
            assert digest(answer) == digest(right[name]), name
            assert right[name], name
