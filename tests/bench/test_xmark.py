"""The rows of the XMark queries: first asked, asked again, cold, on both engines; their goals."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from bench import own, xmark
from bench.asks import Asks
from bench.data import Auction, Data
from bench.own import EMBEDDED, ENGINES, SPARK
from bench.rows import Goal, Row
from bench.settings import Settings


class _Engine:
    """Has the interface of `Own`; every answer is the same."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.store = name, folder / "store"

    def start(self) -> None:
        pass

    def load(self, auction: Auction) -> float:
        self.store.mkdir()
        return 1.0

    def cut(self, auction: Auction) -> float:
        return 0.5

    def query(self, text: str, answer: Path, patience: float) -> float:
        answer.write_text("<a/>")
        return {EMBEDDED: 0.2, SPARK: 0.4}[self.name]

    def first(self, text: str, answer: Path, patience: float) -> float:
        return 2 * self.query(text, answer, patience)

    def asks(self, text: str, answer: Path) -> Asks:
        return Asks(partial(self.first, text, answer), partial(self.query, text, answer))

    def by_hand(self, name: str, answer: Path, patience: float) -> float:
        assert self.name == SPARK
        return self.query(name, answer, patience)

    def stop(self) -> None:
        pass


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str, str], Row]:
    queries = dict.fromkeys(("q01", "q05", "q08", "q20"), "1")

    def cold(name: str, cache: Path, data: Path, text: str, answer: Path, patience: float) -> float:
        answer.write_text("<a/>")
        return 0.7 if data.is_dir() else 9.0

    def auction(data: Data, factor: str) -> Auction:
        document = tmp_path / f"{factor}.xml"
        document.write_text("<a/>" * int(10 * float(factor)))
        return Auction(factor, document, document, document, "generated")

    monkeypatch.setattr(xmark, "xmark_queries", lambda: queries)
    monkeypatch.setattr(xmark, "peers", lambda: ())
    monkeypatch.setattr(xmark, "Own", _Engine)
    monkeypatch.setattr(own, "cold", cold)
    monkeypatch.setattr(Data, "auction", auction)
    settings = Settings(Data(tmp_path), tmp_path, runs=1)
    return {(row.name, row.way, row.at): row for row in xmark.run(settings)}


def test_both_engines_take_part(rows: dict[tuple[str, str, str], Row]) -> None:
    for engine, seconds in ((EMBEDDED, 0.2), (SPARK, 0.4)):
        for at in ("0.1", "1"):
            assert rows["q01", f"{engine}, asked again", at].value == seconds
            assert rows["q01", f"{engine}, first asked", at].value == 2 * seconds
            assert rows["load", engine, at].value == 1.0
            assert rows["load, fragmenting included", engine, at].value == 1.5
            assert rows["q08", f"{engine} / by hand, first asked", at].value == 2 * seconds / 0.4
            assert rows["q08", f"{engine} / by hand, asked again", at].value == seconds / 0.4
        assert rows["q01", f"{engine}, growth of time / of data", "0.1 to 1"].value
        assert rows["q01, cold", engine, "0.1"].value == 9.0
    assert not any(row.voided for row in rows.values())


def test_only_spark_is_measured_without_prepare(rows: dict[tuple[str, str, str], Row]) -> None:
    (row,) = (row for row in rows.values() if "not prepared" in row.way)
    assert row.way == "ours, Spark, not prepared"


def test_goals_hold_for_both_engines(rows: dict[tuple[str, str, str], Row]) -> None:
    for engine in ENGINES:
        assert rows["q08", f"{engine} / by hand, first asked", "1"].goal == Goal(2)
        assert rows["q08", f"{engine} / by hand, asked again", "1"].goal is None
        assert rows["geometric mean", f"{engine} / by hand, first asked", "1"].goal == Goal(1.2)
        assert rows["q01", f"{engine}, growth of time / of data", "0.1 to 1"].goal == Goal(1)


def test_a_process_with_a_store(rows: dict[tuple[str, str, str], Row]) -> None:
    found = [row for row in rows.values() if row.name.endswith("cold from a store")]
    assert len(found) == 4 * 2 * 2
    for row in found:
        assert row.value == 0.7
        with_goal = (row.way, row.at) == (EMBEDDED, "1")
        assert row.goal == (Goal(0.8) if with_goal else None)
