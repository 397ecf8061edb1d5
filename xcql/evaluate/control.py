"""Conditions, switches, quantifiers, try/catch, and hints about evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.casting import make_qname
from xcql.evaluate.comparing import same_value
from xcql.evaluate.context import ERR, Context
from xcql.evaluate.functions.errors import RaisedError
from xcql.evaluate.scope import (
    Code,
    Environment,
    NameScope,
    compile_expression,
    compiles,
    element_name,
    plain_name,
    prefix_uri,
)
from xcql.evaluate.sequences import Items, computed, hold, located, zero_or_one_atomic
from xcql.evaluate.type_reader import read_sequence_type
from xcql.evaluate.types import ValueType
from xcql.evaluate.values import effective_boolean
from xcql.source import Span
from xcql.syntax import control as syntax
from xcql.syntax.node import Name, SyntaxNode
from xcql.syntax.path import NameTest, Wildcard
from xcql.xdm.names import QName


@compiles(syntax.If)
def if_expression(node: syntax.If, scope: NameScope) -> Code:
    condition = compile_expression(node.condition, scope)
    then = compile_expression(node.then, scope)
    otherwise = compile_expression(node.otherwise, scope)
    span = node.condition.span

    def run(env: Environment, context: Context) -> Items:
        if effective_boolean(condition(env, context), span):
            return then(env, context)
        return otherwise(env, context)

    return run


@compiles(syntax.Switch)
def switch(node: syntax.Switch, scope: NameScope) -> Code:
    operand = compile_expression(node.operand, scope)
    cases = [
        (
            [(compile_expression(value, scope), value.span) for value in case.values],
            compile_expression(case.result, scope),
        )
        for case in node.cases
    ]
    default = compile_expression(node.default, scope)
    collation, span = scope.static.default_collation, node.operand.span

    def run(env: Environment, context: Context) -> Items:
        wanted = zero_or_one_atomic(operand(env, context), "the operand of switch", span)
        for values, result in cases:
            for value, value_span in values:
                found = zero_or_one_atomic(value(env, context), "a case of switch", value_span)
                if found is None or wanted is None:
                    if found is wanted:
                        return result(env, context)
                elif same_value(wanted, found, collation):
                    return result(env, context)
        return default(env, context)

    return run


@compiles(syntax.Typeswitch)
def typeswitch(node: syntax.Typeswitch, scope: NameScope) -> Code:
    operand = compile_expression(node.operand, scope)
    cases = [
        (
            [read_sequence_type(wanted, scope) for wanted in case.types],
            *_branch(case.variable, case.result, scope),
        )
        for case in node.cases
    ]
    default, default_binds = _branch(node.default_variable, node.default, scope)

    def run(env: Environment, context: Context) -> Items:
        value = computed(operand(env, context))
        for wanted, result, binds in cases:
            if any(one.matches(value) for one in wanted):
                return result((value, env) if binds else env, context)
        return default((value, env) if default_binds else env, context)

    return run


def _branch(variable: Name | None, result: SyntaxNode, scope: NameScope) -> tuple[Code, bool]:
    if variable is None:
        return compile_expression(result, scope), False
    inner = scope.bind(plain_name(variable, scope.static))
    return compile_expression(result, inner), True


@compiles(syntax.Quantified)
def quantified(node: syntax.Quantified, scope: NameScope) -> Code:
    some = node.quantifier == "some"
    bindings: list[tuple[Code, Callable[[Any], Items] | None]] = []
    for binding in node.bindings:
        source = compile_expression(binding.source, scope)
        check = None
        if binding.type is not None:
            wanted = read_sequence_type(binding.type, scope)
            check = _checked(wanted, str(binding.variable), binding.span)
        bindings.append((source, check))
        scope = scope.bind(plain_name(binding.variable, scope.static))
    condition = compile_expression(node.condition, scope)
    span = node.condition.span

    def holds(depth: int, env: Environment, context: Context) -> bool:
        if depth == len(bindings):
            return effective_boolean(condition(env, context), span)
        source, check = bindings[depth]
        for item in source(env, context):
            value = (item,) if check is None else check(item)
            if holds(depth + 1, (value, env), context) is some:
                return some
        return not some

    return lambda env, context: (holds(0, env, context),)


def _checked(wanted: ValueType, name: str, span: Span) -> Callable[[Any], Items]:
    def check(item: Any) -> Items:
        if not wanted.matches((item,)):
            raise error("XPTY0004", f"${name} must be {wanted}", span)
        return (item,)

    return check


# the variables of a catch clause, the innermost last
_CATCH_VARIABLES = (
    "code",
    "description",
    "value",
    "module",
    "line-number",
    "column-number",
    "additional",
)


@compiles(syntax.TryCatch)
def try_catch(node: syntax.TryCatch, scope: NameScope) -> Code:
    body = compile_expression(node.body, scope)
    inner = scope.bind(*(QName(ERR, local, "err") for local in _CATCH_VARIABLES))
    catches = [
        (
            [_error_test(test, scope) for test in clause.tests],
            compile_expression(clause.body, inner),
        )
        for clause in node.catches
    ]
    span = node.body.span

    def run(env: Environment, context: Context) -> Items:
        evaluation = context.evaluation
        depth = evaluation.depth
        try:
            return computed(body(env, context))
        except XcqlError as problem:
            name = error_name(problem)
            evaluation.depth = depth
            for tests, handler in catches:
                if any(test(name) for test in tests):
                    caught = _caught(located(problem, span), name, env)
                    return computed(handler(caught, context))
            raise

    return run


def error_name(problem: XcqlError) -> QName:
    """The QName of an error: in the W3C's namespace, or the argument of `fn:error`."""
    if isinstance(problem, RaisedError):
        name = problem.name
        return QName(name.uri or "", name.local_name, name.prefix or "")
    return QName(ERR, problem.code, "err")


