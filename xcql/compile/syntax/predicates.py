"""Predicates: positions or conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xcql.algebra import operators as ops
from xcql.algebra.scalars import Column, Constant, Scalar, call
from xcql.compile.library.atomization import atomized
from xcql.compile.library.casts import NUMBERS
from xcql.compile.library.comparisons import compared, only_one, truth
from xcql.compile.library.document_order import is_sorted
from xcql.compile.library.positions import asks_last, is_never_positional, mentions_position
from xcql.compile.library.several_kinds import as_one_kind, in_one_plan
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic, Dynamic
from xcql.compile.terms.scope import CompileExpression, Scope, value_of
from xcql.compile.terms.values import (
    EMPTY,
    Concat,
    Leaf,
    Merged,
    Single,
    Value,
    at_most_one,
    conditional,
    each,
    exists,
    is_optional,
    leaves,
    single_scalar,
)
from xcql.syntax.functions import FunctionCall
from xcql.syntax.literals import IntegerLiteral
from xcql.syntax.node import Expr
from xcql.syntax.path import Filter


def filtered(
    found: Sequence[Leaf],
    predicate: Expr,
    scope: Scope,
    partition: tuple[Scalar, ...] = (),
    backwards: bool = False,
    base: ops.Plan | None = None,
) -> list[Leaf]:
    """The leaves with the items that pass a predicate.

    Positions are counted for each value of the partition. The leaves were found for the tuples of
    `base`, if it is given.
    """
    if len(found) > 1 and not is_never_positional(predicate):
        plan, item = in_one_plan(found, base or ops.Unit(), scope, predicate.span)
        kept = kept_tuples(plan, item, predicate, scope, partition, backwards)
        return leaves(each(kept, item))
    return [
        Leaf(
            kept_tuples(leaf.plan, Single(leaf.item), predicate, scope, partition, backwards),
            leaf.item,
        )
        for leaf in found
    ]


def kept_tuples(
    plan: ops.Plan,
    context: Value,
    predicate: Expr,
    scope: Scope,
    partition: tuple[Scalar, ...] = (),
    backwards: bool = False,
) -> ops.Plan:
    """The tuples for which a predicate holds; `context` is the item of each."""
    compilation = scope.compilation
    at_place = None if backwards else _element_at(plan, predicate, partition)
    if at_place is not None:
        return at_place
    if isinstance(predicate, IntegerLiteral):
        if is_optional(plan):
            return plan if predicate.value == 1 else ops.Select(plan, Constant(False))
        numbered = ops.Number(plan, compilation.fresh("position"), partition, backwards)
        there = call("=", Column(numbered.name), Constant(predicate.value))
        return ops.Select(numbered, there)
    inside = scope.within(plan)
    if mentions_position(predicate) or not is_never_positional(predicate):
        name, total = compilation.fresh("position"), compilation.fresh("total")
        asks_total = asks_last(predicate)
        numbered = ops.Number(plan, name, partition, backwards, total if asks_total else None)
        focus = inside.within(numbered).focus(context, Column(name), lambda: Column(total))
        value = value_of(predicate, focus)
        position = _position_test(value, Column(name), focus, predicate)
        if position is not None:
            return ops.Select(numbered, position)
        condition = truth(value, focus, predicate.span)
        base = numbered if mentions_position(predicate) else plan
        return ops.Select(base, condition, span=predicate.span)
    value = value_of(predicate, inside.focus(context))
    return ops.Select(plan, truth(value, inside, predicate.span), span=predicate.span)


def _element_at(plan: ops.Plan, predicate: Expr, partition: tuple[Scalar, ...]) -> ops.Plan | None:
    """`[2]` or `[last()]` of an array in the row: at most one tuple, and no counting."""
    if not isinstance(plan, ops.Unnest) or plan.outer or partition != ops.identity(plan.input):
        return None
    match predicate:
        case IntegerLiteral(value=number) if 0 < number < 2**31:
            index: Scalar = Constant(number - 1)
        case FunctionCall(name=name, arguments=()) if name.local == "last":
            size = call("size", call("or_empty", plan.array))
            index = call("-", size, Constant(1))
        case _:
            return None
    found = ops.Project(plan.input, plan.item, call("get", plan.array, index))
    return ops.Select(ops.Project(found, plan.position, index), ops.present(Column(plan.item)))


def _position_test(value: Value, position: Scalar, scope: Scope, predicate: Expr) -> Scalar | None:
    """The condition of a predicate that is a number; None if it is not one."""
    found = leaves(value)
    kinds = {leaf.item.type if isinstance(leaf.item, Atomic) else "node" for leaf in found}
    if any(isinstance(leaf.item, Dynamic) for leaf in found):
        raise NotNative("a predicate that may be a number", predicate.span)
    if not kinds & NUMBERS:
        return None
    if not kinds <= NUMBERS:
        raise NotNative("a predicate that may be a number", predicate.span)

    def read(item) -> Scalar:  # type: ignore[no-untyped-def]
        return compared(
            "=", Atomic(position, "xs:integer"), atomized(item, scope), scope, predicate.span
        )

    if at_most_one(value):
        return call("is_true", single_scalar(value, read))
    return call("is_true", only_one(value, read, scope, predicate.span))


def _filter(expr: Filter, scope: Scope) -> Value:
    return _filter_of(value_of(expr.base, scope), expr, scope)


def _filter_of(base: Value, expr: Filter, scope: Scope) -> Value:
    if base == EMPTY:
        return EMPTY
    found = leaves(base)
    is_path = is_sorted(base)
    if len(found) > 1:
        if not is_never_positional(expr.predicate):
            return _filtered_mixture(base, expr, scope)
        return _filtered_parts(base, expr, scope)
    kept = filtered(found, expr.predicate, scope)
    return each(kept[0].plan, Single(kept[0].item), is_path)


def _filtered_parts(value: Value, expr: Filter, scope: Scope) -> Value:
    match value:
        case Concat(values=several) | Merged(values=several):
            return replace(
                value, values=tuple(_filtered_parts(one, expr, scope) for one in several)
            )
    (leaf,) = leaves(value) if len(leaves(value)) == 1 else (None,)
    if leaf is None:
        raise NotNative("a predicate on such a sequence", expr.span)
    (kept,) = filtered([leaf], expr.predicate, scope)
    return each(kept.plan, Single(kept.item), is_sorted(value))


def _filtered_mixture(value: Value, expr: Filter, scope: Scope) -> Value:
    """A position in a sequence of several kinds of items."""
    predicate = expr.predicate
    listed = value.values if isinstance(value, Concat) and not value.exclusive else ()
    if listed and all(isinstance(one, Single) for one in listed):
        # the query itself says which item it is
        match predicate:
            case IntegerLiteral(value=number):
                return listed[number - 1] if 0 < number <= len(listed) else EMPTY
            case FunctionCall(name=name, arguments=()) if name.local == "last":
                return listed[-1]
    is_first = isinstance(predicate, IntegerLiteral) and predicate.value == 1
    if is_first and isinstance(value, Concat) and not value.exclusive:
        result: Value = EMPTY
        for one in reversed(value.values):
            result = conditional(exists(one), _filter_of(one, expr, scope), result)
        return result
    plan, item = as_one_kind(value, scope, expr.span)
    return each(kept_tuples(plan, item, predicate, scope), item, is_sorted(value))


EXPRESSIONS: Mapping[type, CompileExpression] = {Filter: _filter}
