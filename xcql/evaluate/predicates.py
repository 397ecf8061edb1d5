"""Predicates: `[...]` on steps and on any sequence, as lazy as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from xcql.evaluate.context import FN, Context
from xcql.evaluate.scope import Code, Environment, NameScope, compile_expression
from xcql.evaluate.sequences import Items, computed, first_two, items_between
from xcql.evaluate.values import effective_boolean
from xcql.syntax.control import If, Quantified
from xcql.syntax.functions import FunctionCall, NamedFunctionRef
from xcql.syntax.literals import IntegerLiteral, StringLiteral, VariableRef
from xcql.syntax.names import name_set
from xcql.syntax.node import Expr, SyntaxNode, walk
from xcql.syntax.operators import Binary, CastableAs, Comparison, InstanceOf
from xcql.syntax.path import AxisStep, Path
from xcql.syntax.temporal import AllenComparison

# chooses items of a sequence, in an environment and context
Filter = Callable[[Items, Environment, Context], Items]

_BOOLEAN_FUNCTIONS = name_set(
    "boolean contains deep-equal empty ends-with error exists false matches not starts-with true"
)
_COMPARISONS = {
    "lt": "lt", "<": "lt", "le": "le", "<=": "le", "eq": "eq", "=": "eq",
    "gt": "gt", ">": "gt", "ge": "ge", ">=": "ge",
}  # fmt: skip
_MIRRORED = {"lt": "gt", "le": "ge", "eq": "eq", "gt": "lt", "ge": "le"}


def compile_predicate(node: Expr, scope: NameScope) -> Filter:
    """Compile a predicate to a filter."""
    if isinstance(node, IntegerLiteral):
        return _at_position(node.value)
    if is_call(node, "last", scope):
        return _last
    bounds = _position_bounds(node, scope)
    if bounds is not None:
        return _between(*bounds)
    code = compile_expression(node, scope)
    if isinstance(node, VariableRef):
        return _by_variable(code, node)
    return _by_condition(code, node, needs_size=mentions(node, "last"), scope=scope)


def is_positional(node: Expr, scope: NameScope) -> bool:
    """Whether a predicate may depend on positions: `position()`, `last()`, or a number."""
    return mentions(node, "last") or mentions(node, "position") or not _is_boolean(node, scope)


def mentions(node: SyntaxNode, function: str) -> bool:
    """Whether an expression may use the focus's position or size, at any depth."""
    for inner in walk(node):
        if isinstance(inner, (FunctionCall, NamedFunctionRef)) and inner.name.local in (
            function,
            "function-lookup",
        ):
            return True
    return False


def is_call(node: SyntaxNode, local: str, scope: NameScope) -> bool:
    """Whether an expression calls the builtin function of that name without arguments."""
    if not isinstance(node, FunctionCall) or node.arguments or node.name.local != local:
        return False
    name = node.name
    if name.uri is not None:
        return name.uri == FN
    if name.prefix:
        return scope.static.namespaces.get(name.prefix) == FN
    return scope.static.default_function_namespace == FN


def _is_boolean(node: Expr, scope: NameScope) -> bool:
    """Whether the value is certainly not a number: then a predicate is a condition."""
    if isinstance(node, (Comparison, Quantified, InstanceOf, CastableAs, AllenComparison)):
        return True
    if isinstance(node, (AxisStep, StringLiteral)):
        return True
    if isinstance(node, Binary):
        return node.op in ("and", "or", "union", "intersect", "except")
    if isinstance(node, If):
        return _is_boolean(node.then, scope) and _is_boolean(node.otherwise, scope)
    if isinstance(node, Path):
        return not node.steps or isinstance(node.steps[-1], AxisStep)
    return (
        isinstance(node, FunctionCall)
        and node.name.local in _BOOLEAN_FUNCTIONS
        and node.name.uri is None
        and node.name.prefix in (None, "fn")
        and scope.static.default_function_namespace == FN
    )


def _at_position(position: int) -> Filter:
    def choose(items: Items, env: Environment, context: Context) -> Items:
        if position < 1:
            return ()
        if isinstance(items, (tuple, list, range)):
            return (items[position - 1],) if position <= len(items) else ()
        return tuple(items_between(items, position - 1, position))

    return choose


def _last(items: Items, env: Environment, context: Context) -> Items:
    found = computed(items)
    return (found[-1],) if found else ()


def _position_bounds(node: Expr, scope: NameScope) -> tuple[int, int | None] | None:
    """The first and the last position that `position() < 5` and the like allow."""
    if not isinstance(node, Comparison):
        return None
    relation = _COMPARISONS.get(node.op)
    left, right = node.left, node.right
    if relation and is_call(right, "position", scope):
        relation, left, right = _MIRRORED[relation], right, left
    if not relation or not is_call(left, "position", scope):
        return None
    if not isinstance(right, IntegerLiteral):
        return None
    number = right.value
    return {
        "lt": (1, number - 1),
        "le": (1, number),
        "eq": (max(number, 1), number),
        "gt": (max(number, 0) + 1, None),
        "ge": (max(number, 1), None),
    }[relation]


def _between(first: int, last: int | None) -> Filter:
    def choose(items: Items, env: Environment, context: Context) -> Items:
        if last is not None and last < first:
            return ()
        return items_between(items, first - 1, last)

    return choose


def _by_variable(code: Code, node: VariableRef) -> Filter:
    span = node.span

    def choose(items: Items, env: Environment, context: Context) -> Items:
        value = first_two(code(env, context))
        if len(value) == 1 and _is_number(value[0]):
            number = value[0]
            if number != number or number < 1 or number != int(number):
                return ()
            return _at_position(int(number))(items, env, context)
        return items if effective_boolean(value, span) else ()

    return choose


def _by_condition(code: Code, node: Expr, *, needs_size: bool, scope: NameScope) -> Filter:
    span = node.span
    is_condition = _is_boolean(node, scope)

    def choose(items: Items, env: Environment, context: Context) -> Iterator[Any]:
        size = None
        if needs_size:
            items = computed(items)
            size = len(items)
        # one focus for all items: no result of the condition outlives its truth value
        focus = Context(context.evaluation, None, 0, size)
        for item in items:
            focus.item = item
            focus.position += 1
            if is_condition:
                if effective_boolean(code(env, focus), span):
                    yield item
                continue
            value = first_two(code(env, focus))
            if len(value) == 1 and _is_number(value[0]):
                if value[0] == focus.position:
                    yield item
            elif effective_boolean(value, span):
                yield item

    return choose


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and value.__class__ is not bool
