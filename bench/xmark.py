"""Table (b): the twenty XMark queries, by us, by hand over the same store, and by the peers.

First asked, which is what counts: the document is loaded or ingested, the engine is warm, and the
text of the query is new to it. Asked again: it has answered this text before. Cold: from the XML on
disk, or from a store, to the answer, with the start of all processes; on Spark after `xcqlc
prepare`, and once without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from bench import own
from bench.asks import AGAIN, FIRST
from bench.by_hand import QUERIES as BY_HAND
from bench.contest import Outcome, all_asked, asked, by_way, first_and_again, ratio, rows_of
from bench.data import Auction, xmark_queries
from bench.measure import geometric_mean
from bench.own import EMBEDDED, ENGINES, SPARK, Own
from bench.peers import peers
from bench.peers.peer import Peer, asks
from bench.peers.process import Failed, TooLong
from bench.rows import Goal, Row
from bench.settings import Settings

TABLE = "b"
HAND = "by hand"
# hand-written ones that count; the others are a reference where every peer takes too long
COMPARED = ("q01", "q02", "q05", "q08", "q11", "q14", "q20")
# queries where peers have to compare all pairs
JOINS = ("q08", "q09", "q10", "q11", "q12")
# at a factor with an XMark document, to measure growth to one without
TWIN = ", generated document"
# without `xcqlc prepare`
BARE = f"{SPARK}, not prepared"
LOADING = "load"
# ours loads fragments: a document must be fragmented once
CUTTING = "load, fragmenting included"
# `xcqlc run --store`: the queries that run in a new process each
FROM_STORE = "cold from a store"
STORE_QUERIES = ("q01", "q05", "q08", "q20")
# what ours are compared with
THEIRS = (HAND, "SaxonC-HE", "BaseX", "RumbleDB")
# a peer's time grows with the data if ten times the data takes this many times the time
_GROWS = 2.0


def run(settings: Settings) -> Iterator[Row]:
    here = [peer for peer in peers() if peer.unavailable() is None]
    found: list[Row] = []
    for factor in settings.factors:
        able = [peer for peer in here if settings.asks(peer.name, factor)]
        rows = list(_warm(settings, settings.data.auction(factor), able, _stopped(found)))
        found += rows
        yield from rows
    yield from _ratios(found, settings.factors)
    ours = [row for row in found if _grows(row)]
    for small, large in zip(settings.factors, settings.factors[1:], strict=False):
        before, after = settings.data.auction(small), settings.data.auction(large)
        if before.origin != after.origin:
            # documents of another origin do not measure growth
            before = replace(settings.data, generated=True).auction(small)
            judges = [peer for peer in here if settings.asks(peer.name, large)]
            all_rows = _warm(settings, before, judges, _stopped(found))
            twin = [row for row in all_rows if _grows(row)]
            ours = [row for row in ours if row.at != small] + twin
            yield from (replace(row, way=row.way + TWIN) for row in twin)
        yield from _growth(before, after, ours)
    yield from _cold(settings, here, _stopped(found))
    for factor in settings.factors:
        yield from _cold_from_store(settings, settings.data.auction(factor))


def _grows(row: Row) -> bool:
    """Growth is that of repeated queries: the time to compile them does not depend on the data."""
    return row.way in ENGINES or row.way.removesuffix(AGAIN) in ENGINES


def _stopped(rows: Sequence[Row]) -> dict[str, dict[str, Row]]:
    """By engine, the queries that took too long, and would again with more data."""
    stopped: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.bound == "more" and row.unit == "s" and not row.way.startswith(tuple(ENGINES)):
            stopped.setdefault(row.way.removesuffix(FIRST), {}).setdefault(row.name, row)
    return stopped


def _own(settings: Settings, auction: Auction, name: str) -> Own:
    folder = f"xmark-{auction.factor}-{auction.origin}/{ENGINES[name]}"
    return Own(name, settings.scratch(folder))


def _warm(
    settings: Settings,
    auction: Auction,
    here: Sequence[Peer],
    stopped: Mapping[str, Mapping[str, Row]],
) -> Iterator[Row]:
    outcomes: dict[str, dict[str, Outcome]] = {name: {} for name in xmark_queries()}
    loads: dict[str, float] = {}
    folder = settings.scratch(f"xmark-{auction.factor}-{auction.origin}")
    for engine in (_own(settings, auction, name) for name in ENGINES):
        settings.tell(f"XMark at {auction.factor}: {engine.name}")
        engine.start()
        loads[engine.name] = engine.load(auction)
        seconds = loads[engine.name] + engine.cut(auction)
        yield Row(TABLE, CUTTING, engine.name, seconds, "s", auction.factor)
        queries = {
            name: engine.asks(text, folder / f"{name}.xml")
            for name, text in xmark_queries().items()
        }
        both = first_and_again(queries, folder, settings.runs, settings.patience)
        _add(settings, outcomes, engine.name, both)
        if engine.name == SPARK:
            by_hand = {
                name: partial(engine.by_hand, name, folder / f"{name}.xml")
                for name in xmark_queries()
                if name in BY_HAND
            }
            found = all_asked(by_hand, folder, settings.runs, settings.patience)
            for name, outcome in found.items():
                outcomes[name][HAND] = outcome
        engine.stop()
    for peer in here:
        settings.tell(f"XMark at {auction.factor}: {peer.name}")
        running = peer.start(folder)
        try:
            loads[peer.name] = running.load(auction.document)
        except (Failed, TooLong) as problem:
            settings.tell(f"  it cannot load the document: {problem}")
            running.stop()
            continue
        queries = {
            name: asks(running, text, folder / f"{name}.xml")
            for name, text in xmark_queries().items()
        }
        hopeless = stopped.get(peer.name, {})
        both = first_and_again(queries, folder, settings.runs, settings.patience, hopeless)
        _add(settings, outcomes, peer.name, both)
        running.stop()
    for way, seconds in loads.items():
        yield Row(TABLE, LOADING, way, seconds, "s", auction.factor)
    judges = [*(peer.name + FIRST for peer in here), HAND, SPARK + FIRST]
    for name, several in outcomes.items():
        yield from rows_of(TABLE, name, auction.factor, several, judges)


def _add(
    settings: Settings,
    outcomes: dict[str, dict[str, Outcome]],
    engine: str,
    both: Mapping[str, tuple[Outcome, Outcome | None]],
) -> None:
    for name, (first, again) in both.items():
        outcomes[name] |= by_way(engine, first, again)
        told = ", ".join(map(_told, filter(None, (first, again))))
        settings.tell(f"  {name} {engine}: {told}")


def _ratios(rows: Sequence[Row], factors: Sequence[str]) -> Iterator[Row]:
    """Ours divided by theirs, with our goals at factors 0.1, 1 and 10."""
    by = {(row.name, row.way, row.at): row for row in rows}
    for factor in factors:
        parse = by.get((LOADING, "SaxonC-HE", factor))
        means: dict[tuple[str, str], list[float]] = {}
        for name, way, engine, when in product(xmark_queries(), THEIRS, ENGINES, (FIRST, AGAIN)):
            # a query by hand is a program, not a text
            other = way if way == HAND else way + when
            ours, theirs = by.get((name, engine + when, factor)), by.get((name, other, factor))
            if ours is None or theirs is None:
                continue
            smaller = by.get((name, other, _tenth(factor)))
            extra = (parse.value or 0.0) if way == "SaxonC-HE" and parse else 0.0
            title = f"{engine} / {way}{', parsing included' if extra else ''}{when}"
            goal = _goal(name, way, factor, theirs, smaller) if when == FIRST else None
            row = ratio(ours, theirs, title, goal, extra)
            if row is not None and row.value is not None:
                if way != HAND or name in COMPARED:
                    means.setdefault((way, title), []).append(row.value)
                yield row
        for (way, title), values in means.items():
            mean = geometric_mean(values)
            goal = _mean_goal(way, factor) if title.endswith(FIRST) else None
            yield Row(TABLE, "geometric mean", title, mean, "x", factor, goal=goal)
        for engine in ENGINES:
            ours, theirs = by.get((LOADING, engine, factor)), by.get((LOADING, "BaseX", factor))
            if ours and theirs:
                row = ratio(ours, theirs, f"{engine} / BaseX", Goal(1) if factor == "1" else None)
                if row is not None:
                    yield row


def _goal(name: str, way: str, factor: str, theirs: Row, smaller: Row | None) -> Goal | None:
    if factor == "1":
        if way == HAND:
            return Goal(2) if name in COMPARED else None
        if way in ("SaxonC-HE", "RumbleDB") or (way == "BaseX" and name in JOINS):
            return Goal(1)
    if factor == "10" and way == "BaseX" and smaller and smaller.value and theirs.value:
        return Goal(1) if theirs.value > _GROWS * smaller.value else None
    return None


def _mean_goal(way: str, factor: str) -> Goal | None:
    if way == HAND and factor == "1":
        return Goal(1.2)
    return Goal(1) if way == "RumbleDB" and factor == "0.1" else None


def _tenth(factor: str) -> str:
    return f"{float(factor) / 10:g}"


def _growth(before: Auction, after: Auction, ours: Sequence[Row]) -> Iterator[Row]:
    """The growth of a query's time divided by the growth of the data."""
    by = {(row.name, row.way, row.at): row for row in ours}
    data = after.megabytes / before.megabytes
    for name, engine in product((LOADING, *xmark_queries()), ENGINES):
        way = engine if name == LOADING else engine + AGAIN
        small, large = by.get((name, way, before.factor)), by.get((name, way, after.factor))
        if small is None or large is None:
            continue
        row = ratio(large, small, f"{engine}, growth of time / of data", Goal(1))
        if row is not None and row.value is not None:
            at = f"{before.factor} to {after.factor}"
            yield replace(row, at=at, value=row.value / data)


