"""How many valid QT3 queries parse, and how many invalid ones are rejected.

    python tests/parser/parse_rates.py [CASES.jsonl.gz]

prints both figures and every miss. The cases live beside the repository, in
../shared/qt3/open.jsonl.gz; they are not part of it.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT.parent / "shared" / "qt3" / "open.jsonl.gz"
SYNTAX_ERROR = "XPST0003"


@dataclass(frozen=True, slots=True)
class Rate:
    """How many cases behaved correctly, and which did not."""

    total: int
    misses: tuple[str, ...]

    @property
    def percent(self) -> float:
        return 100 * (self.total - len(self.misses)) / self.total


def measure(cases: Path = CASES) -> tuple[Rate, Rate]:
    """The rate of valid queries that parse, and of invalid ones that are rejected as such.

    A query that must fail with another static error (such as XQST0090) is grammatically valid;
    the parser may reject it, but only with that code.
    """
    from xcql import XcqlError, parse

    valid = invalid = 0
    valid_misses: list[str] = []
    invalid_misses: list[str] = []
    for case in _read(cases):
        expected = set(_error_codes(case["expected"]))
        must_fail = case["expected"]["kind"] == "error" and expected == {SYNTAX_ERROR}
        if SYNTAX_ERROR in expected and not must_fail:
            continue  # both are right
        try:
            parse(case["query"])
            outcome = "parsed"
        except XcqlError as problem:
            outcome = problem.code
        miss = f"{case['set']}/{case['name']}: {outcome}: {_one_line(case['query'])}"
        if must_fail:
            invalid += 1
            if outcome != SYNTAX_ERROR:
                invalid_misses.append(miss)
        else:
            valid += 1
            if outcome != "parsed" and outcome not in expected:
                valid_misses.append(miss)
    return Rate(valid, tuple(valid_misses)), Rate(invalid, tuple(invalid_misses))


def _read(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _error_codes(expected: dict[str, Any]) -> Iterator[str]:
    if expected["kind"] == "error":
        yield expected["code"]
    for part in expected.get("of", ()):
        yield from _error_codes(part)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:117] + "..."


def main(arguments: list[str]) -> int:
    cases = Path(arguments[0]) if arguments else CASES
    if not cases.exists():
        print(f"no cases at {cases}", file=sys.stderr)
        return 2
    valid, invalid = measure(cases)
    for title, rate in (("valid queries that parse", valid), ("invalid ones rejected", invalid)):
        hits = rate.total - len(rate.misses)
        print(f"{title}: {rate.percent:.2f} % ({hits} of {rate.total})")
        for miss in rate.misses:
            print(f"  {miss}")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
