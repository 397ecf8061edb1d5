"""Table (f): continuous queries. The cost of a trigger as the history grows, and of recomputing.

Credit-card traffic: accounts with ten transactions each, a history of some number of transactions,
then triggers of a thousand, in the engine by itself. "Anew" is the same answer over all fragments:
by the engine, after the longest history that fits into memory; and by Spark, after the longest of
all; its store ingests the thousand before the query. Through Spark, `bench.live` measures what a
user sees.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from bench.measure import clocked
from bench.rows import Goal, Row
from bench.settings import Settings
from xcql.continuous import Arrival, Continuous, open_continuous
from xcql.model.tags import parse_tags

TAGS = parse_tags("""
<stream:structure>
  <tag type="snapshot" id="1" name="creditAccounts">
    <tag type="temporal" id="2" name="account">
      <tag type="snapshot" id="3" name="customer"/>
      <tag type="temporal" id="4" name="creditLimit"/>
      <tag type="event" id="5" name="transaction">
        <tag type="snapshot" id="6" name="vendor"/>
        <tag type="snapshot" id="8" name="amount"/>
      </tag>
    </tag>
  </tag>
</stream:structure>""")

QUERIES = {
    "selection": (
        'for $t in stream("credit")//transaction where $t/amount > 1900'
        ' return <large id="{$t/@id}">{$t/amount/text()}</large>'
    ),
    "by account": (
        'for $a in stream("credit")//account where sum($a/transaction/amount) > 12000'
        ' return <busy id="{$a/@id}">{sum($a/transaction/amount)}</busy>'
    ),
    "sliding window": (
        'for $a in stream("credit")//account'
        " let $spent := sum($a/transaction?[now-PT1M, now]/amount)"
        ' where $spent > 1000 return <now id="{$a/@id}">{$spent}</now>'
    ),
}
TABLE = "f"
BATCH = 1000
# the number of triggers that fill caches after a start, and of those that are measured
WARMING, TRIGGERS = 3, 20
_START = datetime(2004, 1, 1)
_STEP = timedelta(milliseconds=20)
# arrivals of the history per batch
_AT_ONCE = 100_000
# the engine recomputes after at most this many transactions: the whole view is in memory
_ANEW_AT_MOST = 100_000
_TENFOLD = Goal(10, least=True)
# the history after which a trigger should take a tenth of the time of a new Spark query
_LONG = 1_000_000
# from publishing to display: number of fragments, and rate per second, or as fast as possible
PUBLISHED = ((2_000, 200.0), (5_000, 1000.0), (10_000, None))


def traffic(size: int, seed: int = 1) -> Iterator[Arrival]:
    """Accounts for a history of this many transactions, then endless transactions."""
    chance = random.Random(seed)
    accounts = max(1, size // 10)

    def filler(id: str, tsid: int, at: datetime, element: str) -> Arrival:
        time = at.isoformat()
        text = f'<filler id="{id}" tsid="{tsid}" validTime="{time}">{element}</filler>'
        return Arrival("credit", text)

    holes = "".join(f'<hole id="a{number}" tsid="2"/>' for number in range(accounts))
    yield filler("0", 1, _START, f"<creditAccounts>{holes}</creditAccounts>")
    for number in range(accounts):
        inside = f'<hole id="l{number}" tsid="4"/><hole id="t{number}" tsid="5"/>'
        customer = f"<customer>Customer {number}</customer>"
        account = f'<account id="{number}">{customer}{inside}</account>'
        yield filler(f"a{number}", 2, _START, account)
        limit = f"<creditLimit>{chance.randrange(1, 20) * 500}</creditLimit>"
        yield filler(f"l{number}", 4, _START, limit)
    for number in itertools.count():
        vendor = f"<vendor>Vendor {chance.randrange(50)}</vendor>"
        amount = f"<amount>{chance.randrange(1, 2000)}</amount>"
        element = f'<transaction id="{number}">{vendor}{amount}</transaction>'
        yield filler(f"t{chance.randrange(accounts)}", 5, time_of(number), element)


def fillers_of(size: int) -> int:
    """The number of fillers in a history of this many transactions."""
    return size + 2 * max(1, size // 10) + 1


def time_of(number: int) -> datetime:
    """The time of a transaction."""
    return _START + number * _STEP


def load(query: str, size: int, folder: Path) -> float:
    """Load a history of this many transactions; return the fillers per second."""
    arrivals = islice(traffic(size), fillers_of(size))
    begun = time.perf_counter()
    with _opened(query, folder) as continuous:
        for batch in itertools.count():
            part = list(islice(arrivals, _AT_ONCE))
            if not part:
                break
            continuous.advance(batch, part, None)
    return fillers_of(size) / (time.perf_counter() - begun)


def measure(
    query: str, folders: Mapping[int, Path], anew: int | None
) -> dict[int, dict[str, float]]:
    """Milliseconds of triggers over loaded histories of these sizes, in turns.

    After the history of `anew` transactions, the answer is also recomputed.
    """
    # wait until the histories are on disk
    os.sync()
    with ExitStack() as stack:
        running = {size: stack.enter_context(_opened(query, at)) for size, at in folders.items()}
        triggers = {size: _triggers(of, size) for size, of in running.items()}
        for _ in range(WARMING):
            for of in triggers.values():
                next(of)
        times = [{size: next(of) for size, of in triggers.items()} for _ in range(TRIGGERS)]
        found = {size: _percentiles([several[size] for several in times]) for size in folders}
        if anew is not None:
            found[anew]["anew"] = clocked(running[anew].recomputed) * 1000
    return found


def _triggers(continuous: Continuous, size: int) -> Iterator[float]:
    """The milliseconds of one trigger after the other."""
    arrivals = islice(traffic(size), fillers_of(size), None)
    assert continuous.last_batch is not None
    for batch in itertools.count(continuous.last_batch + 1):
        part = list(islice(arrivals, BATCH))
        yield clocked(partial(continuous.advance, batch, part, None)) * 1000


def _percentiles(times: Sequence[float]) -> dict[str, float]:
    return {
        "p50": statistics.median(times),
        "p99": max(times),
        "rate": BATCH * len(times) / sum(times) * 1000,
    }


def _opened(query: str, folder: Path) -> Continuous:
    return open_continuous(query, {"credit": TAGS}, folder, now="event")


def run(settings: Settings) -> Iterator[Row]:
    found: dict[tuple[str, int], dict[str, float]] = {}
    sizes = settings.histories
    first, last = sizes[0], sizes[-1]
    recomputed = max((size for size in sizes if size <= _ANEW_AT_MOST), default=None)
    folders = {
        (name, size): settings.scratch(f"state-{name}-{size}") for size in sizes for name in QUERIES
    }
    for size in sizes:
        settings.tell(f"continuous: history of {size:,} transactions")
        # each with a processor of its own; triggers are measured afterwards, alone
        with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
            into = [folders[name, size] for name in QUERIES]
            rates = pool.map(load, QUERIES.values(), [size] * len(QUERIES), into)
            for name, rate in zip(QUERIES, rates, strict=True):
                yield Row(TABLE, name, "history, fillers a second", rate, "/s", f"{size:,}")
    for name, query in QUERIES.items():
        settings.tell(f"continuous: {name}")
        of_query = {size: folders[name, size] for size in sizes}
        for size, figures in measure(query, of_query, recomputed).items():
            at = f"{size:,}"
            found[name, size] = figures
            yield Row(TABLE, name, "trigger, p50", figures["p50"], "ms", at)
            yield Row(TABLE, name, "trigger, p99", figures["p99"], "ms", at)
            yield Row(TABLE, name, "sustained, fillers a second", figures["rate"], "/s", at)
            if "anew" in figures:
                gained = figures["anew"] / figures["p50"]
                yield Row(TABLE, name, "anew / trigger", gained, "x", at, goal=_TENFOLD)
        for folder in of_query.values():
            shutil.rmtree(folder)
    for name in QUERIES:
        ratio = found[name, last]["p50"] / found[name, first]["p50"]
        yield Row(TABLE, name, "growth", ratio, "x", f"{first:,} to {last:,}", goal=Goal(1.3))
    yield from _through_spark(settings, last, {name: found[name, last] for name in QUERIES})


def _through_spark(
    settings: Settings, size: int, triggers: Mapping[str, Mapping[str, float]]
) -> Iterator[Row]:
    """The same queries recomputed on Spark; and what a user sees of a server, through Spark."""
    from bench.live import Live

    at = f"{size:,}"
    settings.tell(f"continuous: through Spark, {at} transactions")
    live = Live(settings.scratch(f"live-{size}"))
    try:
        live.ingest(size)
        for name, query in QUERIES.items():
            trigger = triggers[name]["p50"]
            asked = live.query(query, settings.runs) * 1000
            yield Row(TABLE, name, "asked of Spark, no trigger", asked, "ms", at)
            anew = live.query_after_append(query, BATCH, settings.runs) * 1000
            yield Row(TABLE, name, "anew on Spark", anew, "ms", at)
            goal = _TENFOLD if size >= _LONG else None
            yield Row(TABLE, name, "anew on Spark / trigger", anew / trigger, "x", at, goal=goal)
        for count, rate in PUBLISHED:
            settings.tell(f"continuous: {count:,} published")
            seen = live.watch(count, rate)
            name = f"{rate:,.0f} a second" if rate else "as fast as can be"
            if rate:
                for part in ("p50", "p99"):
                    yield Row(TABLE, name, f"publish to display, {part}", seen[part], "ms", at)
            else:
                yield Row(TABLE, name, "sustained, fillers a second", seen["rate"], "/s", at)
    finally:
        live.stop()
