"""Table (h): twenty queries over a recursive catalogue with a long history, on both engines.

Plain Python says what the right answers are, from the documents that the catalogue consists of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench.answers import digest
from bench.asks import FIRST
from bench.catalogue import STREAM
from bench.catalogue_judge import judged, read_years
from bench.contest import Outcome, by_way, first_and_again, rows_of
from bench.data import NOW, Catalogue, recursive_queries
from bench.measure import Timing
from bench.native import native_rows, noted
from bench.own import EMBEDDED, ENGINES, SPARK, Native, Own
from bench.rows import Goal, Row
from bench.settings import Settings

TABLE = "h"
JUDGE = "plain Python"
# seconds, at full size
_GOALS = {EMBEDDED + FIRST: Goal(5), SPARK + FIRST: Goal(20)}
# a query may take longer than its goal
_PATIENCE = 30.0


def run(settings: Settings) -> Iterator[Row]:
    catalogue = settings.data.catalogue(settings.catalogue_size)
    outcomes: dict[str, dict[str, Outcome]] = {name: {} for name in recursive_queries()}
    for way in ENGINES:
        settings.tell(f"the catalogue: {way}")
        engine = Own(way, settings.scratch(f"catalogue/{ENGINES[way]}"))
        seconds = engine.load(catalogue, STREAM)
        yield Row(TABLE, "load", way, seconds, "s", catalogue.size)
        yield from native_rows(TABLE, _asked(settings, engine, outcomes), way)
        engine.stop()
    settings.tell(f"the catalogue: {JUDGE}")
    for name, answer in _right_answers(catalogue).items():
        outcomes[name][JUDGE] = answer
    for name, several in outcomes.items():
        for row in rows_of(TABLE, name, catalogue.size, several, [JUDGE]):
            if row.way != JUDGE:
                goal = _GOALS.get(row.way) if catalogue.size == "1" else None
                yield replace(row, goal=goal)


def _asked(
    settings: Settings, engine: Own, outcomes: dict[str, dict[str, Outcome]]
) -> dict[str, Native]:
    folder = settings.scratch("catalogue")
    natives: dict[str, Native] = {}
    asks = {
        name: noted(engine, engine.asks(text, folder / f"{name}.xml"), name, natives)
        for name, text in recursive_queries().items()
    }
    patience = max(settings.patience, _PATIENCE)
    for name, both in first_and_again(asks, folder, settings.runs, patience).items():
        outcomes[name] |= by_way(engine.name, *both)
    return natives


def _right_answers(catalogue: Catalogue) -> dict[str, Outcome]:
    years = read_years(catalogue.snapshots, NOW)
    answers = judged(years, recursive_queries())
    return {name: Outcome(Timing(0.0), digest(text)) for name, text in answers.items()}
