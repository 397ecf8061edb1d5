"""Continuous queries as users see them: from a server to the display, through Spark.

A separate process has a session whose store holds the history. The time from publishing to
display is from the moment a fragment is due at the server to the call of a sink with the
resulting update.
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

from bench.continuous import TAGS, fillers_of, time_of, traffic
from bench.measure import clocked
from bench.peers.process import LOADING, Worker, serve
from xcql.continuous import Arrival, Update
from xcql.publish.addresses import TcpAddress
from xcql.publish.play import Pace
from xcql.publish.tcp import broadcast

QUERY = (
    'for $t in stream("credit")//transaction where $t/amount > 1000'
    ' return <large id="{$t/@id}">{$t/amount/text()}</large>'
)
# the same for every server: a checkpoint continues with the source it started with
PORT = 43217
_ID = re.compile(r'id="(\d+)"')
_AMOUNT = re.compile(r"<amount>(\d+)<")


class Live:
    """The process, as seen from outside."""

    def __init__(self, folder: Path) -> None:
        self._worker = Worker("bench.live", folder / "live.log")
        self._store = folder / "store"

    def ingest(self, size: int) -> float:
        """Ingest a history of this many transactions; return the seconds."""
        seconds: float = self._worker.ask("ingest", LOADING, store=str(self._store), size=size)[
            "seconds"
        ]
        return seconds

    def query(self, text: str, runs: int) -> float:
        """The seconds of a query over the store, the best of several after a first run."""
        seconds: float = self._worker.ask("query", LOADING, text=text, runs=runs)["seconds"]
        return seconds

    def query_after_append(self, text: str, count: int, runs: int) -> float:
        """Ingest this many more fragments and query again; the best seconds of several runs."""
        asked = {"text": text, "count": count, "runs": runs}
        seconds: float = self._worker.ask("query_after_append", LOADING, **asked)["seconds"]
        return seconds

    def watch(self, count: int, rate: float | None) -> dict[str, float]:
        """Milliseconds from publishing to display, for this many fragments at this rate."""
        return self._worker.ask("watch", 2 * LOADING, count=count, rate=rate)

    def stop(self) -> None:
        self._worker.stop()


class _Process:
    """The code inside the process: the traffic continues from one request to the next."""

    def __init__(self) -> None:
        self._session: Any = None
        self._folder = Path()
        self._traffic: Iterator[Arrival] = iter(())
        self._size = 0

    def ingest(self, store: str, size: int) -> dict[str, float]:
        from xcql import Session

        self._session, self._folder = Session(store, engine="spark"), Path(store).parent
        self._traffic, self._size = traffic(size), size
        return {"seconds": self._taken_in(fillers_of(size))}

    def _taken_in(self, count: int) -> float:
        fragments = self._folder / "fragments.xml"
        with fragments.open("w", encoding="utf-8") as file:
            file.writelines(f"{one.text}\n" for one in islice(self._traffic, count))
        return clocked(lambda: self._session.ingest(fragments, stream="credit", tags=TAGS))

    def query(self, text: str, runs: int) -> dict[str, float]:
        return {"seconds": min([self._asked(text) for _ in range(runs + 1)][1:])}

    def _asked(self, text: str) -> float:
        now = time_of(self._size - 1)
        return clocked(lambda: self._session.query(text, now=now).to_xml())

    def query_after_append(self, text: str, count: int, runs: int) -> dict[str, float]:
        times = []
        for _ in range(runs):
            taking_in = self._taken_in(count)
            self._size += count
            times.append(taking_in + self._asked(text))
        return {"seconds": min(times)}

    def watch(self, count: int, rate: float | None) -> dict[str, float]:
        published = [arrival.text for arrival in islice(self._traffic, count)]
        watching = _Watching(self._size, published, rate)
        self._size += count
        return watching.measured(self._session, self._folder / "checkpoint")


class _Watching:
    """One server and one client."""

    def __init__(self, first: int, published: Sequence[str], rate: float | None) -> None:
        self._first = first
        self._published = published
        self._rate = rate
        self._begun = 0.0
        self._delays: list[float] = []
        self._last = 0.0

    def measured(self, session: Any, checkpoint: Path) -> dict[str, float]:
        """The measurements of a query that continues from one measurement to the next."""
        expected = sum(1 for one in self._published if int(_AMOUNT.findall(one)[0]) > 1000)
        to = TcpAddress("localhost", PORT)
        pace, is_open = Pace(self._rate), threading.Event()
        serving = broadcast(to, self._fragments(), pace, 1, lambda _: is_open.set())
        server = threading.Thread(target=lambda: asyncio.run(serving), daemon=True)
        server.start()
        is_open.wait()
        with session.stream(
            QUERY,
            source=str(to),
            tags=TAGS,
            now="event",
            sink=self._displayed,
            checkpoint=checkpoint,
        ) as running:
            while len(self._delays) < expected:
                if running.await_termination(0.05):
                    raise RuntimeError("the continuous query ended")
        server.join()
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
    serve(
        ingest=_process.ingest,
        query=_process.query,
        query_after_append=_process.query_after_append,
        watch=_process.watch,
    )
