"""Our own engine in a separate process, like the peers; and the hand-written queries.

The process has one session, like `xcqlc shell`. A query is timed from its text to its answer.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.data import NOW, VALID, Auction
from bench.measure import clocked
from bench.peers.process import LOADING, Ended, TooLong, Worker, run_command, serve

NAME = "ours"
_XCQLC = (sys.executable, "-m", "xcql.cli.main")
# the stages from text to plan, in order
STAGES = (
    "parse",
    "check and compile to SQL",
    "Spark: parse and analyse",
    "Spark: optimise and plan",
)


class Own:
    """Our engine with a store; if it was stopped, it restarts and finds its store."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._worker: Worker | None = None
        self.store = folder / "store"

    def start(self) -> None:
        """Start Spark, which is not part of any figure."""
        self._asked("open", LOADING, store=str(self.store))

    def load(self, auction: Auction) -> float:
        """Ingest fragments into a new store."""
        shutil.rmtree(self.store, ignore_errors=True)
        reply = self._asked(
            "load",
            LOADING,
            store=str(self.store),
            fragments=str(auction.fragments),
            tags=str(auction.tags_file),
        )
        seconds: float = reply["seconds"]
        return seconds

    def cut(self, auction: Auction) -> float:
        """Cut a document into fragments, and do nothing else with them."""
        seconds: float = self._asked(
            "cut",
            LOADING,
            document=str(auction.document),
            tags=str(auction.tags_file),
            fragments=str(self._folder / "fragments.xml"),
        )["seconds"]
        return seconds

    def query(self, text: str, answer: Path, patience: float, strategy: str = "auto") -> float:
        reply = self._asked("query", patience, text=text, answer=str(answer), strategy=strategy)
        seconds: float = reply["seconds"]
        return seconds

    def by_hand(self, name: str, answer: Path, patience: float) -> float:
        """A query of `bench.by_hand` over the same store, in the same session."""
        seconds: float = self._asked("by_hand", patience, name=name, answer=str(answer))["seconds"]
        return seconds

    def stages(self, text: str, patience: float) -> list[float]:
        """How long each of `STAGES` takes."""
        stages: list[float] = self._asked("stages", patience, text=text)["seconds"]
        return stages

    def stop(self) -> None:
        if self._worker is not None:
            self._worker.stop()
            self._worker = None

    def _asked(self, what: str, patience: float, **arguments: Any) -> dict[str, Any]:
        if self._worker is None:
            self._worker = Worker("bench.own", self._folder / "own.log")
            if what != "load" and self.store.exists():
                self._worker.ask("open", LOADING, store=str(self.store))
        try:
            return self._worker.ask(what, patience, **arguments)
        except (TooLong, Ended):
            self._worker = None
            raise


def prepare(cache: Path, patience: float) -> None:
    """Make Spark start faster for users of this cache, like `xcqlc prepare`."""
    log = cache / "prepare.log"
    run_command([*_XCQLC, "prepare"], cache / "prepared", log, patience, XDG_CACHE_HOME=str(cache))


def cold(cache: Path, document: Path, text: str, answer: Path, patience: float) -> float:
    """From a document on disk to the answer, with the start of the process and of Spark."""
    query = answer.with_suffix(".xcql")
    query.write_text(text)
    command = [*_XCQLC, "run", "-q", str(query), "--doc", str(document), "--now", NOW]
    log = answer.with_suffix(".log")
    return run_command(command, answer, log, patience, XDG_CACHE_HOME=str(cache))


class _Process:
    """The code inside the process."""

    def __init__(self) -> None:
        from xcql_runtime.spark.start import local_session

        self._spark = local_session()
        self._session: Any = None
        self._tables: Any = None

    def open(self, store: str) -> None:
        from xcql import Session

        self._session = Session(store, self._spark)
        self._tables = None

    def load(self, store: str, fragments: str, tags: str) -> dict[str, float]:
        self.open(store)
        ingest = self._session.ingest
        return {"seconds": clocked(lambda: ingest(fragments, stream="auction", tags=tags))}

    def cut(self, document: str, tags: str, fragments: str) -> dict[str, float]:
        from xcql.model.documents import read_document
        from xcql.model.fragmenter import fragment
        from xcql.model.tags import read_tags

        def write() -> None:
            with open(document, "rb") as source, open(fragments, "wb", 1 << 20) as target:
                fragment(read_document(source, document), read_tags(tags), VALID, target)

        return {"seconds": clocked(write)}

    def query(self, text: str, answer: str, strategy: str) -> dict[str, float]:
        items: list[str] = []
        seconds = clocked(lambda: items.extend(self._session.query(text, strategy, NOW).to_xml()))
        _write(items, answer)
        return {"seconds": seconds}

    def by_hand(self, name: str, answer: str) -> dict[str, float]:
        from bench.by_hand import QUERIES, tables

        if self._tables is None:
            tags = self._session.tags("auction")
            self._tables = tables(self._spark, str(self._session.store), "auction", tags)
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
        answer = self._session.query(f"{text}(: two :)", now=NOW)
        analysed = clocked(lambda: answer.df)
        with contextlib.redirect_stdout(io.StringIO()):
            planned = clocked(answer.df.explain)
        return {"seconds": [parsed, max(0.0, compiled - parsed), analysed, planned]}


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
        by_hand=_process.by_hand,
        stages=_process.stages,
    )
