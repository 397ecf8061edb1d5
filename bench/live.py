"""Continuous queries as their users have them: from a server to what is seen, through Spark.

A process of its own has a session whose store holds the history. The time from publishing to
display is that from the moment a fragment is due at the server to the call of a sink with the
update that it makes.
"""

from __future__ import annotations

import asyncio
import re
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from bench.continuous import TAGS, fillers_of, history_end, traffic
from bench.measure import clocked
from bench.peers.process import LOADING, Worker, serve
from xcql.continuous import Update
from xcql.publish.addresses import TcpAddress, parse_address
from xcql.publish.play import Pace
from xcql.publish.tcp import broadcast

QUERY = (
    'for $t in stream("credit")//transaction where $t/amount > 1000'
    ' return <large id="{$t/@id}">{$t/amount/text()}</large>'
)
_ID = re.compile(r'id="(\d+)"')
_AMOUNT = re.compile(r"<amount>(\d+)<")


class Live:
    """The process, asked from outside."""

    def __init__(self, folder: Path) -> None:
        self._worker = Worker("bench.live", folder / "live.log")
        self._store = folder / "store"

    def ingest(self, size: int) -> float:
        """The seconds of taking a history of so many transactions into the store."""
        seconds: float = self._worker.ask("ingest", LOADING, store=str(self._store), size=size)[
            "seconds"
        ]
        return seconds

    def query(self, text: str, runs: int) -> float:
        """The seconds of a query over the store, the best of some after a first."""
        seconds: float = self._worker.ask("query", LOADING, text=text, runs=runs)["seconds"]
        return seconds

    def watch(self, count: int, rate: float | None) -> dict[str, float]:
        """Milliseconds from publishing to display of so many fragments, at so many a second."""
        return self._worker.ask("watch", LOADING, count=count, rate=rate)

    def stop(self) -> None:
        self._worker.stop()


class _Process:
    """What runs in the process."""

    def __init__(self) -> None:
        self._session: Any = None
        self._size = 0

    def ingest(self, store: str, size: int) -> dict[str, float]:
        from xcql import Session

        self._session, self._size = Session(store), size
        fragments = Path(store).with_name("fragments.xml")
        with fragments.open("w", encoding="utf-8") as file:
            file.writelines(f"{one.text}\n" for one in islice(traffic(size), fillers_of(size)))
        return {
            "seconds": clocked(lambda: self._session.ingest(fragments, stream="credit", tags=TAGS))
        }

    def query(self, text: str, runs: int) -> dict[str, float]:
        now = history_end(self._size)
        times = [clocked(self._session.query(text, now=now).to_xml) for _ in range(runs + 1)]
        return {"seconds": min(times[1:])}

    def watch(self, count: int, rate: float | None) -> dict[str, float]:
        arrivals = islice(traffic(self._size), fillers_of(self._size), None)
        published = [arrival.text for arrival in islice(arrivals, count)]
        expected = sum(1 for one in published if int(_AMOUNT.findall(one)[0]) > 1000)
        return _Watching(self._session, self._size, published, rate).measured(expected)


class _Watching:
    """One server and one client of it."""

    def __init__(
        self, session: Any, first: int, published: Sequence[str], rate: float | None
    ) -> None:
        self._session = session
        self._first = first
        self._published = published
        self._rate = rate
        self._begun = 0.0
        self._delays: list[float] = []
        self._last = 0.0

    def measured(self, expected: int) -> dict[str, float]:
        address: list[str] = []
        is_open = threading.Event()

        def tell(text: str) -> None:
            address.append(text.removeprefix("listening at "))
            is_open.set()

        to = parse_address("tcp://localhost:0")
        assert isinstance(to, TcpAddress)
        pace = Pace(self._rate)
        server = threading.Thread(
            target=lambda: asyncio.run(broadcast(to, self._fragments(), pace, 1, tell)), daemon=True
        )
        server.start()
        is_open.wait()
        with self._session.stream(
            QUERY, source=address[0], tags=TAGS, now="event", sink=self._displayed
        ) as running:
            while len(self._delays) < expected:
                if running.await_termination(0.05):
                    raise RuntimeError("the continuous query ended")
        percentiles = statistics.quantiles(self._delays, n=100)
        return {
            "p50": percentiles[49] * 1000,
            "p99": percentiles[98] * 1000,
            "rate": len(self._published) / (self._last - self._begun),
        }

    def _fragments(self) -> Iterator[bytes]:
        self._begun = time.monotonic()
        for fragment in self._published:
            yield fragment.encode()

    def _displayed(self, updates: Sequence[Update]) -> None:
        self._last = time.monotonic()
        for update in updates:
            found = _ID.search(update.item or "")
            number = int(found[1]) - self._first if found else -1
            if number >= 0:
                due = self._begun + (number / self._rate if self._rate else 0.0)
                self._delays.append(self._last - due)


if __name__ == "__main__":
    _process = _Process()
    serve(ingest=_process.ingest, query=_process.query, watch=_process.watch)
