"""Table (b): the twenty XMark queries, by us, by hand over the same store, and by the peers.

Warm: the document is loaded or ingested, and the query has run once. Cold: from the XML on disk
to the answer, with the start of all processes; ours after `xcqlc prepare`, and once without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from bench import own
from bench.by_hand import QUERIES as BY_HAND
from bench.contest import Ask, Outcome, all_asked, asked, ratio, rows_of
from bench.data import Auction, xmark_queries
from bench.measure import geometric_mean
from bench.own import NAME, Own
from bench.peers import peers
from bench.peers.peer import Peer
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
TWIN = "ours, generated document"
# without `xcqlc prepare`
BARE = "ours, not prepared"
LOADING = "load"
# ours loads fragments: a document must be fragmented once
CUTTING = "load, fragmenting included"
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
    ours = [row for row in found if row.way == NAME]
    for small, large in zip(settings.factors, settings.factors[1:], strict=False):
        before, after = settings.data.auction(small), settings.data.auction(large)
        if before.origin != after.origin:
            # documents of another origin do not measure growth
            before = replace(settings.data, generated=True).auction(small)
            judges = [peer for peer in here if settings.asks(peer.name, large)]
            twin = list(_warm(settings, before, judges, _stopped(found)))
            ours = [row for row in ours if row.at != small] + twin
            yield from (replace(row, way=TWIN) for row in twin if row.way == NAME)
        yield from _growth(before, after, ours)
    yield from _cold(settings, here, _stopped(found))


def _stopped(rows: Sequence[Row]) -> dict[str, dict[str, Row]]:
    """By engine, the queries that took too long, and would again with more data."""
    stopped: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.bound == "more" and row.unit == "s" and row.way != NAME:
            stopped.setdefault(row.way, {}).setdefault(row.name, row)
    return stopped


def _warm(
    settings: Settings,
    auction: Auction,
    here: Sequence[Peer],
    stopped: Mapping[str, Mapping[str, Row]],
) -> Iterator[Row]:
    outcomes: dict[str, dict[str, Outcome]] = {name: {} for name in xmark_queries()}
    loads: dict[str, float] = {}
    folder = settings.scratch(f"xmark-{auction.factor}-{auction.origin}")
    engine = Own(folder)
    settings.tell(f"XMark at {auction.factor}: {NAME}")
    engine.start()
    loads[NAME] = engine.load(auction)
    cutting = engine.cut(auction)
    yield Row(TABLE, CUTTING, NAME, loads[NAME] + cutting, "s", auction.factor)
    asks: dict[str, Ask] = {}
    for name, text in xmark_queries().items():
        asks[name] = partial(engine.query, text, folder / f"{name}.xml")
        if name in BY_HAND:
            asks[f"{name} {HAND}"] = partial(engine.by_hand, name, folder / f"{name} {HAND}.xml")
    for key, outcome in all_asked(asks, folder, settings.runs, settings.patience).items():
        name, _, way = key.partition(" ")
        outcomes[name][way or NAME] = outcome
        settings.tell(f"  {name} {way or NAME}: {_told(outcome)}")
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
        asks = {
            name: partial(running.query, text, folder / f"{name}.xml")
            for name, text in xmark_queries().items()
        }
        hopeless = stopped.get(peer.name, {})
        found = all_asked(asks, folder, settings.runs, settings.patience, hopeless)
        for name, outcome in found.items():
            outcomes[name][peer.name] = outcome
            settings.tell(f"  {name} {peer.name}: {_told(outcome)}")
        running.stop()
    for way, seconds in loads.items():
        yield Row(TABLE, LOADING, way, seconds, "s", auction.factor)
    judges = [*(peer.name for peer in here), HAND, NAME]
    for name, several in outcomes.items():
        yield from rows_of(TABLE, name, auction.factor, several, judges)


def _ratios(rows: Sequence[Row], factors: Sequence[str]) -> Iterator[Row]:
    """Ours divided by theirs, with our goals at factors 0.1, 1 and 10."""
    by = {(row.name, row.way, row.at): row for row in rows}
    for factor in factors:
        load = {way: by.get((LOADING, way, factor)) for way in ("SaxonC-HE", "BaseX")}
        means: dict[str, list[float]] = {}
        for name in xmark_queries():
            ours = by.get((name, NAME, factor))
            for way in (HAND, "SaxonC-HE", "BaseX", "RumbleDB"):
                theirs = by.get((name, way, factor))
                if ours is None or theirs is None:
                    continue
                smaller = by.get((name, way, _tenth(factor)))
                parse = load["SaxonC-HE"]
                extra = (parse.value or 0.0) if way == "SaxonC-HE" and parse else 0.0
                title = f"{NAME} / {way}" + (", parsing included" if extra else "")
                row = ratio(ours, theirs, title, _goal(name, way, factor, theirs, smaller), extra)
                if row is not None and row.value is not None:
                    if way != HAND or name in COMPARED:
                        means.setdefault(title, []).append(row.value)
                    yield row
        for title, values in means.items():
            goal = _mean_goal(title, factor)
            mean = geometric_mean(values)
            yield Row(TABLE, "geometric mean", title, mean, "x", factor, goal=goal)
        ours, theirs = by.get((LOADING, NAME, factor)), load["BaseX"]
        if ours and theirs:
            row = ratio(ours, theirs, f"{NAME} / BaseX", Goal(1) if factor == "1" else None)
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


def _mean_goal(title: str, factor: str) -> Goal | None:
    if title == f"{NAME} / {HAND}" and factor == "1":
        return Goal(1.2)
    return Goal(1) if title == f"{NAME} / RumbleDB" and factor == "0.1" else None


def _tenth(factor: str) -> str:
    return f"{float(factor) / 10:g}"


def _growth(before: Auction, after: Auction, ours: Sequence[Row]) -> Iterator[Row]:
    """The growth of a query's time divided by the growth of the data."""
    by = {(row.name, row.at): row for row in ours if row.way == NAME}
    data = after.megabytes / before.megabytes
    for name in (LOADING, *xmark_queries()):
        small, large = by.get((name, before.factor)), by.get((name, after.factor))
        if small is None or large is None:
            continue
        row = ratio(large, small, f"{NAME}, growth of time / of data", Goal(1))
        if row is not None and row.value is not None:
            at = f"{before.factor} to {after.factor}"
            yield replace(row, at=at, value=row.value / data)


