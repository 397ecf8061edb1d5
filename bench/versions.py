"""Table (d): the cost of history: the same present, after 1, 10, 100 and 1000 versions.

The reference evaluator answers the same queries, in a separate process; where it takes too long,
the answers about now must still be the same as after one version.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.asks import AGAIN, FIRST
from bench.contest import Outcome, asked, by_way, first_and_again, ratio, rows_of
from bench.data import NOW, Auction, history_queries
from bench.own import ENGINES, SPARK, Own
from bench.peers.process import LOADING, Failed, TooLong, Worker, serve
from bench.rows import Goal, Row
from bench.settings import Settings

TABLE = "d"
JUDGE = "the evaluator"
# queries that do not depend on the number of versions
PRESENT = ("now", "last")
# the evaluator is not measured: it may take this many times as long as others
_JUDGING = 2


def run(settings: Settings) -> Iterator[Row]:
    present: dict[str, Outcome] = {}
    first: dict[tuple[str, str], Row] = {}
    for versions in settings.versions:
        auction = settings.data.versions(settings.history_factor, versions)
        outcomes = _outcomes(settings, auction, versions)
        for name, found in outcomes.items():
            if name in PRESENT:
                # compared with the smallest history
                judged = present.setdefault(name, found.get(JUDGE) or found[SPARK + FIRST])
                found.setdefault(JUDGE, judged)
            for ours in rows_of(TABLE, name, str(versions), found, [JUDGE, SPARK + FIRST]):
                if ours.way == JUDGE:
                    continue
                yield ours
                smallest = first.setdefault((name, ours.way), ours)
                # the time to compile a query, which it takes first, does not grow
                has_goal = name == "now" and versions == 1000 and ours.way.endswith(AGAIN)
                goal = Goal(1.5) if has_goal else None
                row = ratio(ours, smallest, f"{ours.way} / at {smallest.at}", goal)
                if row is not None and ours is not smallest:
                    yield row


def _outcomes(settings: Settings, auction: Auction, versions: int) -> dict[str, dict[str, Outcome]]:
    outcomes: dict[str, dict[str, Outcome]] = {name: {} for name in history_queries()}
    folder = settings.scratch(f"versions-{versions}")
    for way in ENGINES:
        settings.tell(f"history with {versions} versions: {way}")
        engine = Own(way, settings.scratch(f"versions-{versions}/{ENGINES[way]}"))
        engine.load(auction)
        queries = {
            name: engine.asks(text, folder / f"{name}.xml")
            for name, text in history_queries().items()
        }
        both = first_and_again(queries, folder, settings.runs, settings.patience)
        for name, (first, again) in both.items():
            outcomes[name] |= by_way(way, first, again)
        engine.stop()
    settings.tell(f"history with {versions} versions: {JUDGE}")
    judge = Worker("bench.versions", folder / "evaluator.log")
    patience = _JUDGING * settings.patience
    try:
        judge.ask("load", LOADING, fragments=str(auction.fragments), tags=str(auction.tags_file))
        # the slowest one last
        for name, text in reversed(history_queries().items()):
            answer = folder / f"{name}.xml"
            outcome = asked(partial(_judged, judge, text, answer), answer, 0, patience)
            if outcome.digest is None:  # it was stopped, and does not answer any more
                break
            outcomes[name][JUDGE] = outcome
    except (Failed, TooLong) as problem:
        settings.tell(f"  the answers are not compared: {problem}")
    judge.stop()
    return outcomes


def _judged(judge: Worker, text: str, answer: Path, patience: float) -> float:
    seconds: float = judge.ask("query", patience, text=text, answer=str(answer))["seconds"]
    return seconds


class _Process:
    """The reference evaluator, with the view in memory."""

    def __init__(self) -> None:
        self._view: Any = None

    def load(self, fragments: str, tags: str) -> None:
        from xcql.history.stream import stream_view
        from xcql.model.time import parse_time

        self._view = stream_view(Path(fragments), Path(tags), now=parse_time(NOW)).document

    def query(self, text: str, answer: str) -> dict[str, float]:
        import xcql

        begin = time.perf_counter()
        items = xcql.evaluate(text, streams={"auction": self._view}, now=NOW)
        Path(answer).write_text("\n".join(item.xml for item in items))
        return {"seconds": time.perf_counter() - begin}


if __name__ == "__main__":
    _process = _Process()
    serve(load=_process.load, query=_process.query)
