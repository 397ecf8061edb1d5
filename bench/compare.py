"""What got slower between two runs: `python -m bench.compare OLD.json NEW.json`.

A figure is slower if it is worse by more than the spreads of both runs together. The exit code is 1
if any of our own figures is slower; peers are not compared.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench.rows import Results, Row, read_results

_PEERS = ("SaxonC-HE", "BaseX", "RumbleDB", "the paper", "Spark's XML reader", "by hand")


def slower(old: Results, new: Results) -> list[tuple[Row, Row]]:
    """Our figures that got worse, with the old ones; also those that are now missing."""
    before = {row.key: row for row in old.rows}
    pairs = [(before[row.key], row) for row in new.rows if row.key in before]
    return [
        (past, row)
        for past, row in pairs
        if not row.way.startswith(_PEERS)
        and (row.worse_than(past) or (bool(row.voided) and not past.voided))
    ]


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: python -m bench.compare OLD.json NEW.json")
    old, new = (read_results(Path(argument)) for argument in sys.argv[1:])
    found = slower(old, new)
    for past, row in found:
        noise = f"±{past.spread:.0%} and ±{row.spread:.0%}"
        note = f"   {row.voided}" if row.voided else ""
        print(f"{row.title:<60} {past.shown:>10} -> {row.shown} {row.unit} ({noise}){note}")
    if not found:
        print("nothing got slower")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
