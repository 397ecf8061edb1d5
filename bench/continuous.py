"""Table (f): continuous queries. What a trigger costs as the history grows, and computing anew.

Credit-card traffic: accounts with ten transactions each, a history of so many transactions, then
triggers of a thousand. `XCQL_BENCH_HISTORIES=100000,1000000` measures larger histories than the
default ones; a million fillers take minutes to take in.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

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
    "count": 'count(stream("credit")//transaction[amount > 1000])',
}
HISTORIES = tuple(
    int(size) for size in os.environ.get("XCQL_BENCH_HISTORIES", "20000,100000").split(",")
)
TABLE = "f"
BATCH = 1000
TRIGGERS = 20
_START = datetime(2004, 1, 1)


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
    number = 0
    while True:
        at = _START + timedelta(milliseconds=20 * number)
        vendor = f"<vendor>Vendor {chance.randrange(50)}</vendor>"
        amount = f"<amount>{chance.randrange(1, 2000)}</amount>"
        element = f'<transaction id="{number}">{vendor}{amount}</transaction>'
        yield filler(f"t{chance.randrange(accounts)}", 5, at, element)
        number += 1


def measure(query: str, size: int) -> dict[str, float]:
    """Milliseconds of loading and of triggers, over a history of so many transactions."""
    arrivals = traffic(size)
    fillers = size + 2 * max(1, size // 10) + 1
    with (
        tempfile.TemporaryDirectory() as folder,
        open_continuous(query, {"credit": TAGS}, Path(folder), now="event") as continuous,
    ):
        begun = time.perf_counter()
        batch = 0
        for begin in range(0, fillers, 20_000):
            part = list(islice(arrivals, min(20_000, fillers - begin)))
            continuous.advance(batch, part, None)
            batch += 1
        loaded = time.perf_counter() - begun
        times = []
        for number in range(TRIGGERS):
            part = list(islice(arrivals, BATCH))
            begun = time.perf_counter()
            continuous.advance(batch + number, part, None)
            times.append((time.perf_counter() - begun) * 1000)
        anew = _anew(continuous)
    times.sort()
    return {
        "load": fillers / loaded,
        "p50": statistics.median(times),
        "p99": times[-1],
        "rate": BATCH * TRIGGERS / sum(times) * 1000,
        "anew": anew,
    }


def _anew(continuous: Continuous) -> float:
    """Milliseconds of computing the whole answer anew."""
    begun = time.perf_counter()
    continuous.computed_anew()
    return (time.perf_counter() - begun) * 1000


def run(settings: Settings) -> Iterator[Row]:
    for name, query in QUERIES.items():
        found: dict[int, dict[str, float]] = {}
        for size in HISTORIES:
            settings.tell(f"continuous: {name}, {size:,} transactions")
            figures = found[size] = measure(query, size)
            at = f"{size:,}"
            yield Row(TABLE, name, "history, fillers a second", figures["load"], "/s", at)
            yield Row(TABLE, name, "trigger, p50", figures["p50"], "ms", at, goal=Goal(300))
            yield Row(TABLE, name, "trigger, p99", figures["p99"], "ms", at)
            yield Row(TABLE, name, "sustained, fillers a second", figures["rate"], "/s", at)
            gained = figures["anew"] / figures["p50"]
            yield Row(TABLE, name, "anew / trigger", gained, "x", at, goal=Goal(10, least=True))
        first, last = HISTORIES[0], HISTORIES[-1]
        ratio = found[last]["p50"] / found[first]["p50"]
        yield Row(TABLE, name, "growth", ratio, "x", f"{first:,} to {last:,}", goal=Goal(1.3))
