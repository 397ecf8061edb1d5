"""The eighty queries: XMark's twenty, and sixty over all that XQuery has and over time.

`python -m bench.eighty --factor 0.1 --fragmentation fine --queries q01,07 --peers BaseX` prints one
line per query as it is measured: how long it takes when it is first asked and when it is asked
again, how much of it is SQL, and how long the SQL is. It is for use while optimising.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import xcql
from bench.asks import Asks
from bench.contest import ANY_ORDER, Outcome, first_and_again
from bench.data import FRAGMENTATIONS, NOW, Auction, Data, sixty_queries, xmark_queries
from bench.market import STREAM as MARKET
from bench.measure import geometric_mean
from bench.own import ENGINES, Native, Own
from bench.peers import peers
from bench.peers.peer import Engine, Peer, asks
from bench.rows import significant
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


# the program for use while optimising


def main() -> None:
    arguments = _arguments()
    chosen = tuple(arguments.queries.split(","))
    queries = {name: text for name, text in eighty_queries().items() if name.startswith(chosen)}
    ours = next(name for name, engine in ENGINES.items() if engine == arguments.engine)
    fragmentation = FRAGMENTATIONS[arguments.fragmentation]
    data = Data(arguments.data.absolute())
    auction = data.auction(arguments.factor, fragmentation)
    market = data.market(arguments.factor, fragmentation)
    with tempfile.TemporaryDirectory(prefix="xcql-eighty-") as folder:
        engine = Own(ours, Path(folder))
        engine.load(auction)
        engine.add(MARKET, market)
        sides = [
            PeerSide(peer, auction, market, Path(folder))
            for peer in peers()
            if peer.name in arguments.peers.split(",")
        ]
        _print_lines(engine, sides, queries, Path(folder), arguments)
        engine.stop()
        for side in sides:
            side.stop()


def _print_lines(
    engine: Own,
    sides: Sequence[PeerSide],
    queries: dict[str, str],
    folder: Path,
    arguments: argparse.Namespace,
) -> None:
    ratios: dict[str, list[float]] = {side.name: [] for side in sides}
    parts: list[str] = []
    heads = ["first", "again", *(f"{side.name} {way}" for side in sides for way in ("1st", "2nd"))]
    print(_line(f"[ms], {engine.name}, {arguments.fragmentation}, at {arguments.factor}", heads))
    for name, text in queries.items():
        answer = folder / f"{name}.xml"

        def both(asks: Asks, name: str = name) -> tuple[Outcome, Outcome | None]:
            limits = arguments.runs, arguments.patience
            return first_and_again({name: asks}, folder, *limits)[name]

        found = both(engine.asks(text, answer))
        cells, native = [*map(_milliseconds, found)], None
        if found[0].timing is not None:
            native = engine.native()
            parts.append(native.part)
        for side in sides:
            other = both(side.asks(text, answer))
            cells += map(_milliseconds, other)
            if found[0].timing is not None and other[0].timing is not None:
                ratios[side.name].append(found[0].timing.seconds / other[0].timing.seconds)
            if not _agree(name, found[0], other[0]):
                cells[0] = "WRONG"
        print(_line(name, cells, _told(native, found[0])), flush=True)
    for peer, values in ratios.items():
        mean, most = geometric_mean(values) or 0.0, max(values, default=0.0)
        print(f"{engine.name} / {peer}, first asked: geometric mean {mean:.2f}, at most {most:.2f}")
    print(", ".join(f"{part}: {parts.count(part)}" for part in ("whole", "partly", "evaluator")))


def _line(name: str, cells: Sequence[str], end: str = "SQL") -> str:
    return f"{name:<42}{''.join(f'{cell:>14}' for cell in cells)}  {end}"


def _milliseconds(outcome: Outcome | None) -> str:
    if outcome is None:
        return "-"
    if outcome.timing is not None:
        return significant(outcome.timing.seconds * 1000)
    return f">{significant(outcome.stopped * 1000)}" if outcome.stopped else "failed"


def _told(native: Native | None, outcome: Outcome) -> str:
    if native is None:
        return outcome.failure
    return f"{native.part}, {native.sql:,} bytes  {'; '.join(native.reasons)}"


def _agree(name: str, one: Outcome, other: Outcome) -> bool:
    if one.digest is None or other.digest is None:
        return True
    return one.digest.says_the_same(other.digest, name[:3] in ANY_ORDER)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.eighty", description=__doc__)
    parser.add_argument("--factor", default="0.1", help="the size of the data (%(default)s)")
    parser.add_argument("--fragmentation", choices=FRAGMENTATIONS, default="coarse")
    parser.add_argument("--engine", choices=ENGINES.values(), default="embedded")
    parser.add_argument("--queries", default="", help="the beginnings of their names: q01,07")
    parser.add_argument("--peers", default="", help=", ".join(peer.name for peer in peers()))
    parser.add_argument("--runs", type=int, default=3, help="the best of this many (%(default)s)")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds for a query")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(tempfile.gettempdir()) / "xcql-eighty-data",
        help="where the documents are kept for the next run (%(default)s)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
