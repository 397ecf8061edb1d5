"""Table (e): how long a query takes from its text to a plan, stage by stage; the smallest query.

A comment makes the text different each time, so that no cache helps. From outside, Spark's work is
only visible up to its analysis (when there is a DataFrame) and up to its physical plan (when it is
explained, including the printing). DuckDB plans and answers in one call: for the embedded engine,
the last stage is the first asking as a whole.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import xcql
from bench.contest import asked, asked_again, by_way
from bench.data import xmark_queries
from bench.machine import ROOT
from bench.measure import Timing, best_of, clocked
from bench.own import ENGINES, NAME, STAGES, TEXT_TO_PLAN, XCQLC, Own
from bench.rows import Goal, Row
from bench.settings import Settings

TABLE = "e"
_SMALLEST = "1 + 1"
# how often all queries are planned before any is measured
_WARMING = 4


def run(settings: Settings) -> Iterator[Row]:
    yield from _parsing(settings)
    yield from _processes(settings)
    for way in ENGINES:
        settings.tell(f"text to plan: {way}")
        yield from _engine(settings, Own(way, settings.scratch(f"stages-{ENGINES[way]}")))


def _engine(settings: Settings, engine: Own) -> Iterator[Row]:
    engine.load(settings.data.auction(settings.factors[0]))
    # a warm session: Java compiles code that has run often
    for turn in range(_WARMING):
        for text in xmark_queries().values():
            engine.stages(f"{text}(: warming {turn} :)", settings.patience)
    for name, text in xmark_queries().items():
        yield from _stages(settings, engine, name, text)
    answer = settings.scratch("stages") / "answer.xml"
    query, limits = engine.asks(_SMALLEST, answer), (settings.runs, settings.patience)
    first = asked(query.first, answer, *limits)
    again = asked_again(first, query, answer, *limits)
    for way, outcome in by_way(engine.name, first, again).items():
        if outcome.timing is not None:
            yield _milliseconds(_SMALLEST, way, outcome.timing, Goal(150))
    engine.stop()


def _stages(settings: Settings, engine: Own, name: str, text: str) -> Iterator[Row]:
    runs = [
        engine.stages(f"{text}(: {number} :)", settings.patience) for number in range(settings.runs)
    ]
    for stage in STAGES[engine.name]:
        goal = Goal(150) if stage == TEXT_TO_PLAN else None
        yield _milliseconds(name, stage, Timing.of(run[stage] for run in runs), goal)


def _milliseconds(name: str, way: str, timing: Timing, goal: Goal | None) -> Row:
    return Row(TABLE, name, way, timing.seconds * 1000, "ms", "", timing.spread, goal)


def _parsing(settings: Settings) -> Iterator[Row]:
    settings.tell("parsing")
    texts = xmark_queries().values()
    times = [_parse(text, settings.runs).seconds * 1000 for text in texts]
    yield Row(TABLE, "parse", "median", statistics.median(times), "ms", goal=Goal(10))
    yield Row(TABLE, "parse", "slowest", max(times), "ms")
    first = Timing.of(_first_parse() for _ in range(settings.runs))
    yield Row(
        TABLE,
        "parse",
        "a process's first, with imports",
        first.seconds,
        "s",
        "",
        first.spread,
        Goal(0.4),
    )
    shapes: dict[str, Callable[[int], str]] = {
        "terms": lambda n: " + ".join(f"$x{i}" for i in range(n)),
        "clauses": lambda n: " ".join(f"let $x{i} := a/b[{i}]" for i in range(n)) + " return 1",
        "steps": lambda n: "/".join(["step"] * n),
    }
    for name, shape in shapes.items():
        short, long = (_parse(shape(n), settings.runs).seconds for n in (300, 3000))
        title = f"3000 {name} / 300"
        yield Row(TABLE, "parse", title, long / short, "x", goal=Goal(15))


def _processes(settings: Settings) -> Iterator[Row]:
    """Commands that need no engine, with the start of the process."""
    for arguments, goal in ((("--help",), Goal(0.3)), (("eval", "-e", "1+1"), Goal(0.5))):
        command = [*XCQLC, *arguments]
        timing = best_of(partial(_process, command), settings.runs)
        name = f"xcqlc {' '.join(arguments)}"
        yield Row(TABLE, name, NAME, timing.seconds, "s", "", timing.spread, goal)


def _process(command: Sequence[str]) -> float:
    return clocked(lambda: subprocess.run(command, capture_output=True, cwd=ROOT, check=True))


def _parse(text: str, runs: int) -> Timing:
    return best_of(lambda: clocked(lambda: xcql.parse(text)), runs)


def _first_parse() -> float:
    program = (
        "import time; start = time.perf_counter(); import xcql;"
        " xcql.parse('for $a in stream(\"credit\")//account?[now] return <a>{ $a/@id }</a>');"
        " print(time.perf_counter() - start)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, cwd=ROOT, check=True, text=True
    )
    return float(done.stdout)
