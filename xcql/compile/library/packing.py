"""Tuples packed into structs, which groups and windows collect, and unpacked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from xcql.algebra.operators import Plan, Project, SortKey, free, used
from xcql.algebra.scalars import Call, Column, Constant, Scalar, field
from xcql.compile.terms.items import Inner, Item, ProjectionWindow, Root, StreamElement, Tree, Turns
from xcql.compile.terms.mapping import mapped_items
from xcql.compile.terms.scope import Compilation
from xcql.compile.terms.values import Value, row_names, row_of


def packed(made: Sequence[str]) -> Scalar:
    """A struct of columns; a placeholder if there are none.

    Its fields begin with a colon, as no name in the data does: what is read of them can be told.
    """
    pairs = [part for name in made for part in (Constant(f":{name}"), Column(name))]
    return Call("members", tuple(pairs or (Constant("nothing"), Constant(True))))


def unpacked(
    plan: Plan, struct: Scalar, made: Sequence[str], compilation: Compilation
) -> tuple[Plan, dict[str, str]]:
    """The plan with the columns of a struct, and their new names."""
    names = new_names(made, compilation)
    for name in made:
        plan = Project(plan, names[name], field(struct, f":{name}"))
    return plan, names


def new_names(made: Sequence[str], compilation: Compilation) -> dict[str, str]:
    """Names that no column has yet; columns of one row stay together."""
    names: dict[str, str] = {}
    for row in sorted({row for name in made if (row := row_of(name, made)) is not None}):
        names |= row_names(row, compilation.fresh(row))
    for name in made:
        if name not in names:
            names[name] = compilation.fresh(name)
    return names


def columns_in(value: Value) -> frozenset[str]:
    """The columns that the items of a value may use."""
    found: set[str] = set()
    pending: list[object] = [value]
    while pending:
        here = pending.pop()
        match here:
            case Scalar():
                found |= used(here)
            case Plan():
                found |= free(here)
            case StreamElement(row=row):
                found |= set(row_names(row, row))
        if isinstance(here, Value | Item | ProjectionWindow | Root | Tree | Turns | SortKey):
            pending += [getattr(here, one.name) for one in fields(here)]
        elif isinstance(here, tuple):
            pending += here
    return frozenset(found)


def above_cut(value: Value) -> Value:
    """The value without links to ancestor fillers: they can be found again from below."""

    def change(item: Item) -> Item:
        match item:
            case StreamElement(is_filler=True, window=None):
                return replace(item, above=None)
            case StreamElement(above=StreamElement() as above):
                cut = change(above)
                assert isinstance(cut, StreamElement)
                return replace(item, above=cut)
            case Inner(owner=owner, above=above):
                cut = change(owner)
                assert isinstance(cut, StreamElement)
                around = change(above) if above is not None else None
                assert around is None or isinstance(around, StreamElement | Inner)
                return replace(item, owner=cut, above=around, inner_path=None)
        return item

    return mapped_items(value, change)
