"""Shapes: what is known about paths inside unshredded content, as more data arrives."""

from __future__ import annotations

from xcql.shred.columns import element_type
from xcql.shred.shape import (
    MAX_WAY_LENGTH,
    MAX_WAYS,
    Slot,
    Way,
    is_layout_kept,
    slot_from_json,
    slot_to_json,
    widen,
)


def opaque(*paths: str, **flags: bool) -> Slot:
    ways = tuple(Way(path, kept=True) for path in paths)
    return Slot("1", "t", opaque=True, ways=ways, **{"indexed": True, **flags})


def leaf(name: str) -> Slot:
    return Slot(name, name, is_leaf=True, indexed=True)


def paths(slot: Slot) -> list[str]:
    return [way.path for way in slot.ways]


def test_new_ways_are_new_columns() -> None:
    old, new = opaque("b"), opaque("a", "b/c")
    both = widen(old, new)
    assert both.indexed
    assert paths(both) == ["a", "b", "b/c"]
    assert is_layout_kept(old, both)
    assert widen(both, new) == widen(None, both) == both


def test_where_no_ways_were_known_none_are() -> None:
    for both in (
        widen(opaque(indexed=False), opaque("a")),
        widen(opaque("a"), opaque("b", indexed=False)),
    ):
        assert not both.indexed
        assert not both.ways
        assert "/ways" not in element_type(both).names


def test_there_are_not_too_many() -> None:
    first = opaque(*(f"a{number}" for number in range(MAX_WAYS)))
    assert widen(None, first).indexed
    assert not widen(first, opaque("b")).indexed
    assert widen(None, opaque("/".join("a" * MAX_WAY_LENGTH))).indexed
    assert not widen(None, opaque("/".join("a" * (MAX_WAY_LENGTH + 1)))).indexed


def test_ways_that_sql_cannot_tell_apart() -> None:
    assert not widen(opaque("a/b"), opaque("A/b")).indexed


def test_long_texts_have_no_column() -> None:
    assert Way.of_texts("a", 1, 5_000).kept
    assert Way.of_texts("a", 100_000, 2_000_000).kept
    long = Way.of_texts("a", 1_000, 300_000)
    assert not long.kept
    slot = Slot("1", "t", opaque=True, indexed=True, ways=(long,))
    for both in (widen(slot, opaque("a")), widen(opaque("a"), slot)):
        assert both.indexed
        assert both.ways == (long,)
        assert "/ways" not in element_type(both).names


def test_what_was_shredded_tells_its_ways() -> None:
    inner = Slot("3", "c", opaque=True, indexed=True, ways=(Way("d", kept=True),))
    before = Slot("1", "t", indexed=True, children=(leaf("b"), inner))
    both = widen(before, opaque("e"))
    assert both.indexed
    assert paths(both) == ["b", "c", "c/d", "e"]
    unknown = Slot("1", "t", children=(leaf("b"),))
    assert not widen(unknown, opaque("e")).indexed


def test_columns_that_are_not_called_as_elements_are_tell_no_way() -> None:
    one = Slot("1", "t", indexed=True, children=(leaf("b"),))
    assert widen(None, one).indexed
    assert not widen(one, Slot("1", "t", indexed=True, children=(leaf("B"),))).indexed


def test_json_of_old_has_no_ways() -> None:
    shape = opaque("a", "b")
    data = slot_to_json(shape)
    assert slot_from_json(data) == shape
    del data["ways"]
    data["flags"].remove("indexed")
    assert slot_from_json(data) == opaque(indexed=False)
