"""The sixty queries: the evaluator, the embedded engine and SaxonC give the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest

import xcql
from bench.answers import digest
from bench.asks import FIRST
from bench.data import FRAGMENTATIONS, NOW, Data, Fragmentation, sixty_queries
from bench.eighty import ratios
from bench.market import STREAM as MARKET
from bench.own import EMBEDDED
from bench.peers.saxon import Saxon
from bench.rows import Goal, Row
from bench.sides import PeerSide, eighty_queries, is_over_time
from xcql.history.stream import stream_view
from xcql.model.time import parse_time

FACTOR = "0.005"
# the embedded engine takes seconds for these, most of them to compile
LONG = ("02", "04", "06", "07", "21", "38", "41")
QUERIES = [
    pytest.param(name, marks=pytest.mark.slow if name.startswith(LONG) else ())
    for name in sixty_queries()
]


class Side:
    """The data, cut in one way: for the evaluator, and in a store."""

    def __init__(self, data: Data, fragmentation: Fragmentation, folder: Path) -> None:
        self.auction = data.auction(FACTOR, fragmentation)
        self.market = data.market(FACTOR, fragmentation)
        self._streams = {"auction": self.auction, MARKET: self.market}
        self._folder = folder

    def evaluated(self, text: str) -> str:
        return xcql.evaluate(text, streams=self._views, now=NOW).serialize()

    def answered(self, text: str) -> str:
        return "\n".join(self.session.query(text, now=NOW).to_xml())

    @cached_property
    def _views(self) -> dict[str, object]:
        return {
            name: stream_view(one.fragments, one.tags_file, parse_time(NOW)).document
            for name, one in self._streams.items()
        }

    @cached_property
    def session(self) -> xcql.Session:
        session = xcql.Session(self._folder, engine="embedded")
        for name, one in self._streams.items():
            session.ingest(one.fragments, stream=name, tags=one.tags)
        return session


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Side]]:
    folder = tmp_path_factory.mktemp("eighty")
    data = Data(folder / "data", generated=True)
    found = {name: Side(data, one, folder / name) for name, one in FRAGMENTATIONS.items()}
    yield found
    for side in found.values():
        side.session.close()


@pytest.mark.parametrize("name", QUERIES)
def test_the_engine_agrees_with_the_evaluator(name: str, sides: dict[str, Side]) -> None:
    text = sixty_queries()[name]
    expected = {cut: side.evaluated(text) for cut, side in sides.items()}
    assert {cut: side.answered(text) for cut, side in sides.items()} == expected
    # how a document is cut shows only in lifespans
    assert digest(expected["coarse"]) == digest(expected["fine"])


@pytest.fixture
def saxon(sides: dict[str, Side], tmp_path: Path) -> Iterator[PeerSide]:
    if reason := Saxon().unavailable():
        pytest.skip(reason)
    side = PeerSide(Saxon(), sides["coarse"].auction, sides["coarse"].market, tmp_path)
    yield side
    side.stop()


def test_saxon_agrees_with_the_evaluator(
    saxon: PeerSide, sides: dict[str, Side], tmp_path: Path
) -> None:
    answer = tmp_path / "answer.xml"
    for name, text in sixty_queries().items():
        saxon.asks(text, answer).first(60.0)
        said = digest(answer)
        assert said == digest(sides["coarse"].evaluated(text)), name
        assert said.items, name


def test_ratios_and_goals() -> None:
    times = {"q01": (0.01, 0.03, 0.001), "q08": (0.2, 0.3, 0.1), "60-closed": (0.1, 0.1, 0.4)}
    ways = (f"{EMBEDDED}, coarse{FIRST}", f"{EMBEDDED}, fine{FIRST}", f"BaseX{FIRST}")
    rows = [
        Row("g", next(one for one in eighty_queries() if one.startswith(name)), way, time, "s", "1")
        for name, several in times.items()
        for way, time in zip(ways, several, strict=True)
    ]
    found = {(row.name[:3], row.way): row for row in ratios(rows, "1")}
    to_basex, to_coarse = f"{EMBEDDED}, coarse / BaseX{FIRST}", f"{EMBEDDED}, fine / coarse{FIRST}"
    # a ratio to a millisecond says little
    assert found["q01", to_basex].goal is None
    assert (found["q08", to_basex].value, found["q08", to_basex].goal) == (2, Goal(3))
    mean = found["geo", to_basex]
    assert (mean.value, mean.goal) == (pytest.approx((10 * 2 / 4) ** (1 / 3)), Goal(0.5))
    assert (found["lar", to_basex].value, found["lar", to_basex].remark) == (10, "of q01")
    assert found["q01", to_coarse].verdict == "missed"
    assert found["60-", to_coarse].verdict == "met"


def test_names_and_comments() -> None:
    queries = sixty_queries()
    assert [name[:2] for name in queries] == [f"{number:02}" for number in range(1, 61)]
    assert all(text.startswith("(: ") for text in queries.values())
    assert sum(map(is_over_time, queries.values())) == 15
    assert len(eighty_queries()) == 80
