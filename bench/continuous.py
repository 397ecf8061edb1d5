"""Table (f): continuous queries. What a trigger costs as the history grows, and computing anew.

Credit-card traffic: accounts with ten transactions each, a history of so many transactions, then
triggers of a thousand, in the engine by itself. Anew is the same answer over all fragments: by the
engine, which is asked for the smallest history alone, for it takes minutes; and by Spark, over a
store that has them. Through Spark, `bench.live` measures what a user sees.
"""

from __future__ import annotations

import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path

from bench.measure import clocked
from bench.rows import Goal, Row
from bench.settings import Settings
from xcql.continuous import Arrival, open_continuous
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
    "count": 'count(stream("credit")//transaction[amount > 1000])',
}
TABLE = "f"
BATCH = 1000
TRIGGERS = 20
_START = datetime(2004, 1, 1)
_STEP = timedelta(milliseconds=20)
# so many arrivals of the history are taken in at once
_AT_ONCE = 100_000
_TENFOLD = Goal(10, least=True)
# from publishing to display: so many fragments, at so many a second or as fast as they are taken
PUBLISHED = ((4_000, 200.0), (10_000, 1000.0), (20_000, None))


def traffic(size: int, seed: int = 1) -> Iterator[Arrival]:
    """Accounts for a history of so many transactions, then transactions without end."""
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
        at = _START + number * _STEP
        vendor = f"<vendor>Vendor {chance.randrange(50)}</vendor>"
        amount = f"<amount>{chance.randrange(1, 2000)}</amount>"
        element = f'<transaction id="{number}">{vendor}{amount}</transaction>'
        yield filler(f"t{chance.randrange(accounts)}", 5, at, element)


def fillers_of(size: int) -> int:
    """How many fillers the history of so many transactions has."""
    return size + 2 * max(1, size // 10) + 1


def history_end(size: int) -> datetime:
    """When the last transaction of a history is."""
    return _START + (size - 1) * _STEP


def measure(query: str, size: int, anew: bool) -> dict[str, float]:
    """Milliseconds of loading and of triggers, over a history of so many transactions."""
    arrivals = traffic(size)
    fillers = fillers_of(size)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_continuous(query, {"credit": TAGS}, Path(folder), now="event") as continuous,
    ):
        begun = time.perf_counter()
        batch = 0
        for begin in range(0, fillers, _AT_ONCE):
            part = list(islice(arrivals, min(_AT_ONCE, fillers - begin)))
            continuous.advance(batch, part, None)
            batch += 1
        loaded = time.perf_counter() - begun
        times = []
        for number in range(TRIGGERS):
            part = list(islice(arrivals, BATCH))
            trigger = partial(continuous.advance, batch + number, part, None)
            times.append(clocked(trigger) * 1000)
        found = {
            "load": fillers / loaded,
            "p50": statistics.median(times),
            "p99": max(times),
            "rate": BATCH * TRIGGERS / sum(times) * 1000,
        }
        if anew:
            found["anew"] = clocked(continuous.computed_anew) * 1000
    return found


def run(settings: Settings) -> Iterator[Row]:
    found: dict[tuple[str, int], dict[str, float]] = {}
    first, last = settings.histories[0], settings.histories[-1]
    for name, query in QUERIES.items():
        for size in settings.histories:
            settings.tell(f"continuous: {name}, {size:,} transactions")
            figures = found[name, size] = measure(query, size, anew=size == first)
            at = f"{size:,}"
            yield Row(TABLE, name, "history, fillers a second", figures["load"], "/s", at)
            yield Row(TABLE, name, "trigger, p50", figures["p50"], "ms", at)
            yield Row(TABLE, name, "trigger, p99", figures["p99"], "ms", at)
            yield Row(TABLE, name, "sustained, fillers a second", figures["rate"], "/s", at)
            if "anew" in figures:
                gained = figures["anew"] / figures["p50"]
                yield Row(TABLE, name, "anew / trigger", gained, "x", at, goal=_TENFOLD)
        ratio = found[name, last]["p50"] / found[name, first]["p50"]
        yield Row(TABLE, name, "growth", ratio, "x", f"{first:,} to {last:,}", goal=Goal(1.3))
    for size in settings.histories:
        yield from _through_spark(settings, size, {name: found[name, size] for name in QUERIES})


def _through_spark(
    settings: Settings, size: int, triggers: Mapping[str, Mapping[str, float]]
) -> Iterator[Row]:
    """The same queries anew on Spark; and what is seen of a server, through Spark."""
    from bench.live import Live

    at = f"{size:,}"
    settings.tell(f"continuous: through Spark, {size:,} transactions")
    live = Live(settings.scratch(f"live-{size}"))
    try:
        live.ingest(size)
        for name, query in QUERIES.items():
            anew = live.query(query, settings.runs) * 1000
            yield Row(TABLE, name, "anew on Spark", anew, "ms", at)
            gained = anew / triggers[name]["p50"]
            yield Row(TABLE, name, "anew on Spark / trigger", gained, "x", at, goal=_TENFOLD)
        for count, rate in PUBLISHED:
            seen = live.watch(count, rate)
            name = f"{rate:,.0f} a second" if rate else "as fast as can be"
            if rate:
                for part in ("p50", "p99"):
                    yield Row(TABLE, name, f"publish to display, {part}", seen[part], "ms", at)
            else:
                yield Row(TABLE, name, "sustained, fillers a second", seen["rate"], "/s", at)
    finally:
        live.stop()
