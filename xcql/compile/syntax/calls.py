"""Calls: of functions that the dialect can express, of the query's own, of functions in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module

from xcql.algebra.scalars import Constant
from xcql.analysis.names import FUNCTIONS, LOCAL, Namespaces
from xcql.compile.library.atomization import atomized
from xcql.compile.library.casts import NUMBERS, cast
from xcql.compile.result import NotNative
from xcql.compile.terms.items import ArrayItem, Function, Item, MapItem
from xcql.compile.terms.mapping import mapped_items
from xcql.compile.terms.scope import Compilation, Scope, compiles, value_of
from xcql.compile.terms.values import Single, Value
from xcql.source import Span
from xcql.syntax.functions import (
    ArgumentPlaceholder,
    DynamicCall,
    FunctionCall,
    InlineFunction,
    NamedFunctionRef,
    Parameter,
)
from xcql.syntax.literals import VariableRef
from xcql.syntax.node import Expr, Name
from xcql.syntax.prolog import FunctionDecl
from xcql.syntax.types import AtomicType, SequenceType

XS = "http://www.w3.org/2001/XMLSchema"
MATH = f"{FUNCTIONS}/math"


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call, with the values of its arguments; `only_compared` as in `Scope`."""

    scope: Scope
    span: Span
    arguments: tuple[Value, ...]
    expressions: tuple[Expr, ...]
    only_compared: bool = False

    @property
    def compilation(self) -> Compilation:
        return self.scope.compilation


NativeFunction = Callable[[CallSite], Value]
_LIBRARY: dict[tuple[str, str, int], NativeFunction] = {}
_TOPICS = (
    "aggregates",
    "sequences",
    "strings",
    "patterns",
    "numbers",
    "mathematics",
    "formatting",
    "times",
    "nodes",
    "trees",
    "errors",
)


def function(
    name: str, *arities: int, uri: str = FUNCTIONS
) -> Callable[[NativeFunction], NativeFunction]:
    """Declare the native form of a function, for some numbers of arguments."""

    def register(code: NativeFunction) -> NativeFunction:
        for arity in arities:
            _LIBRARY[uri, name, arity] = code
        return code

    return register


@cache
def library() -> dict[tuple[str, str, int], NativeFunction]:
    for topic in _TOPICS:
        import_module(f"xcql.compile.functions.{topic}")
    import_module("xcql.compile.syntax.maps")
    return _LIBRARY


@compiles(FunctionCall)
def _call(expr: FunctionCall, scope: Scope) -> Value:
    only_compared, scope = scope.only_compared, replace(scope, only_compared=False)
    uri, local = scope.names.function_name(expr.name)
    if any(isinstance(one, ArgumentPlaceholder) for one in expr.arguments):
        return _partly_applied(expr, scope)
    own = scope.compilation.functions.get((uri or "", local, len(expr.arguments)))
    if own is not None:
        return inlined(own, expr, scope)
    if uri == XS and len(expr.arguments) == 1:
        from xcql.compile.syntax.expressions import cast_value

        operand = value_of(expr.arguments[0], scope)
        return cast_value(operand, f"xs:{local}", True, scope, expr.span)
    if uri == FUNCTIONS and local == "stream":
        return _stream(expr, scope)
    if uri == LOCAL:
        uri = FUNCTIONS
    native = library().get((uri or "", local, len(expr.arguments)))
    returns = scope.compilation.externals.functions.get(local)
    if native is None and uri == FUNCTIONS and returns is not None:
        from xcql.compile.library.externals import external_call

        return external_call(expr, returns, scope)
    if native is None:
        raise NotNative(f"the function {local}#{len(expr.arguments)} has no native form", expr.span)
    arguments = tuple(value_of(argument, scope) for argument in expr.arguments)
    return native(CallSite(scope, expr.span, arguments, expr.arguments, only_compared))


def _stream(expr: FunctionCall, scope: Scope) -> Value:
    from xcql.compile.syntax.paths import stream_document
    from xcql.syntax.literals import StringLiteral
    from xcql.syntax.path import AxisStep, NameTest

    streams = scope.compilation.catalog.streams
    match expr.arguments:
        case ():
            if len(streams) != 1:
                raise NotNative("which stream is meant", expr.span)
            return stream_document(expr, next(iter(streams)), scope)
        case (StringLiteral(value=name),):
            return stream_document(expr, name, scope)
        case (AxisStep(axis="child", test=NameTest(name=name)),):
            return stream_document(expr, name.local, scope)
    from xcql.compile.library.atomization import one_atomic

    item = one_atomic(value_of(expr.arguments[0], scope), scope, expr.span)
    if item is None or not isinstance(item.scalar, Constant):
        raise NotNative("a stream whose name is computed", expr.span)
    return stream_document(expr, str(item.scalar.value), scope)


