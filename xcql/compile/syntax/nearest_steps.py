"""Steps to one of the nodes beside another: `following-sibling::x[1]`, `preceding::x[last()]`.

The nodes on such an axis are counted from the node that the step is from, so the one at a position
is found by bringing all nodes in order once. The others are never joined with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Literal

from xcql.algebra.operations import OPERATIONS
from xcql.algebra.operators import (
    Join,
    Nearest,
    Number,
    Order,
    Plan,
    Select,
    SortKey,
    Unit,
    free,
    scalars,
    walk_plan,
)
from xcql.algebra.scalars import Call, Column, Constant, Nested, call, walk_scalar
from xcql.compile.library.positions import is_never_positional
from xcql.compile.library.sideways import Beside, beside, innermost
from xcql.compile.syntax.predicates import filtered
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf
from xcql.syntax.functions import FunctionCall
from xcql.syntax.literals import IntegerLiteral
from xcql.syntax.node import Expr
from xcql.syntax.operators import Comparison
from xcql.syntax.path import AxisStep


def nearest(leaf: Leaf, step: AxisStep, scope: Scope) -> tuple[list[Leaf], Sequence[Expr]] | None:
    """The nodes at the first position that a step asks for, and the predicates behind it.

    None if it asks for none, or if the nodes have to be found in another way.
    """
    before = list(takewhile(lambda one: _position(one) is None, step.predicates))
    position = next((_position(one) for one in step.predicates[len(before) :]), None)
    if position is None or not all(map(is_never_positional, before)):
        return None
    side = beside(leaf, step.axis, step.test, scope, step.span)
    if side is None or (side.nested and position != 1):
        return None
    others = _passing(side, before, scope)
    if others is None:
        return None
    if side.nested:
        # the nearest node contains no other
        others = innermost(others, scope.within(side.plan))
    if position == "last":
        plan = _with_last(side, others, step.axis, scope)
    else:
        values = (side.here, side.value)
        plan = Nearest(
            side.plan, others.plan, side.keys, side.comparison, values, position, span=step.span
        )
    return [Leaf(plan, others.item)], step.predicates[len(before) + 1 :]


def _position(predicate: Expr) -> int | Literal["last"] | None:
    """The position that a predicate asks for, if it is the same for all nodes."""
    match predicate:
        case IntegerLiteral(value=value) if value > 0:
            return value
        case FunctionCall(name=name, arguments=()) if name.local == "last":
            return "last"
        case Comparison(op="=" | "eq", left=FunctionCall(name=name, arguments=()), right=right):
            return _position(right) if name.local == "position" else None
    return None


def _passing(side: Beside, predicates: Sequence[Expr], scope: Scope) -> Leaf | None:
    """The nodes beside that pass conditions; None if they depend on more than the node itself.

    The conditions are evaluated for nodes that lie beside none, too; that those with nested plans
    are is new, so they must not fail.
    """
    others = side.others
    inside = scope.within(side.plan)
    for predicate in predicates:
        (others,) = filtered([others], predicate, inside)
    if free(others.plan) or _may_fail(others.plan, side.others.plan):
        return None
    return others


def _may_fail(plan: Plan, base: Plan) -> bool:
    """Whether one of the conditions on a plan has nested plans and may fail."""
    while plan != base and isinstance(plan, Select):
        parts = [
            part
            for one in walk_plan(replace(plan, input=Unit()))
            for scalar in scalars(one)
            for part in walk_scalar(scalar)
        ]
        if any(isinstance(one, Nested) for one in parts) and any(
            isinstance(one, Call) and OPERATIONS[one.function].can_fail for one in parts
        ):
            return True
        plan = plan.input
    return plan != base


def _with_last(side: Beside, others: Leaf, axis: str, scope: Scope) -> Plan:
    """The nodes with the one that is farthest from them: the last or the first of all."""
    in_order = Order(others.plan, (SortKey(side.value, "key"),))
    keys = tuple(key for _, key in side.keys)
    is_last = axis in ("following", "following-sibling")
    numbered = Number(in_order, scope.compilation.fresh("position"), keys, is_last)
    farthest = Select(numbered, call("=", Column(numbered.name), Constant(1)))
    lies_there = call(side.comparison, side.here, side.value)
    return Join(side.plan, farthest, side.keys, lies_there, is_lookup=True)
