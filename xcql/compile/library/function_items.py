"""Calls of function items: their bodies, with arguments bound to their parameters.

A function that is chosen when the query runs, such as `$functions($name)`, is one of a few that are
known when it is compiled; its call is a choice of their results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xcql.algebra.scalars import FALSE, TRUE, Scalar, call, case
from xcql.compile.library.maps import entry_of
from xcql.compile.library.sequence_types import converted
from xcql.compile.result import NotNative
from xcql.compile.terms.items import COLLECTIONS, Function
from xcql.compile.terms.scope import Scope, value_of
from xcql.compile.terms.values import (
    EMPTY,
    Concat,
    Each,
    Single,
    Value,
    condition_of,
    guarded,
    is_optional,
)
from xcql.source import Span
from xcql.syntax.functions import Parameter


def applied(function_: Value, arguments: Sequence[Value], scope: Scope, span: Span) -> Value:
    """The value of a function item for some arguments."""
    if isinstance(function_, Single) and isinstance(function_.item, COLLECTIONS):
        if len(arguments) != 1:
            raise NotNative("a map or an array with another number of arguments", span)
        return entry_of(function_.item, arguments[0], scope, span)
    if not isinstance(function_, Single):
        return _chosen(function_, arguments, scope, span)
    if not isinstance(function_.item, Function):
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


def _chosen(function_: Value, arguments: Sequence[Value], scope: Scope, span: Span) -> Value:
    """The value of one of several functions, each of which is the one under a condition."""
    unknown = NotNative("a function that is known only when the query runs", span)
    if isinstance(function_, Concat) and not function_.exclusive:
        raise unknown
    choices: list[tuple[Scalar, Value]] = []
    for one in function_.values if isinstance(function_, Concat) else (function_,):
        match one:
            case Each(plan=plan, value=Single() as choice) if is_optional(plan):
                condition, known = condition_of(plan)
                if known:
                    raise unknown
                choices.append((condition, applied(choice, arguments, scope, span)))
            case _:
                raise unknown
    # a choice that is certainly evaluated, to see whether there is any
    index = next((number for number, (_, value) in enumerate(choices) if value != EMPTY), None)
    if index is None:
        raise unknown
    none = "only a function can be called; this is an empty sequence"
    failure = scope.compilation.error("XPTY0004", none, span)
    others = (
        (condition, FALSE) for number, (condition, _) in enumerate(choices) if number != index
    )
    condition, value = choices[index]
    choices[index] = call("is_true", case(*others, (condition, TRUE), otherwise=failure)), value
    return Concat(tuple(guarded(condition, value) for condition, value in choices), exclusive=True)


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
