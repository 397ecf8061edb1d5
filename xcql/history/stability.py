"""How the rows of a table depend on `now`: not at all once `now` is past the last change.

A row counts for some `now`s (see `bitemporal`). After the last of these bounds the same rows count
forever, and a query need not test `since` and `until` of each row.

Tests: tests/runtime/answers/test_settled.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xcql.arrays import Ints
from xcql.history.arrivals import BEGINNING, FOREVER
from xcql.history.places import Places, VersionColumns


@dataclass(frozen=True, slots=True)
class Stability:
    """The properties of all rows of a table and of all places of its fillers.

    At any `now` after `settled`, in microseconds, the same rows and places count, all lifespans
    have begun, and those with an end have ended. `is_lasting` is true if all rows and places count
    then. Each filler has at least `min_places` and at most `max_places` places.
    """

    settled: int = FOREVER
    is_lasting: bool = False
    min_places: int = 0
    max_places: int = 0


def joint(stabilities: Iterable[Stability]) -> Stability:
    """The properties of the rows of several tables together.

    >>> joint([Stability(5, True, 1, 1), Stability(7, False, 0, 3)])
    Stability(settled=7, is_lasting=False, min_places=0, max_places=3)
    """
    found = list(stabilities)
    return Stability(
        max((one.settled for one in found), default=BEGINNING),
        all(one.is_lasting for one in found),
        min((one.min_places for one in found), default=1),
        max((one.max_places for one in found), default=1),
    )


def stability_of(
    known: Sequence[tuple[VersionColumns | Places, Ints]], place_counts: Ints, all_count: bool
) -> Stability:
    """The properties of the rows of a table.

    `known` are the versions and places of its fillers, each with the numbers of those that belong
    to the table. `place_counts` are the numbers of places per filler; `all_count` says that each
    row of the table has a version.
    """
    names = ("vt_from", "vt_to", "since", "until")
    times = [getattr(columns, name)[rows] for columns, rows in known for name in names]
    never_end = all((columns.until[rows] == FOREVER).all() for columns, rows in known)
    return Stability(
        max(int(some[some < FOREVER].max(initial=BEGINNING)) for some in times),
        all_count and never_end,
        int(place_counts.min(initial=1)),
        int(place_counts.max(initial=0)),
    )
