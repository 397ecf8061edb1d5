"""`group by`: tuples with equal keys become one, and variables gather what they were in each."""

from __future__ import annotations

from dataclasses import fields, replace

from xcql.algebra.operators import (
    Aggregate,
    Nest,
    Plan,
    Project,
    Unit,
    Unnest,
    columns,
    free,
    order,
    used,
)
from xcql.algebra.scalars import Call, Column, Constant, Scalar, call, field
from xcql.compile.casts import one_atomic
from xcql.compile.flwor import Tuples
from xcql.compile.items import Atomic, Item, StreamElement, Window
from xcql.compile.mapping import mapped_items
from xcql.compile.result import NotNative
from xcql.compile.scope import value_of
from xcql.compile.values import Each, Single, Value, each, guarded, rename, row_names, row_of
from xcql.syntax.flwor import GroupBy
from xcql.syntax.literals import VariableRef


def grouped(clause: GroupBy, stream: Tuples) -> list[Tuples]:
    compilation = stream.scope.compilation
    scope = stream.scope
    keys: list[tuple[str, Scalar]] = []
    values: dict[str, Value] = {}
    for key in clause.keys:
        if key.collation is not None:
            raise NotNative("a collation", key.span)
        source = key.source or VariableRef(key.variable, span=key.span)
        item = one_atomic(value_of(source, scope), scope, key.span)
        if key.type is not None:
            raise NotNative("a type for a grouping key", key.span)
        name = compilation.fresh(str(key.variable))
        if item is None:
            values[str(key.variable)] = Each(Unit(), Single(Atomic(Constant(None), "xs:string")))
            continue
        if item.type == "xs:untypedAtomic":
            item = replace(item, type="xs:string")
        if item.zone not in (None, Constant(""), Constant("Z")):
            raise NotNative("grouping by times with zones", key.span)
        keys.append((name, item.scalar))
        column = Column(name)
        values[str(key.variable)] = guarded(
            call("is_not_null", column), Single(replace(item, scalar=column))
        )
        # a later key may use an earlier one
        scope = scope.bind(key.variable, Single(item))
    held = {name: _above_cut(stream.scope.variables[name]) for name in stream.bound}
    looked_at = frozenset().union(*(columns_in(value) for value in held.values()))
    made = sorted(columns(stream.plan) & looked_at)
    members = compilation.fresh("members")
    struct = Call(
        "members", tuple(part for name in made for part in (Constant(name), Column(name)))
    )
    plan = Nest(
        stream.plan, tuple(keys), ((members, Aggregate("collect", struct)),), span=clause.span
    )
    after = replace(stream.scope, taken=stream.scope.taken | columns(plan))
    for name in stream.bound:
        if name not in values:
            gathered = members_of(held[name], members, made, stream)
            after = after.bind(name, gathered)
    for name, value in values.items():
        after = after.bind(name, value)
    return [Tuples(plan, after, tuple(dict.fromkeys((*stream.bound, *values))))]


def columns_in(value: Value) -> frozenset[str]:
    """The columns that may be asked for of the items of a value."""
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
        if isinstance(here, Value | Item | Window):
            pending += [getattr(here, one.name) for one in fields(here)]
        elif isinstance(here, tuple):
            pending += here
    return frozenset(found)


def _above_cut(value: Value) -> Value:
    """The value, with the fillers above forgotten: they can be found again from below."""

    def change(item: Item) -> Item:
        match item:
            case StreamElement(is_filler=True, window=None):
                return replace(item, above=None)
            case StreamElement(above=StreamElement() as above):
                cut = change(above)
                assert isinstance(cut, StreamElement)
                return replace(item, above=cut)
        return item

    return mapped_items(value, change)


def _in_document_order(value: Value, stream: Tuples) -> bool:
    """Whether the tuples are in the order of the nodes that they bind a variable to."""
    match value:
        case Single(item=StreamElement(is_filler=True) as node):
            return [key.scalar for key in order(stream.plan)] == [node.column("key")]
    return False


def members_of(value: Value, members: str, made: list[str], stream: Tuples) -> Value:
    """What a variable was in the tuples of a group, one after the other."""
    compilation = stream.scope.compilation
    item, position = compilation.fresh("member"), compilation.fresh("member_at")
    plan: Plan = Unnest(Unit(), Column(members), item, position)
    names: dict[str, str] = {}
    for row in sorted({row for name in made if (row := row_of(name, made)) is not None}):
        names |= row_names(row, compilation.fresh(row))
    for name in made:
        names.setdefault(name, compilation.fresh(name))
        plan = Project(plan, names[name], field(Column(item), name))
    return each(plan, rename(value, names), is_path=_in_document_order(value, stream))
