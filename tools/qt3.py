"""Runs the QT3 cases of ../shared through the reference evaluator, all or a sample of them.

    make qt3                          all cases, the table, and what has changed
    python tools/qt3.py --sample 500  a fixed sample
    make qt3 ENGINE=embedded          on the embedded engine instead: see qt3_embedded.py

tests/evaluate/qt3_known_failures.txt lists known failures, each with its reason. A case that fails
and is not listed, or is listed and passes, makes the run fail: the list can only shrink.
Other options are passed to ../shared/qt3/run.py.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KNOWN_FAILURES = ROOT / "tests/evaluate/qt3_known_failures.txt"
ADAPTER = ROOT / "tests/evaluate/qt3_adapter.py"


def cases_folder() -> Path | None:
    """The folder of the cases, in ../shared beside the repository; None if it does not exist."""
    folder = ROOT.parent / "shared/qt3"
    return folder if (folder / "run.py").exists() else None


def known_failures() -> dict[str, str]:
    """The cases that are known to fail, with the reason; one `set/name  reason` per line."""
    found = {}
    for line in KNOWN_FAILURES.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, reason = line.split(maxsplit=1)
            found[name] = reason
    return found


def run_cases(folder: Path, *options: str) -> tuple[str, dict[str, Any]]:
    """The runner's table, and its verdicts as data."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        done = subprocess.run(
            [
                sys.executable,
                str(folder / "run.py"),
                str(folder / "open.jsonl.gz"),
                "--engine",
                f"{ADAPTER}:run",
                "--json",
                str(report),
                "--timeout",
                "60",
                *options,
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"},
        )
        if done.returncode != 0:
            raise SystemExit(done.stderr or done.stdout)
        return done.stdout, json.loads(report.read_text(encoding="utf-8"))


def changes(report: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Unexpected failures, and known failures that now pass."""
    known = known_failures()
    new, mended = [], []
    for result in report["results"]:
        name = f"{result['set']}/{result['name']}"
        failed = result["status"] in ("fail", "error")
        if failed and name not in known:
            new.append(f"{name}: {result['note']}")
        elif not failed and name in known:
            mended.append(name)
    return new, mended


def main() -> int:
    folder = cases_folder()
    if folder is None:
        print("skipped: ../shared/qt3 does not exist beside the repository")
        return 0
    if sys.argv[1:3] == ["--engine", "embedded"]:
        from qt3_embedded import main as compare  # it imports the engine

        return compare(folder, sys.argv[3:])
    table, report = run_cases(folder, "--jobs", "2", *sys.argv[1:])
    print(table, end="")
    new, mended = changes(report)
    print(f"known failures: {len(known_failures())}")
    for case in new:
        print(f"NEW FAILURE {case}")
    for case in mended:
        print(f"PASSES NOW {case}: remove it from the list")
    return 1 if new or mended else 0


if __name__ == "__main__":
    sys.exit(main())
