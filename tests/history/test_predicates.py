"""Sections 5 and 6: overlapping intervals, Allen's relations; and what is valid at `now`."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from itertools import product

import pytest
from sqlglot import exp

from xcql.algebra.scalars import Argument
from xcql.compile import copies
from xcql.dialects.forms.times import overlaps
from xcql.dialects.spark import SPARK
from xcql.history.predicates import (
    ALLEN_RELATIONS,
    Interval,
    counts_at,
    known_end,
    overlap,
    stands_at,
)
from xcql.model.tags import TagKind
from xcql.syntax import temporal

START = datetime.min


def day(number: int) -> datetime:
    return datetime(2000, 1, number)


def interval(begin: int, end: int) -> Interval:
    return Interval(day(begin), day(end))


def test_intervals_are_closed() -> None:
    assert overlap(interval(1, 3), interval(3, 5)) == interval(3, 3)
    assert overlap(interval(1, 3), interval(4, 5)) is None
    assert overlap(interval(1, 9), interval(4, 5)) == interval(4, 5)


def test_rows_count_from_since_to_before_until() -> None:
    counting = [number for number in range(1, 6) if counts_at(day(2), day(4), day(number))]
    assert counting == [2, 3]
    assert counts_at(day(2), None, datetime.max)


def test_of_two_versions_that_meet_the_document_has_the_later_one() -> None:
    assert not stands_at("temporal", day(2), day(4), day(4))
    assert stands_at("temporal", day(4), None, day(4))


def test_an_event_stays_in_the_document_once_it_has_happened() -> None:
    assert [n for n in range(1, 5) if stands_at("event", day(2), day(2), day(n))] == [2, 3, 4]


def test_an_end_after_now_is_not_known() -> None:
    assert (known_end(day(3), day(2)), known_end(day(3), day(3))) == (None, day(3))
    assert known_end(None, day(3)) is None


def test_the_parser_knows_the_same_relations() -> None:
    assert set(ALLEN_RELATIONS) == set(temporal.ALLEN_RELATIONS)


@pytest.mark.parametrize(
    ("relation", "a", "b"),
    [
        ("before", (1, 2), (3, 4)),
        ("meets", (1, 2), (2, 4)),
        ("overlaps", (1, 3), (2, 4)),
        ("starts", (1, 2), (1, 4)),
        ("during", (2, 3), (1, 4)),
        ("finishes", (3, 4), (1, 4)),
        ("equals", (1, 4), (1, 4)),
        ("after", (3, 4), (1, 2)),
        ("met-by", (2, 4), (1, 2)),
        ("overlapped-by", (2, 4), (1, 3)),
        ("started-by", (1, 4), (1, 2)),
        ("contains", (1, 4), (2, 3)),
        ("finished-by", (1, 4), (3, 4)),
    ],
)
def test_each_relation_holds_alone(relation: str, a: tuple[int, int], b: tuple[int, int]) -> None:
    holding = {name for name, holds in ALLEN_RELATIONS.items() if holds(interval(*a), interval(*b))}
    assert holding == {relation}


def test_exactly_one_relation_holds_between_stretches_of_time() -> None:
    stretches = [interval(a, b) for a, b in product(range(1, 6), repeat=2) if a < b]
    for a, b in product(stretches, repeat=2):
        assert sum(holds(a, b) for holds in ALLEN_RELATIONS.values()) == 1


def test_with_points_several_relations_may_hold() -> None:
    holding = {n for n, holds in ALLEN_RELATIONS.items() if holds(interval(1, 1), interval(1, 3))}
    assert holding == {"meets", "starts"}


# --- the SQL forms ------------------------------------------------------------------------------

# instants are day numbers here, NULL for the ends of time; SQLite evaluates them as Spark does
_DAYS = (None, 1, 2, 3)
_SQLITE = sqlite3.connect(":memory:")


def holds_in_sql(condition: str, **columns: int | None) -> bool:
    names = ", ".join(f":{name} AS {name}" for name in columns)
    found = _SQLITE.execute(f"SELECT {condition} FROM (SELECT {names})", columns)
    return bool(found.fetchone()[0])


def begin_of(number: int | None) -> datetime:
    return START if number is None else day(number)


def end_of(number: int | None) -> datetime | None:
    return None if number is None else day(number)


def test_counts_at_in_sql() -> None:
    condition = SPARK.forms["counts_at"](*map(exp.column, ("since", "until", "now"))).sql("sqlite")
    for since, until, now in product(_DAYS, _DAYS, (1, 2, 3)):
        found = holds_in_sql(condition, since=since, until=until, now=now)
        assert found == counts_at(begin_of(since), end_of(until), day(now)), (since, until, now)


@pytest.mark.parametrize("kind", ["temporal", "event", "snapshot"])
def test_stands_at_in_sql(kind: TagKind) -> None:
    lifespan = {
        "copy.vtFrom": exp.column("vtFrom"),
        "copy.vtTo": SPARK.forms["known_end"](exp.column("vtTo"), exp.column("now")),
    }
    condition = SPARK.sql(copies.stands_at(kind, Argument("at")), lifespan).sql("sqlite")
    for begin, end, at, now in product(_DAYS, _DAYS, (1, 2, 3), (1, 2, 3)):
        found = holds_in_sql(condition, vtFrom=begin, vtTo=end, at=at, now=now)
        end_now = known_end(end_of(end), day(now))
        assert found == stands_at(kind, begin_of(begin), end_now, day(at)), (begin, end, at, now)


def test_overlap_in_sql() -> None:
    columns = [exp.column(name) for name in ("vtFrom", "vtTo", "first", "last")]
    condition = overlaps(*columns).sql("sqlite")
    for begin, end, first, last, now in product(_DAYS, _DAYS, (1, 2, 3), (1, 2, 3), (1, 2, 3)):
        lifespan = Interval(begin_of(begin), end_of(end) or day(now))
        if first <= last and lifespan.begin <= lifespan.end:
            said = holds_in_sql(condition, vtFrom=begin, vtTo=end, first=first, last=last, now=now)
            assert said == (overlap(lifespan, interval(first, last)) is not None)
