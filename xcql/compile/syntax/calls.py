"""Calls: of native functions, of the query's own functions, of inline functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from xcql.algebra.scalars import Constant
from xcql.analysis.names import FUNCTIONS, LOCAL, Namespaces
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.externals import external_call
from xcql.compile.library.function_items import applied, bind_parameters
from xcql.compile.library.recursive_calls import calls_itself, recursive_call
from xcql.compile.library.sequence_types import XS, cast_value, converted
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Function, StreamDocument
from xcql.compile.terms.native_functions import CallSite
from xcql.compile.terms.scope import CompileExpression, Scope, value_of
from xcql.compile.terms.values import Single, Value, without_failures
from xcql.syntax.functions import (
    ArgumentPlaceholder,
    DynamicCall,
    FunctionCall,
    InlineFunction,
    NamedFunctionRef,
    Parameter,
)
from xcql.syntax.literals import StringLiteral, VariableRef
from xcql.syntax.node import Expr, Name
from xcql.syntax.path import AxisStep, NameTest
from xcql.syntax.prolog import FunctionDecl


def _call(expr: FunctionCall, scope: Scope) -> Value:
    only_compared, scope = scope.only_compared, replace(scope, only_compared=False)
    uri, local = scope.names.function_name(expr.name)
    if any(isinstance(one, ArgumentPlaceholder) for one in expr.arguments):
        return _partly_applied(expr, scope)
    own = scope.compilation.functions.get((uri or "", local, len(expr.arguments)))
    if own is not None:
        return inlined(own, expr, scope)
    if uri == XS and len(expr.arguments) == 1:
        operand = value_of(expr.arguments[0], scope)
        return cast_value(operand, f"xs:{local}", True, scope, expr.span)
    if uri == FUNCTIONS and local == "stream":
        return _stream(expr, scope)
    if uri == LOCAL:
        uri = FUNCTIONS
    native = scope.compilation.language.functions.get((uri or "", local, len(expr.arguments)))
    returns = scope.compilation.externals.functions.get(local)
    if native is None and uri == FUNCTIONS and returns is not None:
        return external_call(expr, returns, scope)
    if native is None:
        raise NotNative(f"the function {local}#{len(expr.arguments)} has no native form", expr.span)
    arguments = tuple(without_failures(value_of(one, scope), expr.span) for one in expr.arguments)
    return native(CallSite(scope, expr.span, arguments, expr.arguments, only_compared))


def _stream(expr: FunctionCall, scope: Scope) -> Value:
    streams = scope.compilation.catalog.streams
    match expr.arguments:
        case ():
            if len(streams) != 1:
                raise NotNative("a call of stream() without a name", expr.span)
            return stream_document(expr, next(iter(streams)), scope)
        case (StringLiteral(value=name),):
            return stream_document(expr, name, scope)
        case (AxisStep(axis="child", test=NameTest(name=name)),):
            return stream_document(expr, name.local, scope)
    item = one_atomic(value_of(expr.arguments[0], scope), scope, expr.span)
    if item is None or not isinstance(item.scalar, Constant):
        raise NotNative("a stream whose name is computed", expr.span)
    return stream_document(expr, str(item.scalar.value), scope)


def inlined(own: FunctionDecl, expr: FunctionCall, scope: Scope) -> Value:
    """The body of one of the query's functions, in place of a call."""
    compilation = scope.compilation
    if own.body is None:
        raise NotNative(f"the external function {expr.name}", expr.span)
    arguments = [without_failures(value_of(one, scope), expr.span) for one in expr.arguments]
    inside = Scope(
        compilation,
        Namespaces.of(compilation.module.declarations),
        compilation.globals,
        taken=scope.taken,
        loops=scope.loops,
    )
    inside = bind_parameters(inside, own.parameters, arguments, scope, expr.span)
    body = partial(value_of, own.body, inside)
    if calls_itself(own, scope):
        value = recursive_call(own, arguments, body, scope, expr.span)
    else:
        value = body()
    if own.result_type is not None:
        value = converted(value, own.result_type, scope, expr.span)
    return value


# functions as values


def _inline(expr: InlineFunction, scope: Scope) -> Value:
    return Single(Function(expr, scope))


def _reference(expr: NamedFunctionRef, scope: Scope) -> Value:
    names = [f"arg{number}" for number in range(expr.arity)]
    parameters = tuple(
        Parameter(Name(name, span=expr.span), None, span=expr.span) for name in names
    )
    body = FunctionCall(
        expr.name,
        tuple(VariableRef(Name(name, span=expr.span), span=expr.span) for name in names),
        span=expr.span,
    )
    return Single(Function(InlineFunction((), parameters, None, body, span=expr.span), scope))


def _partly_applied(expr: FunctionCall | DynamicCall, scope: Scope) -> Value:
    """`f(?, 1)`: a function of the open arguments; the others are evaluated here."""
    parameters: list[Parameter] = []
    arguments: list[Expr] = []
    for argument in expr.arguments:
        # no query can name such a variable
        name = Name(f"#{scope.compilation.number()}", span=argument.span)
        arguments.append(VariableRef(name, span=argument.span))
        if isinstance(argument, ArgumentPlaceholder):
            parameters.append(Parameter(name, None, span=argument.span))
        else:
            scope = scope.bind(name, value_of(argument, scope))
    body = replace(expr, arguments=tuple(arguments))
    return Single(
        Function(InlineFunction((), tuple(parameters), None, body, span=expr.span), scope)
    )


def _dynamic_call(expr: DynamicCall, scope: Scope) -> Value:
    if any(isinstance(one, ArgumentPlaceholder) for one in expr.arguments):
        return _partly_applied(expr, scope)
    function_ = value_of(expr.function, scope)
    arguments = [value_of(one, scope) for one in expr.arguments]
    return applied(function_, arguments, scope, expr.span)


def stream_document(call_: FunctionCall, name: str, scope: Scope) -> Value:
    if name not in scope.compilation.catalog.streams:
        raise NotNative(f"there is no stream '{name}'", call_.span)
    return Single(StreamDocument(name))


EXPRESSIONS: Mapping[type, CompileExpression] = {
    FunctionCall: _call,
    InlineFunction: _inline,
    NamedFunctionRef: _reference,
    DynamicCall: _dynamic_call,
}
