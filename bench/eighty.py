"""Table (g): eighty queries: XMark's twenty, and sixty over all that XQuery has and over time.

Each is first asked and asked again, on both of our engines, over data that are cut coarsely and
finely, and by the peers. Over time, peers are given the translation to XQuery, over the fragments.

`python -m bench.eighty --factor 0.1 --fragmentation fine --queries q01,07 --peers BaseX` prints one
line per query as it is measured: how long it takes when it is first asked and when it is asked
again, how much of it is SQL, and how long the SQL is. It is for use while optimising.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from bench.asks import AGAIN, FIRST, Asks
from bench.contest import ANY_ORDER, Outcome, by_way, first_and_again, ratio, rows_of
from bench.data import FRAGMENTATIONS, Data, Fragmentation
from bench.market import STREAM as MARKET
from bench.measure import geometric_mean
from bench.native import PARTS, native_rows, noted
from bench.own import EMBEDDED, ENGINES, Native, Own
from bench.peers import peers
from bench.peers.basex import BaseX
from bench.peers.peer import Peer
from bench.peers.process import Failed, TooLong
from bench.peers.saxon import Saxon
from bench.rows import Goal, Row, significant
from bench.settings import Settings
from bench.sides import PeerSide, eighty_queries

TABLE = "g"
# what ours is compared with, and who knows the right answer first
THEIRS = (Saxon.name, BaseX.name)
MEAN, LARGEST = "geometric mean", "largest"
# the greatest geometric mean of ours / BaseX, by factor
_MEANS = {"0.1": Goal(1), "1": Goal(0.5)}
# seconds: where BaseX takes less, a ratio says little, and ours is to take at most so much itself
_LITTLE, _LITTLE_FOR_US = 0.005, Goal(0.02)

# by query: first asked, and asked again
Both = dict[str, tuple[Outcome, Outcome | None]]


def run(settings: Settings) -> Iterator[Row]:
    here = [peer for peer in peers() if peer.name in THEIRS and peer.unavailable() is None]
    stopped: dict[str, set[str]] = {}
    for factor in settings.eighty_factors:
        able = [peer for peer in here if settings.asks(peer.name, factor)]
        rows = list(_measured(settings, factor, able, stopped))
        for row in rows:
            if row.bound == "more":
                stopped.setdefault(row.way, set()).add(row.name)
        yield from rows
        yield from ratios(rows, factor)


def _measured(
    settings: Settings, factor: str, here: Sequence[Peer], stopped: Mapping[str, Collection[str]]
) -> Iterator[Row]:
    outcomes: dict[str, dict[str, Outcome]] = {name: {} for name in eighty_queries()}

    def add(way: str, both: Both) -> None:
        for name, (first, again) in both.items():
            outcomes[name] |= by_way(way, first, again)

    for cut, name in product(FRAGMENTATIONS.values(), ENGINES):
        way = f"{name}, {cut.name}"
        settings.tell(f"the eighty at {factor}: {way}")
        engine = Own(name, settings.scratch(f"eighty-{factor}/{cut.name}-{ENGINES[name]}"))
        both, natives = _ours(settings, engine, factor, cut, stopped.get(way + FIRST, ()))
        add(way, both)
        # it hardly depends on the size
        if factor == settings.eighty_factors[0]:
            yield from native_rows(TABLE, natives, way)
    for peer in here:
        settings.tell(f"the eighty at {factor}: {peer.name}")
        add(peer.name, _theirs(settings, peer, factor, stopped.get(peer.name + FIRST, ())))
    judges = [*(name + FIRST for name in THEIRS), f"{EMBEDDED}, coarse{FIRST}"]
    for name, several in outcomes.items():
        theirs = several.get(BaseX.name + FIRST)
        for row in rows_of(TABLE, name, factor, several, judges):
            ours = row.way.startswith(EMBEDDED) and row.way.endswith(FIRST)
            goal = _LITTLE_FOR_US if ours and theirs and _is_little(theirs) else None
            yield replace(row, goal=goal)


def _ours(
    settings: Settings, engine: Own, factor: str, cut: Fragmentation, hopeless: Collection[str]
) -> tuple[Both, dict[str, Native]]:
    """Ask an engine of ours; also, how much of each query was answered by SQL."""
    engine.load(settings.data.auction(factor, cut))
    engine.add(settings.data.market(factor, cut), MARKET)
    folder = settings.scratch(f"eighty-{factor}")
    natives: dict[str, Native] = {}
    asks = {
        name: noted(engine, engine.asks(text, folder / f"{name}.xml"), name, natives)
        for name, text in eighty_queries().items()
    }
    both = first_and_again(asks, folder, settings.runs, settings.patience, hopeless)
    engine.stop()
    return both, natives


def _theirs(settings: Settings, peer: Peer, factor: str, hopeless: Collection[str]) -> Both:
    folder = settings.scratch(f"eighty-{factor}")
    auction, market = settings.data.auction(factor), settings.data.market(factor)
    side = PeerSide(peer, auction, market, folder)
    try:
        asks = {
            name: side.asks(text, folder / f"{name}.xml") for name, text in eighty_queries().items()
        }
        return first_and_again(asks, folder, settings.runs, settings.patience, hopeless)
    except (Failed, TooLong) as problem:
        settings.tell(f"  it cannot load the data: {problem}")
        return {}
    finally:
        side.stop()


def ratios(rows: Sequence[Row], factor: str) -> Iterator[Row]:
    """Ours divided by theirs, and finely by coarsely cut, with our goals."""
    by = {(row.name, row.way): row for row in rows if row.unit == "s"}
    ours = [f"{name}, {cut}" for name, cut in product(ENGINES, FRAGMENTATIONS)]
    for way, peer, when in product(ours, THEIRS, (FIRST, AGAIN)):
        title = f"{way} / {peer}{when}"
        has_goals = way.startswith(EMBEDDED) and peer == BaseX.name and when == FIRST
        found = []
        for name in eighty_queries():
            one, other = by.get((name, way + when)), by.get((name, peer + when))
            if one is not None and other is not None:
                is_little = other.value is not None and other.value < _LITTLE
                goal = Goal(3) if has_goals and not is_little else None
                found.append(ratio(one, other, title, goal))
        yield from _with_summary(found, title, factor, _MEANS.get(factor) if has_goals else None)
    for engine, when in product(ENGINES, (FIRST, AGAIN)):
        coarse, fine = (f"{engine}, {cut}{when}" for cut in FRAGMENTATIONS)
        title = f"{engine}, fine / coarse{when}"
        goal = Goal(2) if engine == EMBEDDED and when == FIRST else None
        found = [
            ratio(by[name, fine], by[name, coarse], title, goal)
            for name in eighty_queries()
            if (name, fine) in by and (name, coarse) in by
        ]
        yield from _with_summary(found, title, factor)


def _with_summary(
    found: Sequence[Row | None], title: str, factor: str, goal: Goal | None = None
) -> Iterator[Row]:
    """Ratios, their geometric mean, and the largest of them."""
    known = [row for row in found if row is not None]
    yield from known
    if known:
        mean = geometric_mean(row.value or 0.0 for row in known)
        yield Row(TABLE, MEAN, title, mean, "x", factor, goal=goal)
        largest = max(known, key=lambda row: row.value or 0.0)
        yield replace(largest, name=LARGEST, goal=None, remark=f"of {largest.name}")


def _is_little(outcome: Outcome) -> bool:
    return outcome.timing is not None and outcome.timing.seconds < _LITTLE


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
        engine.add(market, MARKET)
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
    print(", ".join(f"{part}: {parts.count(part)}" for part in PARTS))


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
