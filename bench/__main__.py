"""Run every benchmark, or those named: `python -m bench xmark stages`.

Figures are written to `bench/results/` as JSON as they are measured; a run of all benchmarks also
writes `bench/REPORT.md`. Progress goes to standard error.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from bench.data import Data, xmark_queries
from bench.machine import ROOT, commit, facts
from bench.own import prepare
from bench.peers import peers
from bench.peers.process import LOADING, Failed, TooLong
from bench.report import write_report
from bench.rows import Results, Row, write_results
from bench.settings import Limit, Settings

BENCHMARKS = (
    "stages",
    "figure4",
    "xmark",
    "loading",
    "versions",
    "continuous",
    "eighty",
    "recursive",
)
RESULTS = ROOT / "bench" / "results"
_IN_MEMORY = "it holds the document as a tree in memory"


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="xcql-bench-") as name:
        settings = _settings(arguments, Path(name))
        path = arguments.output or RESULTS / _name(arguments.names)
        results = _run(arguments.names or BENCHMARKS, settings, path)
    print(_shown(results))
    if not arguments.names and arguments.output is None:
        print(f"report: {write_report(results, path, ROOT / 'bench')}")
    print(f"figures: {path}")


def _name(names: list[str]) -> str:
    """A run of some benchmarks does not overwrite a run of all."""
    return "-".join([f"{datetime.now(UTC):%Y-%m-%d}", commit(), *names]) + ".json"


def _run(names: Sequence[str], settings: Settings, path: Path) -> Results:
    machine = facts()
    results = Results(machine, _told(settings))
    os.environ["XDG_CACHE_HOME"] = str(settings.cache)
    # cold starts are measured with it, and it makes every start in the run faster
    if "xmark" in names:
        settings.tell("xcqlc prepare")
        try:
            prepare(settings.cache, LOADING)
        except (Failed, TooLong) as problem:
            results = results.without(f"xcqlc prepare is left out: {problem}")
    for peer in peers():
        reason = peer.unavailable()
        if reason is None:
            machine[peer.name] = peer.version()
        else:
            results = results.without(f"{peer.name} is left out: {reason}")
            settings.tell(results.left_out[-1])
        limit = settings.limits.get(peer.name)
        if reason is None and limit is not None:
            where = f"at more than factor {limit.factor:g}"
            results = results.without(f"{peer.name} is left out {where}: {limit.reason}")
    for name in names:
        settings.tell(name)
        try:
            for row in import_module(f"bench.{name}").run(settings):
                results = results.with_rows([row])
                write_results(results, path)
        except Exception as problem:  # continue with the other benchmarks
            traceback.print_exc()
            results = results.without(f"{name} broke off: {type(problem).__name__}: {problem}")
            write_results(results, path)
    settings.tell("done")
    return results


def _settings(arguments: argparse.Namespace, folder: Path) -> Settings:
    data = Data((arguments.data or folder / "data").absolute(), arguments.generated)
    settings = Settings(data, folder, patience=arguments.patience, runs=arguments.runs)
    if arguments.full:
        settings = replace(
            settings,
            factors=("0.1", "1", "10"),
            figure_factors=("0.0", "0.05", "0.1", "1", "10"),
            history_factor="0.1",
            cold_queries=tuple(xmark_queries()),
            cold_factor="1",
            histories=(100_000, 1_000_000),
            limits={name: Limit(1, _IN_MEMORY) for name in ("SaxonC-HE", "RumbleDB")},
        )
    if arguments.factors:
        factors = tuple(arguments.factors)
        settings = replace(
            settings,
            factors=factors,
            figure_factors=factors,
            eighty_factors=factors,
            catalogue_size=factors[0],
            cold_factor=factors[0],
            history_factor=factors[0],
        )
    if arguments.histories:
        settings = replace(settings, histories=tuple(arguments.histories))
    if arguments.versions:
        settings = replace(settings, versions=tuple(arguments.versions))
    return settings


def _told(settings: Settings) -> dict[str, object]:
    return {
        "factors": list(settings.factors),
        "history_factor": settings.history_factor,
        "runs": settings.runs,
        "patience": settings.patience,
        "documents": "generated" if settings.data.generated else "XMark's where they are there",
    }


def _shown(results: Results) -> str:
    return "\n".join(map(_line, results.rows))


def _line(row: Row) -> str:
    goal = f"   {row.verdict}: {row.goal}" if row.goal else ""
    note = row.voided or row.remark
    return f"{row.title:<60} {row.shown:>10} {row.unit:<5}{goal}{f'   {note}' if note else ''}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(BENCHMARKS)}; all by default")
    parser.add_argument("--full", action="store_true", help="factor 10, all cold starts")
    parser.add_argument(
        "--factors", nargs="+", metavar="F", help="use these sizes instead: 0.01 0.1"
    )
    parser.add_argument("--versions", nargs="+", type=int, metavar="N", help="numbers of versions")
    parser.add_argument(
        "--histories",
        nargs="+",
        type=int,
        metavar="N",
        help="numbers of transactions before triggers",
    )
    parser.add_argument(
        "--runs", type=int, default=3, help="take the best of this many (%(default)s)"
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=60.0,
        help="time limit for a query, in seconds (%(default)s)",
    )
    parser.add_argument(
        "--generated",
        action="store_true",
        help="use generated documents, even if XMark's are available",
    )
    parser.add_argument(
        "--data", type=Path, help="a folder to keep the documents in for the next run"
    )
    parser.add_argument(
        "--output", type=Path, help="where to write the figures; no report is written"
    )
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in BENCHMARKS:
            parser.error(f"unknown benchmark '{name}'; choose from {', '.join(BENCHMARKS)}")
    return arguments


if __name__ == "__main__":
    main()
