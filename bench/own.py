"""Our own engines in separate processes, like the peers; and the hand-written queries.

The process of an engine has one session, like `xcqlc shell`. A query is timed from its text to its
answer. Only the process of the Spark engine starts Spark.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.asks import Asks
from bench.data import NOW, VALID, Auction, Catalogue
from bench.measure import PeakMemory, clocked
from bench.peers.process import LOADING, Ended, TooLong, Worker, run_command, serve

EMBEDDED, SPARK = "ours, embedded", "ours, Spark"
# our participants in the tables, and their names for `xcqlc --engine`
ENGINES = {EMBEDDED: "embedded", SPARK: "spark"}
# for what no engine takes part in: parsing, fragmenting, ingest
NAME = "ours"
XCQLC = (sys.executable, "-m", "xcql.cli.main")
TEXT_TO_PLAN = "Spark: text to plan"
# what `Own.stages` measures, in order
STAGES = {
    EMBEDDED: ("parse", "check and compile to DuckDB's SQL", "embedded: first asked"),
    SPARK: (
        "check and compile to Spark's SQL",
        "Spark: parse and analyse",
        "Spark: optimise and plan",
        TEXT_TO_PLAN,
    ),
}


@dataclass(frozen=True, slots=True)
class Native:
    """How much of a query was answered by SQL: `whole`, `partly`, or by the `evaluator` alone.

    `reasons` say why not all of it; `sql` is the length of the SQL in bytes.
    """

    part: str
    reasons: tuple[str, ...]
    sql: int


class Own:
    """An engine of ours with a store; if it was stopped, it restarts and finds its store."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder
        self._worker: Worker | None = None
        self.store = folder / "store"

    def start(self) -> None:
        """Start the process, and Spark if it is the engine; neither is part of any figure."""
        if self._worker is None:
            self._worker = Worker("bench.own", self._folder / f"{ENGINES[self.name]}.log")
            self._worker.ask("open", LOADING, store=str(self.store), name=self.name)

    def load(self, data: Auction | Catalogue, stream: str = "auction") -> float:
        """Ingest fragments into a new store."""
        shutil.rmtree(self.store, ignore_errors=True)
        self._asked("open", LOADING, store=str(self.store), name=self.name)
        return self.add(data, stream)

    def add(self, data: Auction | Catalogue, stream: str) -> float:
        """Ingest fragments as another stream of the store."""
        return self._seconds(
            "load",
            LOADING,
            stream=stream,
            fragments=str(data.fragments),
            tags=str(data.tags_file),
        )

    def cut(self, auction: Auction) -> float:
        """Cut a document into fragments, and do nothing else with them."""
        return self._seconds(
            "cut",
            LOADING,
            document=str(auction.document),
            tags=str(auction.tags_file),
            fragments=str(self._folder / "fragments.xml"),
        )

    def query(self, text: str, answer: Path, patience: float, strategy: str = "auto") -> float:
        return self._seconds("query", patience, text=text, answer=str(answer), strategy=strategy)

    def first(self, text: str, answer: Path, patience: float, strategy: str = "auto") -> float:
        """A query that the session does not know, although it is warm."""
        return self._seconds("first", patience, text=text, answer=str(answer), strategy=strategy)

    def asks(self, text: str, answer: Path, strategy: str = "auto") -> Asks:
        """The two ways to ask it."""
        first, again = partial(self.first, text, answer), partial(self.query, text, answer)
        return Asks(partial(first, strategy=strategy), partial(again, strategy=strategy))

    def native(self) -> Native:
        """How the last query was answered."""
        reply = self._asked("native", LOADING)
        return Native(reply["part"], tuple(reply["reasons"]), reply["sql"])

    def by_hand(self, name: str, answer: Path, patience: float) -> float:
        """A query of `bench.by_hand` over the same store, in the same Spark session."""
        return self._seconds("by_hand", patience, name=name, answer=str(answer))

    def stages(self, text: str, patience: float) -> dict[str, float]:
        """How long each of the engine's `STAGES` takes."""
        times: list[float] = self._asked("stages", patience, text=text)["seconds"]
        return dict(zip(STAGES[self.name], times, strict=True))

    def temporalize(self, output: Path, runs: int, patience: float) -> tuple[list[float], float]:
        """The seconds of several runs of temporalize, and its peak memory."""
        reply = self._asked("temporalize", patience, output=str(output), runs=runs)
        return reply["seconds"], reply["peak"]

    def stop(self) -> None:
        if self._worker is not None:
            self._worker.stop()
            self._worker = None

    def _seconds(self, what: str, patience: float, **arguments: Any) -> float:
        seconds: float = self._asked(what, patience, **arguments)["seconds"]
        return seconds

    def _asked(self, what: str, patience: float, **arguments: Any) -> dict[str, Any]:
        self.start()
        assert self._worker is not None
        try:
            return self._worker.ask(what, patience, **arguments)
        except (TooLong, Ended):
            self._worker = None
            raise


def prepare(cache: Path, patience: float) -> None:
    """Make Spark start faster for users of this cache, like `xcqlc prepare`."""
    log = cache / "prepare.log"
    run_command([*XCQLC, "prepare"], cache / "prepared", log, patience, XDG_CACHE_HOME=str(cache))