def _cold(
    settings: Settings, here: Sequence[Peer], stopped: Mapping[str, Mapping[str, Row]]
) -> Iterator[Row]:
    """From a document. A single first run of each: that is what cold means."""
    auction = settings.data.auction(settings.cold_factor)
    answer = settings.scratch("cold") / "answer.xml"
    starts: dict[str, Callable[..., float]] = _cold_engines(settings)
    starts |= {peer.name: peer.cold for peer in here}
    # once, because it is the same for every query
    starts[BARE] = partial(own.cold, SPARK, settings.scratch("not prepared"))
    for name, text in xmark_queries().items():
        if name not in settings.cold_queries:
            continue
        outcomes: dict[str, Outcome] = {}
        for way, start in starts.items():
            query = partial(start, auction.document, text, answer)
            slow = stopped.get(way, {}).get(name)
            if slow is not None and float(slow.at) <= float(auction.factor):
                outcomes[way] = Outcome(stopped=slow.value)
            else:
                outcomes[way] = asked(query, answer, 0, _cold_patience(settings))
            settings.tell(f"  {name} {way}, cold: {_told(outcomes[way])}")
        starts.pop(BARE, None)
        judges = [*(peer.name for peer in here), SPARK]
        yield from rows_of(TABLE, f"{name}, cold", auction.factor, outcomes, judges)


