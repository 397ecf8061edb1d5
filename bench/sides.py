"""The eighty queries, and how peers are asked them: over a document, or over fragments."""

from __future__ import annotations

from pathlib import Path

import xcql
from bench.asks import Asks
from bench.data import NOW, Auction, sixty_queries, xmark_queries
from bench.market import STREAM as MARKET
from bench.peers.peer import Engine, Peer, asks
from xcql.translate.standalone import standalone


def eighty_queries() -> dict[str, str]:
    """All of them, by their names: `q01` to `q20`, then `01-…` to `60-…`."""
    return xmark_queries() | sixty_queries()


def is_over_time(text: str) -> bool:
    """Whether a query is over the market, which has a history, and not over a document."""
    return f'stream("{MARKET}")' in text


class PeerSide:
    """A peer: one process with the document, and one with the fragments of the market."""

    def __init__(self, peer: Peer, auction: Auction, market: Auction, folder: Path) -> None:
        self.name = peer.name
        self._peer, self._auction, self._market = peer, auction, market
        self._folder = folder
        self._engines: dict[bool, Engine] = {}

    def asks(self, text: str, answer: Path) -> Asks:
        over_time = is_over_time(text)
        engine = self._loaded(over_time)
        return asks(engine, standard(text, self._market) if over_time else text, answer)

    def stop(self) -> None:
        for engine in self._engines.values():
            engine.stop()

    def _loaded(self, over_time: bool) -> Engine:
        if over_time not in self._engines:
            data = self._market if over_time else self._auction
            folder = self._folder / f"{self.name}-{over_time}"
            folder.mkdir()
            self._engines[over_time] = self._peer.start(folder)
            self._engines[over_time].load(data.document)
        return self._engines[over_time]


def standard(text: str, market: Auction) -> str:
    """A query over the market as XQuery over its fragments, for peers.

    `stream("auction")` is whatever a peer has loaded.
    """
    tags = {MARKET: market.tags}
    whole = standalone(xcql.translate(text, tags), {MARKET: market.fragments}, tags, NOW).text
    return whole.replace(f'fn:doc("{market.fragments.as_uri()}")', 'stream("auction")')