def _error_test(test: SyntaxNode, scope: NameScope) -> Callable[[QName], bool]:
    if isinstance(test, NameTest):
        wanted = element_name(test.name, scope.static)
        if not test.name.prefix and test.name.uri is None:
            wanted = plain_name(test.name, scope.static)
        return lambda name: name == wanted
    assert isinstance(test, Wildcard)
    uri, local = test.uri, test.local
    if test.prefix is not None:
        uri = prefix_uri(test.prefix, scope.static, test.span)
    return lambda name: (uri is None or name.uri == uri) and (local is None or name.local == local)


def _caught(problem: XcqlError, name: QName, env: Environment) -> Environment:
    span = problem.diagnostic.span
    values: tuple[Items, ...] = (
        (make_qname(name.uri, name.prefix, name.local),),
        (problem.message,),
        problem.items if isinstance(problem, RaisedError) else (),
        () if span is None else (span.source.name,),
        () if span is None else (span.line,),
        () if span is None else (span.column,),
        problem.diagnostic.notes,
    )
    for value in values:
        env = (value, env)
    return env


@compiles(syntax.Ordered)
def ordered(node: syntax.Ordered, scope: NameScope) -> Code:
    # `unordered` allows any order
    return compile_expression(node.body, scope)


@compiles(syntax.Extension)
def extension(node: syntax.Extension, scope: NameScope) -> Code:
    for pragma in node.pragmas:
        if pragma.name.prefix:
            prefix_uri(pragma.name.prefix, scope.static, pragma.span)
    if node.body is None:
        raise error(
            "XQST0079",
            "none of the pragmas is known, and there is no expression to evaluate instead",
            node.span,
            hints=["write one between the braces"],
        )
    return compile_expression(node.body, scope)


@compiles(syntax.Validate)
def validate(node: syntax.Validate, scope: NameScope) -> Code:
    raise error("XQST0075", "validation is not part of XCQL", node.span)


def bind_checked(source: Code, wanted: ValueType | None, name: str, span: Span) -> Code:
    """The value of a `let` or a declared variable, which must have its type without conversion."""
    if wanted is None:
        return lambda env, context: hold(source(env, context))

    def run(env: Environment, context: Context) -> Items:
        value = computed(source(env, context))
        if not wanted.matches(value):
            raise error("XPTY0004", f"${name} must be {wanted}", span)
        return value

    return run
