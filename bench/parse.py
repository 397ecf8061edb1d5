"""How long parsing takes: the XMark queries, a process's first query, growth with length."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

import xcql
from bench import Row, show

ROOT = Path(__file__).resolve().parent.parent
XMARK = ROOT.parent / "shared" / "xmark" / "queries"
PAPERS = ROOT / "samples" / "papers"
REPEATS = 7


def run() -> list[Row]:
    folder = XMARK if XMARK.is_dir() else PAPERS
    queries = [path.read_text() for path in sorted(folder.glob("*.xcql"))]
    for query in queries:
        xcql.parse(query)
    times = [_best(query) * 1000 for query in queries]
    name = "XMark" if folder == XMARK else "the papers'"
    return [
        Row(f"parse, median of {name} queries", statistics.median(times), "ms", "< 10"),
        Row(f"parse, slowest of {name} queries", max(times), "ms"),
        Row("first parse of a process, imports included", _first_parse(), "s", "< 0.4"),
        Row("xcqlc --help, process start included", _help(), "s", "< 0.3"),
        *_growth(),
    ]


def _best(query: str) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        xcql.parse(query)
        best = min(best, time.perf_counter() - start)
    return best


def _first_parse() -> float:
    program = (
        "import time; start = time.perf_counter(); import xcql;"
        " xcql.parse('for $a in stream(\"credit\")//account?[now] return <a>{ $a/@id }</a>');"
        " print(time.perf_counter() - start)"
    )
    return min(
        float(subprocess.run([sys.executable, "-c", program], capture_output=True).stdout)
        for _ in range(3)
    )


def _help() -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "xcql.cli.main", "--help"], capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def _growth() -> list[Row]:
    """Ten times the query should take ten times the time."""
    shapes = {
        "terms": lambda n: " + ".join(f"$x{i}" for i in range(n)),
        "clauses": lambda n: " ".join(f"let $x{i} := a/b[{i}]" for i in range(n)) + " return 1",
        "steps": lambda n: "/".join(["step"] * n),
    }
    rows = []
    for name, shape in shapes.items():
        short, long = _best(shape(300)), _best(shape(3000))
        rows.append(Row(f"3000 {name} against 300", long / short, "times", "about 10"))
    return rows


if __name__ == "__main__":
    show("parse", run())
