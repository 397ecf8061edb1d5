"""What of collected structs is kept: what is read, at the paths at which it is read."""

from __future__ import annotations

from xcql.algebra.operators import (
    Aggregate,
    Extract,
    Merge,
    Nest,
    Order,
    Over,
    Plan,
    Project,
    SortKey,
    Unnest,
)
from xcql.algebra.printing import scalar_text
from xcql.algebra.scalars import TRUE, Column, Constant, Lambda, Scalar, call, field
from xcql.compile.library.packing import packed
from xcql.sql.reads import reads

A = Extract("s", ("2",), "a")
ELEMENT = Column("a.element")
TEXT = field(Column("n"), "_text")
MEMBERS = Aggregate("collect", packed(["a.element", "a.raw", "a.seq"]))


def _members(plan: Plan, needed: str) -> str:
    return scalar_text(reads(plan, frozenset({needed})).needed("members", MEMBERS).value)


def _read_of_members(*columns: tuple[str, Scalar]) -> Plan:
    plan: Plan = Unnest(Nest(A, (), (("members", MEMBERS),)), Column("members"), "m", "m_at")
    for name, scalar in columns:
        plan = Project(plan, name, scalar)
    return plan


def _member(name: str) -> Scalar:
    return field(Column("m"), f":{name}")


def test_fields_are_kept_at_their_paths() -> None:
    text = field(field(_member("a.element"), "price"), "_text")
    plan = _read_of_members(("x", text))
    kept = "members(':a.element', members('price', members('_text', $a.element.price._text)))"
    assert _members(plan, "x") == kept


def test_columns_that_nothing_uses_read_nothing() -> None:
    plan = _read_of_members(
        ("element", _member("a.element")),
        ("raw", _member("a.raw")),
        ("x", field(Column("element"), "price")),
    )
    assert _members(plan, "x") == "members(':a.element', members('price', $a.element.price))"


def test_what_is_read_whole_is_kept_whole() -> None:
    price = field(_member("a.element"), "price")
    plan = _read_of_members(("x", call("struct", price, _member("a.element"))))
    assert _members(plan, "x") == "members(':a.element', $a.element)"


def test_only_the_number_of_members_is_read() -> None:
    plan = _read_of_members(("x", call("size", Column("members"))))
    assert _members(plan, "x") == "members('nothing', True)"


def test_functions_read_fields_of_what_they_are_given() -> None:
    """`$members[1]/price`: tuples of members are made, filtered, and taken apart again."""
    element = call("named_struct", Constant("e"), _member("a.element"), Constant("n"), TRUE)
    tuples = call("transform", call("or_empty", Column("members")), Lambda(("m",), element))
    price = field(field(field(Column("t"), "e"), "price"), "_text")
    first = call("filter", Column("all"), Lambda(("t", "at"), call("is_not_null", price)))
    plan: Plan = Nest(A, (), (("members", MEMBERS),))
    for name, scalar in {
        "all": tuples,
        "first": first,
        "number": call("size", Column("all")),
        "x": call("transform", Column("first"), Lambda(("t",), price)),
        "both": call("struct", Column("number"), Column("x")),
    }.items():
        plan = Project(plan, name, scalar)
    kept = "members(':a.element', members('price', members('_text', $a.element.price._text)))"
    assert _members(plan, "both") == kept
    # what is computed has to be there, although nothing reads it
    assert _members(plan, "number") == "members(':a.element', $a.element)"


def test_paths_do_not_lead_through_arrays() -> None:
    names = call("transform", field(_member("a.element"), "name"), Lambda(("n",), TEXT))
    kept = "members(':a.element', members('name', $a.element.name))"
    assert _members(_read_of_members(("x", names)), "x") == kept


def test_a_sort_key_is_read() -> None:
    plan = Order(_read_of_members(), (SortKey(_member("a.seq"), "number"),))
    assert _members(plan, "m") == "members(':a.seq', $a.seq)"


def test_neighbours_are_read_like_the_items() -> None:
    before = Over(A, "before", Aggregate("any", ELEMENT), "previous")
    found = reads(Project(before, "x", field(Column("before"), "price")), frozenset({"x"}))
    assert found.pruned("a.element", ELEMENT) == _only("price")
    assert found.needed("before", before.aggregate).value == _only("price")


def test_merged_columns_stay_alike() -> None:
    """Only one of two plans may number its tuples, and what is not read of them is dropped then."""
    merge = Merge((A, A), (("e", (ELEMENT, ELEMENT)),), ())
    found = reads(Project(merge, "x", field(Column("e"), "price")), frozenset({"x"}))
    assert found.pruned("a.element", ELEMENT) == ELEMENT


def _only(name: str) -> Scalar:
    return call("members", Constant(name), field(ELEMENT, name))
