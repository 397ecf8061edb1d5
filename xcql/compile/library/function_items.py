"""Calls of function items: their bodies, with arguments bound to their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xcql.compile.library.maps import entry_of
from xcql.compile.library.sequence_types import converted
from xcql.compile.result import NotNative
from xcql.compile.terms.items import COLLECTIONS, Function
from xcql.compile.terms.scope import Scope, value_of
from xcql.compile.terms.values import Single, Value
from xcql.source import Span
from xcql.syntax.functions import Parameter


def applied(function_: Value, arguments: Sequence[Value], scope: Scope, span: Span) -> Value:
    """The value of a function item for some arguments."""
    if isinstance(function_, Single) and isinstance(function_.item, COLLECTIONS):
        if len(arguments) != 1:
            raise NotNative("a map or an array with another number of arguments", span)
        return entry_of(function_.item, arguments[0], scope, span)
    if not isinstance(function_, Single) or not isinstance(function_.item, Function):
        raise NotNative("a function that is known only when the query runs", span)
    code, written = function_.item.code, function_.item.scope
    if len(code.parameters) != len(arguments):
        raise NotNative("a call with another number of arguments", span)
    taken = written.taken | scope.taken
    inside = replace(written, taken=taken, loops=scope.loops, context=None)
    inside = bind_parameters(inside, code.parameters, arguments, scope, span)
    active = scope.compilation.active
    key = "", f"#{id(code)}", len(arguments)
    if key in active:
        raise NotNative("an inline function that calls itself", span)
    active.append(key)
    try:
        value = value_of(code.body, inside)
    finally:
        active.pop()
    if code.result_type is not None:
        value = converted(value, code.result_type, scope, span)
    return value


def bind_parameters(
    inside: Scope,
    parameters: Sequence[Parameter],
    arguments: Sequence[Value],
    scope: Scope,
    span: Span,
) -> Scope:
    for parameter, argument in zip(parameters, arguments, strict=True):
        if parameter.type is not None:
            argument = converted(argument, parameter.type, scope, span)
        inside = inside.bind(parameter.name, argument)
    return inside
