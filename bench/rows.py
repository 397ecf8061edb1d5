"""Figures and their goals; a run's figures as JSON.

>>> row = Row("b", "q08", "ours, Spark / by hand", 1.7, "x", at="1", goal=Goal(2))
>>> row.verdict
'met'
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from bench.renamed import renamed

TABLES = {
    "a": "Figure 4 of the paper: Q1, Q2 and Q5 by the three strategies",
    "b": "The XMark queries",
    "c": "Fragmenting, ingest, temporalize",
    "d": "History: versions of each changing element",
    "e": "From text to plan",
    "f": "Continuous queries: triggers of 1,000 fillers as the history grows",
    "g": "Eighty queries, first asked and asked again",
    "h": "A recursive catalogue with a long history",
}
# what a figure counts as when it is compared with an older one
_MORE_IS_BETTER = {"MB/s"}
_LESS_IS_BETTER = {"s", "ms", "MB"}


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure should be at most this much, or at least."""

    limit: float
    least: bool = False

    def __str__(self) -> str:
        return f"at {'least' if self.least else 'most'} {self.limit:g}"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: its subject, its engine, its size.

    `spread` is (longest - shortest) / shortest of the runs. `bound` says that the true value is
    `more` or `less` than this one: a run that was stopped takes more than its limit. `voided` says
    why the value is invalid, `remark` what else a reader should know.
    """

    table: str
    name: str
    way: str
    value: float | None
    unit: str
    at: str = ""
    spread: float = 0.0
    goal: Goal | None = None
    bound: Literal["", "more", "less"] = ""
    voided: str = ""
    remark: str = ""

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        return self.table, self.name, self.way, self.at, self.unit

    @property
    def title(self) -> str:
        return ", ".join(
            part for part in (self.name, self.way, self.at and f"at {self.at}") if part
        )

    @property
    def shown(self) -> str:
        """The value as shown to readers: `0.412`, `>60`, or `void`."""
        if self.voided or self.value is None:
            return "void" if self.voided else "–"
        sign = {"": "", "more": ">", "less": "<"}[self.bound]
        return sign + significant(self.value)

    @property
    def verdict(self) -> str:
        """`met`, `missed`, `open` if undecided, or nothing if there is no goal."""
        if self.goal is None:
            return ""
        if self.voided or self.value is None:
            return "open"
        good = self.value >= self.goal.limit if self.goal.least else self.value <= self.goal.limit
        # a bound is certain on one side only
        if self.bound and good != ((self.bound == "more") == self.goal.least):
            return "open"
        return "met" if good else "missed"

    def worse_than(self, old: Row) -> bool:
        """Whether it got slower, or larger, by more than the spreads of both."""
        if self.value is None or old.value is None or self.voided or old.voided:
            return False
        noise = 1 + self.spread + old.spread
        if self.unit in _MORE_IS_BETTER:
            return self.value * noise < old.value
        return self.unit in _LESS_IS_BETTER and self.value > old.value * noise


def significant(value: float) -> str:
    """Three significant digits: `0.0123`, `4.56`, `1,230`."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f}" if abs(value) >= 0.01 else f"{value:.3g}"


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a run: the machine, the arguments, what was left out and why, the figures."""

    machine: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()

    def with_rows(self, rows: Iterable[Row]) -> Results:
        return replace(self, rows=(*self.rows, *rows))

    def without(self, reason: str) -> Results:
        return replace(self, left_out=(*self.left_out, reason))

    def of(self, table: str) -> list[Row]:
        return [row for row in self.rows if row.table == table]


def write_results(results: Results, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(results), indent=1, ensure_ascii=False) + "\n")


def read_results(path: Path) -> Results:
    """The results of a run; those of an older one get today's names."""
    data = json.loads(path.read_text())
    rows = tuple(
        renamed(Row(**(row | {"goal": Goal(**row["goal"]) if row["goal"] else None})))
        for row in data["rows"]
    )
    return Results(data["machine"], data["settings"], tuple(data["left_out"]), rows)
