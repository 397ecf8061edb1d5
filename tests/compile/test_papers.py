"""The queries of paper 1 and of paper 3, by QaC and by QaC+."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

import xcql
from tests.compile.conftest import ingested
from tests.conftest import OpenSession
from tests.queries import corpus
from tests.runtime.samples import STREAMS, query
from xcql.model.tags import read_tags

QUERIES = {
    "1-2-radar": ("2004-06-13T13:00:00", ("radar1", "radar2")),
    "1-2-syn-ack": ("2004-06-13T10:06:00", ("gsyn", "ack")),
    "1-2-traffic-light": ("2004-06-13T09:00:00", ("vehicle", "road_sensor", "traffic_light")),
    "1-3.1-fraud": ("2003-11-15T10:00:00", ("credit", "creditSystem")),
    "1-3.1-maxed-out": ("2003-12-01T00:00:00", ("credit", "creditSystem")),
    "1-6-first-ten": ("2003-12-01T00:00:00", ("credit", "creditSystem")),
    "1-6.1-charged-now": ("2003-12-01T00:00:00", ("credit", "creditSystem")),
    "1-6.1-charged": ("2003-12-01T00:00:00", ("credit", "creditSystem")),
}


def _triangulate(one: str, other: str) -> str:
    a, b = math.radians(float(one)), math.radians(float(other))
    reach = 10 * math.sin(b) / math.sin(b - a)
    return f"{reach * math.cos(a):.1f} {reach * math.sin(a):.1f}"


def _distance(one: str, other: str) -> float:
    return math.dist([float(part) for part in one.split()], [float(part) for part in other.split()])


@pytest.fixture(scope="module")
def samples(
    tmp_path_factory: pytest.TempPathFactory, new_session: OpenSession
) -> Iterator[xcql.Session]:
    streams = {name: (fragments, read_tags(tags)) for name, (fragments, tags) in STREAMS.items()}
    streams["creditSystem"] = streams["credit"]
    store = ingested(tmp_path_factory.mktemp("papers") / "store", streams)
    with new_session(store) as session:
        session.register("triangulate", _triangulate, returns="xs:string")
        session.register("distance", _distance, returns="xs:double")
        yield session


@pytest.mark.parametrize("strategy", ["qac", "qac+"])
@pytest.mark.parametrize("name", QUERIES)
def test_paper_1(name: str, strategy: str, samples: xcql.Session) -> None:
    text = query(f"papers/{name}.xcql")
    now, used = QUERIES[name]
    streams = {one: STREAMS["credit" if one == "creditSystem" else one] for one in used}
    functions = {"triangulate": _triangulate, "distance": _distance}
    expected = xcql.evaluate(text, streams=streams, now=now, functions=functions)
    answer = samples.query(text, strategy=strategy, now=now)
    assert answer.to_xml() == [item.xml for item in expected]
    assert answer.strategy == strategy


@pytest.mark.parametrize("strategy", ["qac", "qac+"])
@pytest.mark.parametrize(
    "one",
    [one for one in corpus.queries() if one.name.startswith("paper3")],
    ids=lambda one: one.name,
)
def test_paper_3(one: corpus.Query, strategy: str, corpus_session: xcql.Session) -> None:
    answer = corpus_session.query(one.text, strategy=strategy, now=one.now)
    expected = xcql.evaluate(one.text, streams=one.streams(), now=one.now)
    assert answer.to_xml() == [item.xml for item in expected]
    assert answer.strategy == strategy
