"""Benchmarks: `make bench` runs them all, `python -m bench.parse` one of them.

Each module has `run() -> list[Row]`. Machines differ and are noisy: goals are judged by a reader,
never by a test.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measured figure, and what it should be."""

    name: str
    value: float
    unit: str
    goal: str = ""


def show(title: str, rows: Iterable[Row]) -> None:
    """Print figures as a table."""
    print(f"\n{title}")
    for row in rows:
        goal = f"   goal: {row.goal}" if row.goal else ""
        print(f"  {row.name:<48} {row.value:>12,.3f} {row.unit:<6}{goal}")
