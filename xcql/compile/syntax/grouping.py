"""`group by`: tuples with equal keys become one, and variables hold their values in all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from xcql.algebra.operators import Aggregate, Nest, Unit, Unnest, columns, order
from xcql.algebra.scalars import Column, Constant, Scalar, call
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import INSTANTS, as_string, is_plain_zone, on_time_line
from xcql.compile.library.ordering import in_order_of_appearance
from xcql.compile.library.packing import above_cut, columns_in, packed, unpacked
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic, StreamElement
from xcql.compile.terms.scope import CompileClause, Tuples, value_of
from xcql.compile.terms.values import Each, Single, Value, each, guarded, rename
from xcql.evaluate.collations import CODEPOINT_URI
from xcql.syntax.flwor import GroupBy
from xcql.syntax.literals import VariableRef


def grouped(clause: GroupBy, stream: Tuples) -> list[Tuples]:
    compilation = stream.scope.compilation
    scope = stream.scope
    keys: list[tuple[str, Scalar]] = []
    first: list[tuple[str, Scalar]] = []
    values: dict[str, Value] = {}
    for key in clause.keys:
        if key.collation not in (None, CODEPOINT_URI):
            raise NotNative("a collation", key.span)
        source = key.source or VariableRef(key.variable, span=key.span)
        item = one_atomic(value_of(source, scope), scope, key.span)
        if key.type is not None:
            raise NotNative("a type for a grouping key", key.span)
        name = compilation.fresh(str(key.variable))
        if item is None:
            values[str(key.variable)] = Each(Unit(), Single(Atomic(Constant(None), "xs:string")))
            continue
        item = as_string(item)
        has_zone = not is_plain_zone(item.zone)
        if has_zone and item.type not in INSTANTS:
            raise NotNative("grouping by times with zones", key.span)
        keys.append((name, on_time_line(item) if has_zone else item.scalar))
        column = Column(name)
        group = item
        if has_zone or item.type == "xs:double":
            # 0 and -0 are one group, whose key is the zero that came first
            column = Column(compilation.fresh(f"first_{key.variable}"))
            first.append((column.name, item.scalar))
        if has_zone:
            # the same instant may be written in several zones
            assert item.zone is not None
            zone = compilation.fresh(f"zone_{key.variable}")
            first.append((zone, item.zone))
            group = replace(item, zone=Column(zone))
        values[str(key.variable)] = guarded(
            call("is_not_null", column), Single(replace(group, scalar=column))
        )
        # a later key may use an earlier one
        scope = scope.bind(key.variable, Single(item))
    held = {name: above_cut(stream.scope.variables[name]) for name in stream.bound}
    looked_at = frozenset().union(*(columns_in(value) for value in held.values()))
    made = sorted(columns(stream.plan) & looked_at)
    members = compilation.fresh("members")
    gathered = (members, Aggregate("collect", packed(made)))
    nest = Nest(stream.plan, tuple(keys), (gathered,), span=clause.span)
    plan = in_order_of_appearance(nest, first, compilation.fresh)
    after = stream.scope.within(plan)
    for name in stream.bound:
        if name not in values:
            after = after.bind(name, members_of(held[name], members, made, stream))
    for name, value in values.items():
        after = after.bind(name, value)
    return [Tuples(plan, after, tuple(dict.fromkeys((*stream.bound, *values))))]


def _in_document_order(value: Value, stream: Tuples) -> bool:
    """Whether the tuples are in the order of the nodes that they bind a variable to."""
    match value:
        case Single(item=StreamElement(is_filler=True) as node):
            return [key.scalar for key in order(stream.plan)] == [node.column("key")]
    return False


def members_of(value: Value, members: str, made: list[str], stream: Tuples) -> Value:
    """The values of a variable in the tuples of a group, concatenated."""
    compilation = stream.scope.compilation
    item, position = compilation.fresh("member"), compilation.fresh("member_at")
    plan, names = unpacked(
        Unnest(Unit(), Column(members), item, position), Column(item), made, compilation
    )
    return each(plan, rename(value, names), is_path=_in_document_order(value, stream))


CLAUSES: Mapping[type, CompileClause] = {GroupBy: grouped}