def inlined(own: FunctionDecl, expr: FunctionCall, scope: Scope) -> Value:
    """The body of one of the query's functions, in place of a call."""
    compilation = scope.compilation
    if own.body is None:
        raise NotNative(f"the external function {expr.name}", expr.span)
    key = (*scope.names.function_name(expr.name), len(expr.arguments))
    if key in compilation.active:
        raise NotNative(f"the function {expr.name} calls itself", expr.span)
    arguments = [value_of(one, scope) for one in expr.arguments]
    inside = Scope(
        compilation,
        Namespaces.of(compilation.module.declarations),
        compilation.globals,
        taken=scope.taken,
    )
    inside = bind_parameters(inside, own.parameters, arguments, scope, expr.span)
    compilation.active.append(key)  # type: ignore[arg-type]
    try:
        value = value_of(own.body, inside)
    finally:
        compilation.active.pop()
    if own.result_type is not None:
        value = converted(value, own.result_type, scope, expr.span)
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


def converted(
    value: Value, type_: SequenceType, scope: Scope, span: Span, is_call: bool = True
) -> Value:
    """A value as the function conversion rules make it fit a type; they must be sure to."""
    from xcql.compile.syntax.expressions import is_instance, type_name

    if isinstance(type_.item, AtomicType):
        target = type_name(type_.item.name, scope)
        if is_call:
            if target != "xs:anyAtomicType":
                value = mapped_items(value, lambda item: _fitting(item, target, scope, span))
            else:
                value = mapped_items(value, lambda item: atomized(item, scope))
    if is_instance(value, type_, scope, span) != Constant(True):
        fits = is_instance(value, type_, scope, span)
        bad = scope.compilation.error(
            "XPTY0004", "a value that does not fit the type that is declared", span
        )
        from xcql.algebra.scalars import call, case
        from xcql.compile.terms.values import guarded

        # `is_true`, as what fails has no type
        return guarded(call("is_true", case((fits, Constant(True)), otherwise=bad)), value)
    return value


def _fitting(item: Item, target: str, scope: Scope, span: Span) -> Item:
    found = atomized(item, scope)
    if found.type == "xs:untypedAtomic" and target not in ("xs:untypedAtomic", "xs:numeric"):
        return cast(found, target, scope, span)
    if found.type == "xs:untypedAtomic" and target == "xs:numeric":
        return cast(found, "xs:double", scope, span)
    if found.type in NUMBERS and target in ("xs:double",):
        return cast(found, target, scope, span)
    if found.type == "xs:anyURI" and target == "xs:string":
        return replace(found, type="xs:string")
    return found


# functions as values


@compiles(InlineFunction)
def _inline(expr: InlineFunction, scope: Scope) -> Value:
    return Single(Function(expr, scope))


@compiles(NamedFunctionRef)
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
    """`f(?, 1)`: a function of what is left open; the rest is evaluated here."""
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


@compiles(DynamicCall)
def _dynamic_call(expr: DynamicCall, scope: Scope) -> Value:
    if any(isinstance(one, ArgumentPlaceholder) for one in expr.arguments):
        return _partly_applied(expr, scope)
    function_ = value_of(expr.function, scope)
    arguments = [value_of(one, scope) for one in expr.arguments]
    return applied(function_, arguments, scope, expr.span)


def applied(function_: Value, arguments: Sequence[Value], scope: Scope, span: Span) -> Value:
    """The value of a function item for some arguments."""
    if isinstance(function_, Single) and isinstance(function_.item, MapItem | ArrayItem):
        from xcql.compile.syntax.maps import entry_of

        if len(arguments) != 1:
            raise NotNative("a map or an array with another number of arguments", span)
        return entry_of(function_.item, arguments[0], scope, span)
    if not isinstance(function_, Single) or not isinstance(function_.item, Function):
        raise NotNative("a function that is known only when the query runs", span)
    code, written = function_.item.code, function_.item.scope
    if len(code.parameters) != len(arguments):
        raise NotNative("a call with another number of arguments", span)
    inside = replace(written, taken=written.taken | scope.taken, context=None)
    inside = bind_parameters(inside, code.parameters, arguments, scope, span)
    value = value_of(code.body, inside)
    if code.result_type is not None:
        value = converted(value, code.result_type, scope, span)
    return value
