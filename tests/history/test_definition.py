"""The arrivals for one filler id, and its versions; `test_view` covers all of section 3."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import pytest

from xcql.history.definition import Known, Timeline, versions
from xcql.model.fragments import Operation
from xcql.model.tags import TagKind


class Told(NamedTuple):
    """A fragment with a letter as its body; case does not matter when comparing letters."""

    op: Operation
    valid_time: datetime | None
    body: str = ""


def is_same(one: Told, other: Told) -> bool:
    return one.body.lower() == other.body.lower()


def told(words: str) -> list[Told]:
    """Fragments in short notation: `2a` is a filler at day 2, `=2a` a replace, `-2` a remove."""
    found = []
    for word in words.split():
        op: Operation = {"=": "replace", "-": "remove"}.get(word[0], "filler")  # type: ignore
        sign = word.lstrip("=-")
        found.append(Told(op, datetime(2000, 1, int(sign[0])), sign[1:]))
    return found


@pytest.mark.parametrize(
    ("kind", "arrived", "expected"),
    [
        ("temporal", "5b 2a", "a2-5 b5-"),
        ("temporal", "2a 2b", "b2-"),
        ("temporal", "2a 2A 2a", "a2-"),
        ("temporal", "2a 2b 2A", "A2-"),
        ("temporal", "2a -4 6b", "a2-4 b6-"),
        ("temporal", "-4 2a", "a2-4"),
        ("temporal", "2a 9b =5c 7d", "c5-7 d7-"),
        ("temporal", "2a -2", ""),
        ("temporal", "-2 2a", "a2-"),
        ("event", "5b 2a", "a2-2 b5-5"),
        ("event", "2b 2a 2B", "b2-2 a2-2"),
        ("event", "2a 2b -2 2A", "A2-2"),
        ("event", "-2 2a -2", ""),
        ("event", "2a -3", "a2-2"),
        ("event", "2a =3b", "b3-3"),
        ("snapshot", "5b 2a", "b1-"),
        ("snapshot", "5b =2a", "a1-"),
        ("snapshot", "2a -4", ""),
        ("snapshot", "6a -4", "a1-"),
    ],
)
def test_versions(kind: TagKind, arrived: str, expected: str) -> None:
    shown = [
        f"{one.fragment.body}{one.begin.day}-{one.end.day if one.end else ''}"
        for one in versions(told(arrived), kind, is_same)
    ]
    assert " ".join(shown) == expected


@pytest.mark.parametrize(
    ("kind", "arrived", "repeated"),
    [
        ("temporal", "2a 2A 2b 2a", [1]),
        ("temporal", "2a =5b 2a", []),
        ("temporal", "-2 -2 2a -2", [1]),
        ("event", "2a 2b 2A -2 2A -2", [2]),
        ("event", "2a -2 -2", [2]),
    ],
)
def test_what_only_repeats(kind: TagKind, arrived: str, repeated: list[int]) -> None:
    timeline = Timeline(kind, is_same)
    changes = [timeline.add(one) for one in told(arrived)]
    assert [number for number, one in enumerate(changes) if not one] == repeated


def test_an_id_belongs_to_one_tag_until_it_is_removed_with_all_that_arrived() -> None:
    known: Known[Told, str] = Known()
    first, second, third = told("2a 3b 4c")
    assert known.add(first, "x") is None
    assert known.add(second, "y") == "x"
    assert known.arrived == [first]
    assert known.add(Told("remove", None), None) is None
    assert (known.tag, known.arrived) == (None, [])
    assert known.add(third, "y") is None
    assert (known.tag, known.arrived) == ("y", [third])


def test_a_remove_alone_gives_an_id_no_tag() -> None:
    known: Known[Told, str] = Known()
    (remove,) = told("-2")
    known.add(remove, "x")
    assert (known.tag, known.arrived) == (None, [remove])