def _cold(
    settings: Settings, here: Sequence[Peer], stopped: Mapping[str, Mapping[str, Row]]
) -> Iterator[Row]:
    auction = settings.data.auction(settings.cold_factor)
    folder = settings.scratch("cold")
    starts: dict[str, Callable[..., float]] = {NAME: partial(own.cold, settings.cache)}
    starts |= {peer.name: peer.cold for peer in here}
    # once, because it is the same for every query
    starts[BARE] = partial(own.cold, settings.scratch("not prepared"))
    for name, text in xmark_queries().items():
        if name not in settings.cold_queries:
            continue
        outcomes: dict[str, Outcome] = {}
        answer = folder / f"{name}.xml"
        for way, start in starts.items():
            query = partial(start, auction.document, text, answer)
            slow = stopped.get(way, {}).get(name)
            if slow is not None and float(slow.at) <= float(auction.factor):
                outcomes[way] = Outcome(stopped=slow.value)
            else:
                # a single first run: that is what cold means
                outcomes[way] = asked(query, answer, 0, max(settings.patience, 60.0))
            settings.tell(f"  {name} {way}, cold: {_told(outcomes[way])}")
        starts.pop(BARE, None)
        judges = [*(peer.name for peer in here), NAME]
        yield from rows_of(TABLE, f"{name}, cold", auction.factor, outcomes, judges)


def _told(outcome: Outcome) -> str:
    if outcome.timing is not None:
        return f"{outcome.timing.seconds:.3f} s"
    return f"more than {outcome.stopped:g} s" if outcome.stopped else outcome.failure
