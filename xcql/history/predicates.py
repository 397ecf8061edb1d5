"""The predicates of time, as small functions of instants.

There are two kinds of intervals. A lifespan and the interval of a projection are closed: at the
very instant of a change, both versions are valid. The `now`s for which a row of a store counts form
a half-open interval. So does the time for which the document has a version: of two that meet at an
instant, it has the later one.

Queries use other forms of these predicates, each of which names the function here:

| here | in SQL | in XQuery |
| --- | --- | --- |
| `counts_at`, `known_end` | the operations of these names | `xcql:counts` |
| `stands_at` | `xcql.compile.copies` | |
| `overlap` | the operation `overlaps` | `xcql:sliced` |
| `ALLEN_RELATIONS` | `_allen` in `xcql.compile.syntax.temporal` | `xcql:before` … |
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from xcql.model.tags import TagKind


def counts_at(since: datetime, until: datetime | None, now: datetime) -> bool:
    """Whether a row of a store, or a place, is part of an evaluation at `now`.

    `until` is None for forever.
    """
    return since <= now and (until is None or now < until)


def stands_at(kind: TagKind, begin: datetime, end: datetime | None, instant: datetime) -> bool:
    """Whether a version is in the document at an instant; an event stays once it has happened.

    `end` is None for a version that is still valid.
    """
    return begin <= instant and (kind == "event" or end is None or instant < end)


def known_end(end: datetime | None, now: datetime) -> datetime | None:
    """The end of a version as seen at `now`: None if it is still valid."""
    return end if end is not None and end <= now else None


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval of time, such as a lifespan: it contains both `begin` and `end`."""

    begin: datetime
    end: datetime


def overlap(a: Interval, b: Interval) -> Interval | None:
    """The intersection of two intervals, or None; it may be a single instant."""
    begin, end = max(a.begin, b.begin), min(a.end, b.end)
    return Interval(begin, end) if begin <= end else None


# Allen's relations between a = [a1, a2] and b = [b1, b2]: all comparisons must hold.
ALLEN_CONDITIONS: Mapping[str, tuple[tuple[str, str, str], ...]] = MappingProxyType(
    {
        "before": (("a2", "<", "b1"),),
        "meets": (("a2", "=", "b1"),),
        "overlaps": (("a1", "<", "b1"), ("b1", "<", "a2"), ("a2", "<", "b2")),
        "starts": (("a1", "=", "b1"), ("a2", "<", "b2")),
        "during": (("b1", "<", "a1"), ("a2", "<", "b2")),
        "finishes": (("a2", "=", "b2"), ("a1", ">", "b1")),
        "equals": (("a1", "=", "b1"), ("a2", "=", "b2")),
    }
)
# The other relations are these with a and b swapped.
ALLEN_INVERSES: Mapping[str, str] = MappingProxyType(
    {
        "after": "before",
        "met-by": "meets",
        "overlapped-by": "overlaps",
        "started-by": "starts",
        "contains": "during",
        "finished-by": "finishes",
    }
)

Relation = Callable[[Interval, Interval], bool]

_OPERATORS = {"<": operator.lt, "=": operator.eq, ">": operator.gt}
_BOUNDS = ("a1", "a2", "b1", "b2")


def _relation(name: str) -> Relation:
    tests = [
        (_OPERATORS[compared], _BOUNDS.index(left), _BOUNDS.index(right))
        for left, compared, right in ALLEN_CONDITIONS[name]
    ]

    def holds(a: Interval, b: Interval) -> bool:
        bounds = (a.begin, a.end, b.begin, b.end)
        return all(test(bounds[left], bounds[right]) for test, left, right in tests)

    return holds


def _inverse(relation: Relation) -> Relation:
    return lambda a, b: relation(b, a)


# The thirteen relations by their names in queries. For single instants, several may hold.
ALLEN_RELATIONS: Mapping[str, Relation] = MappingProxyType(
    {name: _relation(name) for name in ALLEN_CONDITIONS}
    | {name: _inverse(_relation(other)) for name, other in ALLEN_INVERSES.items()}
)
