"""The session: a store and a Spark session, and what can be asked of them.

>>> import xcql
>>> session = xcql.Session(store="auctions")                                     # doctest: +SKIP
>>> print(session.ingest("bids.xml", stream="bids", tags="tags.xml"))            # doctest: +SKIP
stream 'bids': 120 filler; commit 1
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcql.model.tags import TagStructure, read_tags
from xcql.model.time import parse_time, to_utc
from xcql_runtime.spark import local_session
from xcql_runtime.store.commit import read_state
from xcql_runtime.store.ingest import IngestSummary, ingest
from xcql_runtime.store.temporalize import temporalize
from xcql_runtime.store.upkeep import StoreInfo, compact, info, vacuum, verify
from xcql_runtime.workers import on_workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Session:
    """A store, opened with a Spark session.

    `spark` is used as it is and left as it was; without it a quiet local session is made when
    one is needed.
    """

    def __init__(self, store: str | Path, spark: SparkSession | None = None) -> None:
        self.store = Path(store)
        self._spark = spark

    @property
    def spark(self) -> SparkSession:
        if self._spark is None:
            self._spark = local_session()
        return self._spark

    def ingest(
        self,
        path: str | Path | Iterable[str | Path],
        *,
        stream: str,
        tags: TagStructure | str | Path | None = None,
        strict: bool = False,
    ) -> IngestSummary:
        """Add fragment files (files, folders, gzip) to a stream; all of them, or none.

        `tags` is a Tag Structure or the path of one; a stream that is there already has one. With
        `strict` a fragment that is no good is an error, and the store is left as it was.
        """
        if isinstance(tags, str | Path):
            tags = read_tags(tags)

        return ingest(self.store, path, stream, tags, self._run, self._cores, strict)

    def _run(self, function: Callable[[Any], Any], pieces: Sequence[Any]) -> list[Any]:
        """Run pieces of work on Spark, which is started when there is some."""
        return on_workers(self.spark)(function, pieces)

    @property
    def _cores(self) -> int:
        return os.cpu_count() or 1

    def temporalize(
        self, stream: str, *, at: str | datetime | None = None, now: str | datetime | None = None
    ) -> Iterator[str]:
        """The temporal view of a stream as XML, or the document as it was `at` an instant.

        The text comes in pieces, to be written one after the other: it may be large.
        """
        return temporalize(
            self.spark,
            self.store,
            read_state(self.store).stream(stream),
            _instant(now) or datetime.now(UTC).replace(tzinfo=None),
            _instant(at),
        )

    def info(self) -> StoreInfo:
        """What the store holds; prints as a table."""
        return info(self.store)

    def verify(self) -> list[str]:
        """What is wrong with the store, one sentence each; nothing, if all is well."""
        return verify(self.store)

    def compact(self) -> int:
        """Put the rows of every table into few files; how many files went."""
        return compact(self.store, self._run, self._cores)

    def vacuum(self) -> int:
        """Remove what no longer belongs to the store; how many files went."""
        return vacuum(self.store)

    def streams(self) -> list[str]:
        """The names of the store's streams, sorted."""
        return sorted(read_state(self.store).streams)

    def tags(self, stream: str) -> TagStructure:
        """The Tag Structure of a stream."""
        return read_state(self.store).stream(stream).tags


def _instant(time: str | datetime | None) -> datetime | None:
    if isinstance(time, str):
        return parse_time(time)
    return None if time is None else to_utc(time)
