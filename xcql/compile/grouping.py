"""`group by`: tuples with equal keys become one, and variables gather what they were in each."""

from __future__ import annotations

from dataclasses import replace

from xcql.algebra.operators import Aggregate, Nest, Plan, Project, Unit, Unnest, columns
from xcql.algebra.scalars import Call, Column, Constant, Scalar, call, field
from xcql.compile.casts import one_atomic
from xcql.compile.flwor import Tuples
from xcql.compile.items import Atomic
from xcql.compile.result import NotNative
from xcql.compile.scope import Scope, value_of
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
    made = sorted(columns(stream.plan))
    members = compilation.fresh("members")
    struct = Call(
        "named_struct", tuple(part for name in made for part in (Constant(name), Column(name)))
    )
    plan = Nest(
        stream.plan, tuple(keys), ((members, Aggregate("collect", struct)),), span=clause.span
    )
    after = replace(stream.scope, taken=stream.scope.taken | columns(plan))
    for name in stream.bound:
        if name not in values:
            gathered = members_of(stream.scope.variables[name], members, made, stream.scope)
            after = after.bind(name, gathered)
    for name, value in values.items():
        after = after.bind(name, value)
    return [Tuples(plan, after, tuple(dict.fromkeys((*stream.bound, *values))))]


def members_of(value: Value, members: str, made: list[str], scope: Scope) -> Value:
    """What a variable was in the tuples of a group, one after the other."""
    compilation = scope.compilation
    item, position = compilation.fresh("member"), compilation.fresh("member_at")
    plan: Plan = Unnest(Unit(), Column(members), item, position)
    names: dict[str, str] = {}
    for row in sorted({row for name in made if (row := row_of(name, made)) is not None}):
        names |= row_names(row, compilation.fresh(row))
    for name in made:
        names.setdefault(name, compilation.fresh(name))
        plan = Project(plan, names[name], field(Column(item), name))
    return each(plan, rename(value, names))