def _cold_from_store(settings: Settings, auction: Auction) -> Iterator[Row]:
    """The best of several new processes: the start of a process varies more than a query."""
    answer = settings.scratch("cold") / "answer.xml"
    for name in STORE_QUERIES:
        outcomes: dict[str, Outcome] = {}
        for way, start in _cold_engines(settings).items():
            store = _own(settings, auction, way).store
            query = partial(start, store, xmark_queries()[name], answer)
            outcomes[way] = asked(query, answer, settings.runs, _cold_patience(settings))
            settings.tell(f"  {name} {way}, {FROM_STORE}: {_told(outcomes[way])}")
        for row in rows_of(TABLE, f"{name}, {FROM_STORE}", auction.factor, outcomes, [SPARK]):
            has_goal = row.way == EMBEDDED and auction.factor == "1"
            yield replace(row, goal=Goal(0.8) if has_goal else None)


def _cold_engines(settings: Settings) -> dict[str, Callable[..., float]]:
    return {name: partial(own.cold, name, settings.cache) for name in ENGINES}


def _cold_patience(settings: Settings) -> float:
    """Spark takes seconds to start."""
    return max(settings.patience, 60.0)


def _told(outcome: Outcome) -> str:
    if outcome.timing is not None:
        return f"{outcome.timing.seconds:.3f} s"
    return f"more than {outcome.stopped:g} s" if outcome.stopped else outcome.failure
