"""The input and output of a continuous query: arrivals, updates, figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Operation = Literal["insert", "replace", "delete"]


@dataclass(frozen=True, slots=True)
class Arrival:
    """One fragment as received: `<filler …>`, `<repeat>`, `<replace>`, `<remove>` or `<eos/>`."""

    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class Update:
    """One row of the update stream.

    `position` counts from 1, at the moment when the row is applied; `key` identifies the item for
    as long as it is in the answer. A `delete` has no item.
    """

    batch: int
    op: Operation
    key: str
    position: int
    item: str | None
    vtFrom: datetime | None
    vtTo: datetime | None


@dataclass(frozen=True, slots=True)
class Figures:
    """What happened in one trigger.

    >>> print(Figures(12, 340, 3, 1, 0, 2, 5, 180.0))
    batch 12: 340 fragments, 3 repeated, 1 late, 2 holes still empty, 5 rows changed, 180 ms
    """

    batch: int
    fragments: int
    repeated: int
    late: int
    quarantined: int
    empty_holes: int
    changed: int
    milliseconds: float

    def __str__(self) -> str:
        quarantined = f", {self.quarantined} quarantined" if self.quarantined else ""
        return (
            f"batch {self.batch}: {self.fragments} fragments, {self.repeated} repeated,"
            f" {self.late} late{quarantined}, {self.empty_holes} holes still empty,"
            f" {self.changed} rows changed, {self.milliseconds:.0f} ms"
        )


@dataclass(frozen=True, slots=True)
class Advance:
    """The result of one trigger.

    `next_change` is the next moment at which the answer can change without an arrival, or None.
    """

    updates: tuple[Update, ...]
    figures: Figures
    next_change: datetime | None


def applied(updates: Iterable[Update], display: list[str] | None = None) -> list[str]:
    """A display, empty at first, after applying the updates: the answer, in order.

    >>> applied([Update(0, "insert", "a", 1, "x", None, None),
    ...          Update(1, "insert", "b", 1, "y", None, None)])
    ['y', 'x']
    """
    shown = [] if display is None else display
    for update in updates:
        at = update.position - 1
        if update.op == "delete":
            del shown[at]
        elif update.op == "replace":
            shown[at] = update.item or ""
        else:
            shown.insert(at, update.item or "")
    return shown
