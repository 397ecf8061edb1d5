"""Table (a): Figure 4 of the paper redone: XMark Q1, Q2 and Q5 by CaQ, QaC and QaC+.

On our engines, over a store; and as emitted XQuery on SaxonC, over fragments that are parsed before
the clock starts, because parsing costs the same for all strategies. Items, persons, auctions and
categories have fillers of their own; bidders do not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial

import xcql
from bench.asks import FIRST
from bench.contest import Outcome, asked, asked_again, by_way, ratio, rows_of
from bench.data import Auction, xmark_queries
from bench.own import ENGINES, Own
from bench.peers.process import Failed, TooLong
from bench.peers.saxon import Saxon
from bench.rows import Goal, Row
from bench.settings import Settings
from xcql.strategies import Strategy

TABLE = "a"
QUERIES = ("q01", "q02", "q05")
STRATEGIES: tuple[Strategy, ...] = ("qac+", "qac", "caq")

# Figure 4, in milliseconds, on a Pentium III: query, factor -> QaC+, QaC, CaQ
PAPER = {
    ("q01", "0.0"): (161, 190, 320),
    ("q01", "0.05"): (1_723, 49_391, 335_843),
    ("q01", "0.1"): (3_966, 197_354, 1_799_207),
    ("q02", "0.0"): (190, 200, 341),
    ("q02", "0.05"): (4_487, 45_385, 353_248),
    ("q02", "0.1"): (8_222, 199_016, 1_859_073),
    ("q05", "0.0"): (160, 201, 310),
    ("q05", "0.05"): (1_763, 19_528, 335_382),
    ("q05", "0.1"): (3_095, 110_409, 1_886_022),
}


def run(settings: Settings) -> Iterator[Row]:
    for (query, factor), figures in PAPER.items():
        for strategy, milliseconds in zip(STRATEGIES, figures, strict=True):
            yield Row(TABLE, query, f"the paper, {strategy}", milliseconds / 1000, "s", factor)
    hopeless: set[tuple[str, str]] = set()
    engines = [Own(name, settings.scratch(f"figure4-{ENGINES[name]}")) for name in ENGINES]
    for factor in settings.figure_factors:
        for row in _measured(settings, engines, settings.data.auction(factor), hopeless):
            if row.bound == "more":
                hopeless.add((row.name, row.way))
            yield row
    for engine in engines:
        engine.stop()


def _measured(
    settings: Settings,
    engines: Sequence[Own],
    auction: Auction,
    hopeless: Collection[tuple[str, str]],
) -> Iterator[Row]:
    """The queries at one size, except those that took too long at a smaller one."""
    outcomes: dict[str, dict[str, Outcome]] = {name: {} for name in QUERIES}
    for engine in engines:
        settings.tell(f"Figure 4 at {auction.factor}: {engine.name}")
        _on_engine(settings, engine, auction, outcomes, hopeless)
    if Saxon().unavailable() is None and settings.asks(Saxon.name, auction.factor):
        settings.tell(f"Figure 4 at {auction.factor}: on SaxonC")
        try:
            _on_saxon(settings, auction, outcomes)
        except (Failed, TooLong) as problem:
            settings.tell(f"  it cannot load the fragments: {problem}")
    for name, found in outcomes.items():
        rows = rows_of(TABLE, name, auction.factor, found, list(reversed(found)))
        yield from rows
        if auction.factor == "0.1":
            yield from _goals(rows)


def _on_engine(
    settings: Settings,
    engine: Own,
    auction: Auction,
    outcomes: dict[str, dict[str, Outcome]],
    hopeless: Collection[tuple[str, str]],
) -> None:
    folder = settings.scratch(f"figure4-{auction.factor}")
    engine.load(auction)
    for strategy in STRATEGIES:
        is_hopeless = False
        for name in QUERIES:
            answer = folder / f"{name}.xml"
            query = engine.asks(xmark_queries()[name], answer, strategy)
            limits = settings.runs, settings.patience
            if is_hopeless or (name, f"{engine.name}{FIRST}, {strategy}") in hopeless:
                first = Outcome(stopped=settings.patience)
            else:
                first = asked(query.first, answer, *limits)
            again = asked_again(first, query, answer, *limits)
            for way, outcome in by_way(engine.name, first, again).items():
                outcomes[name][f"{way}, {strategy}"] = outcome
            # it builds the same view for every query
            is_hopeless = strategy == "caq" and first.stopped is not None


def _on_saxon(
    settings: Settings, auction: Auction, outcomes: dict[str, dict[str, Outcome]]
) -> None:
    folder = settings.scratch(f"figure4-{auction.factor}")
    saxon = Saxon().start(folder)
    saxon.load(auction.fragments)
    streams = {"auction": auction.tags}
    for strategy in STRATEGIES:
        for name in QUERIES:
            answer = folder / f"{name}.xml"
            text = xcql.translate(xmark_queries()[name], streams, strategy).text
            query = partial(saxon.standard, text, answer, parameter="auction-files")
            outcomes[name][f"SaxonC, {strategy}"] = asked(
                query, answer, settings.runs, settings.patience
            )
    saxon.stop()


def _goals(rows: list[Row]) -> Iterator[Row]:
    """On SaxonC, finding fillers by their tags is much faster than building the view."""
    by = {row.way: row for row in rows}
    for way, goal in (("caq", Goal(10, least=True)), ("qac", Goal(3))):
        fast, slow = by.get("SaxonC, qac+"), by.get(f"SaxonC, {way}")
        if fast is not None and slow is not None:
            row = ratio(slow, fast, f"SaxonC, {way} / qac+", goal)
            if row is not None:
                yield row
