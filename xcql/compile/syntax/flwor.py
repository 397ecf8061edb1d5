"""FLWOR expressions: a stream of tuples through the clauses, and a value for each at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xcql.algebra import operators as ops
from xcql.algebra.scalars import NULL, Column, Constant, disjunction, negation
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import as_string
from xcql.compile.library.comparisons import truth
from xcql.compile.library.ordering import sortable
from xcql.compile.library.sequence_types import converted, is_instance
from xcql.compile.library.several_kinds import as_one_kind
from xcql.compile.result import NotNative
from xcql.compile.syntax.tuples import bound_also, tuples
from xcql.compile.terms.items import Atomic, StreamElement
from xcql.compile.terms.scope import CompileClause, CompileExpression, Scope, Tuples, value_of
from xcql.compile.terms.values import (
    EMPTY,
    Leaf,
    Merged,
    Single,
    Value,
    apart,
    atomic,
    boolean,
    each,
    exists,
    leaves,
    renamed_item,
    row_names,
    row_of,
    without_failures,
)
from xcql.evaluate.collations import CODEPOINT_URI
from xcql.syntax.control import Quantified
from xcql.syntax.flwor import Clause, Count, Flwor, For, Let, OrderBy, Where


def _flwor(expr: Flwor, scope: Scope) -> Value:
    streams = tuples(expr.clauses, scope)
    values = [each(one.plan, value_of(expr.result, one.scope)) for one in streams]
    if not values:
        return EMPTY
    return values[0] if len(values) == 1 else Merged(tuple(values))


def _let(clause: Let, stream: Tuples) -> list[Tuples]:
    value = value_of(clause.source, stream.scope)
    if clause.type is not None:
        value = converted(value, clause.type, stream.scope, clause.span, is_call=False)
    name = str(clause.variable)
    return [replace(stream, scope=stream.scope.bind(name, value), bound=bound_also(stream, name))]


def _for(clause: For, stream: Tuples) -> list[Tuples]:
    source = value_of(clause.source, stream.scope)
    if clause.type is not None:
        fits = is_instance(source, replace(clause.type, occurrence="*"), stream.scope, clause.span)
        if fits != Constant(True):
            raise NotNative("a type that may not fit", clause.span)
    found = bind_each(source, stream, str(clause.variable), clause.position, clause)
    if not clause.allowing_empty:
        return found
    return [*found, _without_any(clause, source, stream)]


def _without_any(clause: For, source: Value, stream: Tuples) -> Tuples:
    """The tuples for which the source is empty: one each, with an empty variable."""
    plan = ops.Select(stream.plan, negation(exists(source)))
    scope = stream.scope.bind(clause.variable, EMPTY)
    names = [str(clause.variable)]
    if clause.position is not None:
        scope = scope.bind(clause.position, Single(Atomic(Constant(0), "xs:integer")))
        names.append(str(clause.position))
    return Tuples(plan, scope, bound_also(stream, *names))


def bind_each(
    source: Value, stream: Tuples, name: str, position: object, clause: Clause
) -> list[Tuples]:
    """One tuple per item of the source."""
    if source == EMPTY:
        return []
    source = apart(source, ops.columns(stream.plan) | stream.scope.taken)
    without_failures(source, clause.span)
    found = leaves(source)
    kinds: list[tuple[ops.Plan, Value]]
    if len(found) > 1 and (position is not None or _all_atomic(found)):
        kinds = [as_one_kind(source, stream.scope, clause.span)]
    else:
        named = [named_after(leaf, name, stream.scope) for leaf in found]
        kinds = [(leaf.plan, Single(leaf.item)) for leaf in named]
    after: list[Tuples] = []
    for plan, value in kinds:
        scope = stream.scope
        bound = bound_also(stream, name)
        if position is not None:
            numbered = ops.Number(plan, scope.compilation.fresh(str(position)))
            plan = numbered
            at = Single(Atomic(Column(numbered.name), "xs:integer"))
            scope = scope.bind(position, at)
            bound = (*bound, str(position))
        plan = ops.graft(plan, stream.plan)
        after.append(Tuples(plan, scope.within(plan).bind(name, value), bound))
    return after


def _all_atomic(found: Sequence[Leaf]) -> bool:
    return all(isinstance(leaf.item, Atomic) for leaf in found)


def named_after(leaf: Leaf, name: str, scope: Scope) -> Leaf:
    """The leaf, with the row or column of its items named after the variable."""
    item = leaf.item
    made = ops.columns(leaf.plan)
    names: dict[str, str] = {}
    match item:
        case StreamElement(is_filler=True, row=row) if f"{row}.key" in made:
            names = row_names(row, scope.compilation.fresh(name))
        case StreamElement(struct=Column(name=column)) | Atomic(scalar=Column(name=column)):
            if column in made and row_of(column, made) is None:
                names = {column: scope.compilation.fresh(name)}
    if not names:
        return leaf
    return Leaf(ops.renamed_plan(leaf.plan, names), renamed_item(item, names))


def _where(clause: Where, stream: Tuples) -> list[Tuples]:
    condition = truth(value_of(clause.condition, stream.scope), stream.scope, clause.condition.span)
    return [replace(stream, plan=ops.Select(stream.plan, condition, span=clause.span))]


def _count(clause: Count, stream: Tuples) -> list[Tuples]:
    numbered = ops.Number(stream.plan, stream.scope.compilation.fresh(str(clause.variable)))
    scope = stream.scope.within(numbered)
    value = Single(Atomic(Column(numbered.name), "xs:integer"))
    name = str(clause.variable)
    return [Tuples(numbered, scope.bind(name, value), bound_also(stream, name))]


def _order_by(clause: OrderBy, stream: Tuples) -> list[Tuples]:
    keys: list[ops.SortKey] = []
    plan = stream.plan
    scope = stream.scope
    for key in clause.keys:
        if key.collation not in (None, CODEPOINT_URI):
            raise NotNative("a collation", key.span)
        found = value_of(key.key, scope)
        item = one_atomic(found, scope, key.key.span, is_of_one_type=True)
        greatest = (key.empty or scope.compilation.empty_order) == "greatest"
        if item is None:
            # tuples of other kinds may have a sort key, before or after these
            keys.append(ops.SortKey(NULL, "other", key.descending, greatest))
            continue
        column = scope.compilation.fresh("sort")
        scalar, kind = sortable(as_string(item), key.span, greatest)
        plan = ops.Project(plan, column, scalar)
        keys.append(ops.SortKey(Column(column), kind, key.descending, greatest))
    plan = ops.Order(plan, (*keys, *ops.order(stream.plan)))
    return [Tuples(plan, scope.within(plan), stream.bound)]


def _quantified(expr: Quantified, scope: Scope) -> Value:
    """`some`: a FLWOR expression has a tuple; `every`: one with the negated condition has none."""
    clauses = [
        For(binding.variable, binding.source, binding.type, span=binding.span)
        for binding in expr.bindings
    ]
    found = []
    for stream in tuples(tuple(clauses), scope):
        condition = truth(value_of(expr.condition, stream.scope), stream.scope, expr.condition.span)
        if expr.quantifier == "every":
            condition = negation(condition)
        found.append(exists(each(ops.Select(stream.plan, condition), atomic(True, "xs:boolean"))))
    some = disjunction(*found)
    return boolean(some if expr.quantifier == "some" else negation(some))


EXPRESSIONS: Mapping[type, CompileExpression] = {Flwor: _flwor, Quantified: _quantified}
CLAUSES: Mapping[type, CompileClause] = {
    Let: _let,
    For: _for,
    Where: _where,
    Count: _count,
    OrderBy: _order_by,
}
