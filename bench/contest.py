"""Several engines and one query: the times are valid because the answers agree."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal
from xml.parsers.expat import ExpatError

from bench.answers import Digest, digest
from bench.asks import AGAIN, FIRST, Ask, Asks
from bench.measure import Timing, best_of
from bench.peers.process import Failed, TooLong
from bench.rows import Goal, Row

# XQuery leaves their order open: distinct values, and items with equal keys
ANY_ORDER = frozenset({"q10", "q19"})
# a first run of this many seconds is not much longer than the next one
_SLOW = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a query: a time and a digest of the answer, or why there is none."""

    timing: Timing | None = None
    digest: Digest | None = None
    stopped: float | None = None
    failure: str = ""


def asked(query: Ask, answer: Path, runs: int, patience: float) -> Outcome:
    """Run a query until the best time is known; write the answer to a file."""

    def ask() -> Outcome:
        first = query(patience)
        said = digest(answer)
        further = 0 if _is_long(first, patience) else runs
        return Outcome(best_of(lambda: query(patience), further, first), said)

    return _told(ask, answer, patience)


def all_asked(
    queries: Mapping[str, Ask],
    folder: Path,
    runs: int,
    patience: float,
    hopeless: Collection[str] = (),
) -> dict[str, Outcome]:
    """Run all queries of an engine, and the fast ones twice, before measuring any of them.

    So the engine is warm when it is measured. Queries that are `hopeless` do not run: they took
    too long with less data.
    """
    outcomes: dict[str, Outcome] = {}
    for name, query in queries.items():
        if name in hopeless:
            outcomes[name] = Outcome(stopped=patience)
            continue
        if not any(outcome.timing for outcome in outcomes.values()):
            # the first query of an engine takes longer than a long query
            asked(query, folder / f"{name}.xml", 0, patience)
        outcomes[name] = asked(query, folder / f"{name}.xml", 0, patience)
    for name, found in outcomes.items():
        if found.timing is not None and found.timing.seconds < _SLOW:
            asked(queries[name], folder / f"{name}.xml", 0, patience)
    for name, found in outcomes.items():
        if found.timing is not None:
            outcomes[name] = _measured(found, queries[name], folder / f"{name}.xml", runs, patience)
    return outcomes


def first_and_again(
    queries: Mapping[str, Asks],
    folder: Path,
    runs: int,
    patience: float,
    hopeless: Collection[str] = (),
) -> dict[str, tuple[Outcome, Outcome | None]]:
    """The outcomes of queries when they are first asked, and when they are asked again.

    A query that took too long is not asked again.
    """
    firsts = {name: asks.first for name, asks in queries.items()}
    return {
        name: (first, asked_again(first, queries[name], folder / f"{name}.xml", runs, patience))
        for name, first in all_asked(firsts, folder, runs, patience, hopeless).items()
    }


def asked_again(
    first: Outcome, query: Asks, answer: Path, runs: int, patience: float
) -> Outcome | None:
    """The outcome of a query when it is asked again, unless it took too long before."""
    if first.timing is None or _is_long(first.timing.seconds, patience):
        return None
    # of these runs, the first does not count: it makes the query known
    return _told(partial(_repeated, first, query.again, runs, patience), answer, patience)


def by_way(way: str, first: Outcome, again: Outcome | None) -> dict[str, Outcome]:
    """The outcomes of an engine by the ways of their rows."""
    return {way + FIRST: first} | ({way + AGAIN: again} if again else {})


def _repeated(
    found: Outcome, query: Ask, runs: int, patience: float, first: float | None = None
) -> Outcome:
    return replace(found, timing=best_of(lambda: query(patience), runs, first))


def _measured(found: Outcome, query: Ask, answer: Path, runs: int, patience: float) -> Outcome:
    """A query that ran once before, with the best time of several runs."""
    assert found.timing is not None
    seconds = found.timing.seconds
    if _is_long(seconds, patience):
        return found
    first = seconds if seconds >= _SLOW else None

    return _told(partial(_repeated, found, query, runs, patience, first), answer, patience)


def _is_long(seconds: float, patience: float) -> bool:
    """Whether one run is enough. A short run of an engine that has just started is not."""
    return seconds >= max(5.0, patience / 3)


def _told(ask: Callable[[], Outcome], answer: Path, patience: float) -> Outcome:
    try:
        return ask()
    except TooLong:
        return Outcome(stopped=patience)
    except (Failed, ExpatError) as problem:
        return Outcome(failure=_first_line(str(problem)))
    finally:
        answer.unlink(missing_ok=True)


def rows_of(
    table: str, name: str, at: str, outcomes: Mapping[str, Outcome], judges: Sequence[str]
) -> list[Row]:
    """A row for each engine that ran; a wrong answer voids its row.

    The answer of the first judge that has one counts as right.
    """
    answered = {way: outcome.digest for way, outcome in outcomes.items() if outcome.digest}
    judge = next((way for way in judges if way in answered), None)
    rows = []
    for way, outcome in outcomes.items():
        if outcome.stopped is not None:
            row = Row(table, name, way, outcome.stopped, "s", at, bound="more")
        elif outcome.timing is None or outcome.digest is None:
            row = Row(table, name, way, None, "s", at, voided=f"failed: {outcome.failure}")
        else:
            timing = outcome.timing
            voided = remark = ""
            if judge is None or len(answered) == 1:
                remark = "nobody to compare the answer with"
            elif not outcome.digest.says_the_same(answered[judge], name[:3] in ANY_ORDER):
                voided = f"its answer is not that of {judge}"
            row = Row(table, name, way, timing.seconds, "s", at, timing.spread)
            row = replace(row, voided=voided, remark=remark)
        rows.append(row)
    return rows


def ratio(ours: Row, theirs: Row, way: str, goal: Goal | None, extra: float = 0.0) -> Row | None:
    """Our time divided by theirs (plus something added to theirs); nothing if either is void."""
    if ours.value is None or theirs.value is None or ours.voided or theirs.voided:
        return None
    if ours.bound and theirs.bound:
        return None
    bound: Literal["", "more", "less"] = ours.bound or ("less" if theirs.bound else "")
    value, spread = ours.value / (theirs.value + extra), ours.spread + theirs.spread
    return Row(ours.table, ours.name, way, value, "x", ours.at, spread, goal, bound)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "it says nothing")[
        :160
    ]