def cold(name: str, cache: Path, data: Path, text: str, answer: Path, patience: float) -> float:
    """From data on disk to the answer, with the start of the process and of the engine.

    The data are a document, which has to be ingested first, or the folder of a store.
    """
    query = answer.with_suffix(".xcql")
    query.write_text(text)
    given = ["--store" if data.is_dir() else "--doc", str(data)]
    command = [*XCQLC, "run", "-q", str(query), *given, "--engine", ENGINES[name], "--now", NOW]
    log = answer.with_suffix(".log")
    return run_command(command, answer, log, patience, XDG_CACHE_HOME=str(cache))


class _Process:
    """The code inside the process."""

    def __init__(self) -> None:
        self._name = ""
        self._session: Any = None
        self._answer: Any = None
        self._tables: Any = None

    def open(self, store: str, name: str) -> None:
        self._name = name
        self._session = self._opened(store)
        self._tables = None

    def _opened(self, store: str) -> Any:
        from xcql import Session

        if self._name == EMBEDDED:
            return Session(store, engine="embedded")
        # the embedded engine's process does not import Spark
        from xcql_runtime.spark.start import local_session

        return Session(store, local_session(), engine="spark")

    def load(self, stream: str, fragments: str, tags: str) -> dict[str, float]:
        ingest = self._session.ingest
        return {"seconds": clocked(lambda: ingest(fragments, stream=stream, tags=tags))}

    def cut(self, document: str, tags: str, fragments: str) -> dict[str, float]:
        from xcql.model.documents import read_document
        from xcql.model.fragmenter import fragment
        from xcql.model.tags import read_tags

        def write() -> None:
            with open(document, "rb") as source, open(fragments, "wb", 1 << 20) as target:
                fragment(read_document(source, document), read_tags(tags), VALID, target)

        return {"seconds": clocked(write)}

    def query(self, text: str, answer: str, strategy: str = "auto") -> dict[str, float]:
        """The seconds from the text of a query to its answer."""
        items: list[str] = []

        def ask() -> None:
            self._answer = self._session.query(text, strategy, NOW)
            items.extend(self._answer.to_xml())

        seconds = clocked(ask)
        _write(items, answer)
        return {"seconds": seconds}

    def first(self, text: str, answer: str, strategy: str = "auto") -> dict[str, float]:
        self._forget_queries()
        return self.query(text, answer, strategy)

    def _forget_queries(self) -> None:
        """The session stays warm: its tables stay open, and DuckDB or Spark keeps running.

        Another text is not enough to be new, because Spark's plans are kept by their SQL.
        """
        session = self._session
        caches = [session._checked, session._compiled, session._shapes]
        if self._name == SPARK:
            caches.append(session._engines.spark._frames)
        for cache in caches:
            cache.clear()

    def native(self) -> dict[str, Any]:
        answer = self._answer
        if answer.strategy == "caq":
            return {"part": "evaluator", "reasons": answer.reasons, "sql": 0}
        left = re.findall(r"evaluated row by row[^:\n]*(?::\d+)?: (.*)", answer.explain())
        return {
            "part": "partly" if left else "whole",
            "reasons": list(dict.fromkeys(left)),
            "sql": len(answer.explain("sql").encode()),
        }

    def by_hand(self, name: str, answer: str) -> dict[str, float]:
        from bench.by_hand import QUERIES, tables

        if self._tables is None:
            tags = self._session.tags("auction")
            self._tables = tables(self._session.spark, str(self._session.store), "auction", tags)
        known, items = self._tables, list[str]()
        seconds = clocked(
            lambda: items.extend(row["item"] for row in QUERIES[name](known).collect())
        )
        _write(items, answer)
        return {"seconds": seconds}

    def stages(self, text: str) -> dict[str, list[float]]:
        import xcql

        parsed = clocked(lambda: xcql.parse(text))
        # a different text each time, so that no cache helps
        compiled = clocked(lambda: self._session.query(f"{text}(: one :)", now=NOW))
        compiled = max(0.0, compiled - parsed)
        if self._name == EMBEDDED:
            return {"seconds": [parsed, compiled, self.first(text, os.devnull)["seconds"]]}
        answer = self._session.query(f"{text}(: two :)", now=NOW)
        analysed = clocked(lambda: answer.df)
        with contextlib.redirect_stdout(io.StringIO()):
            planned = clocked(answer.df.explain)
        # users build on a DataFrame: Spark optimises only the final query
        return {"seconds": [compiled, analysed, planned, parsed + compiled + analysed]}

    def temporalize(self, output: str, runs: int) -> dict[str, Any]:
        def write() -> None:
            with open(output, "w", encoding="utf-8") as file:
                file.writelines(self._session.temporalize("auction", now=NOW))

        with PeakMemory() as memory:
            write()
        return {"seconds": [clocked(write) for _ in range(runs)], "peak": memory.peak}


def _write(items: Iterable[str], answer: str) -> None:
    with open(answer, "w", encoding="utf-8") as file:
        file.writelines(item + "\n" for item in items)


if __name__ == "__main__":
    _process = _Process()
    serve(
        open=_process.open,
        load=_process.load,
        cut=_process.cut,
        query=_process.query,
        first=_process.first,
        native=_process.native,
        by_hand=_process.by_hand,
        stages=_process.stages,
        temporalize=_process.temporalize,
    )
