"""Literals, variables, the context item, and the comma."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xcql.diagnostics import error
from xcql.evaluate.context import Context, no_context_item
from xcql.evaluate.scope import (
    Code,
    Environment,
    GlobalVariable,
    NameScope,
    compile_expression,
    compiles,
    plain_name,
    unknown_variable,
)
from xcql.evaluate.sequences import Items, hold
from xcql.source import Span
from xcql.syntax import literals
from xcql.xdm.names import QName


def constant(value: Any) -> Code:
    """Code that always returns the same value."""
    result = (value,)
    return lambda env, context: result


@compiles(literals.IntegerLiteral)
def integer_literal(node: literals.IntegerLiteral, scope: NameScope) -> Code:
    return constant(node.value)


@compiles(literals.DecimalLiteral)
def decimal_literal(node: literals.DecimalLiteral, scope: NameScope) -> Code:
    return constant(node.value)


@compiles(literals.DoubleLiteral)
def double_literal(node: literals.DoubleLiteral, scope: NameScope) -> Code:
    return constant(node.value)


@compiles(literals.StringLiteral)
def string_literal(node: literals.StringLiteral, scope: NameScope) -> Code:
    return constant(node.value)


@compiles(literals.ContextItem)
def context_item(node: literals.ContextItem, scope: NameScope) -> Code:
    span = node.span

    def run(env: Environment, context: Context) -> Items:
        if context.item is None:
            raise no_context_item(span)
        return (context.item,)

    return run


@compiles(literals.VariableRef)
def variable(node: literals.VariableRef, scope: NameScope) -> Code:
    name = plain_name(node.name, scope.static)
    depth = scope.depth_of(name)
    if depth is not None:
        return _local(depth)
    declared = scope.module.variables.get(name)
    if declared is None:
        raise unknown_variable(name, scope, node.span)
    return _global(declared, name, node.span)


def _local(depth: int) -> Code:
    if depth == 0:
        return lambda env, context: env[0]
    if depth == 1:
        return lambda env, context: env[1][0]
    if depth == 2:
        return lambda env, context: env[1][1][0]

    def run(env: Environment, context: Context) -> Items:
        for _ in range(depth):
            env = env[1]
        value: Items = env[0]
        return value

    return run


_UNDER_WAY = object()


def _global(declared: GlobalVariable, name: QName, span: Span) -> Code:
    def run(env: Environment, context: Context) -> Items:
        values: dict[QName, Any] = context.evaluation.globals
        value = values.get(name)
        if value is None:
            if declared.code is None:
                raise error("XPDY0002", f"the variable ${name} has no value", span)
            values[name] = _UNDER_WAY
            value = values[name] = hold(declared.code(None, context.evaluation.initial))
        if value is _UNDER_WAY:
            raise error("XQDY0054", f"the value of ${name} depends on itself", span)
        return value

    return run


@compiles(literals.Sequence)
def sequence(node: literals.Sequence, scope: NameScope) -> Code:
    if not node.items:
        return lambda env, context: ()
    codes = [compile_expression(item, scope) for item in node.items]

    def run(env: Environment, context: Context) -> Iterator[Any]:
        for code in codes:
            yield from code(env, context)

    return run
