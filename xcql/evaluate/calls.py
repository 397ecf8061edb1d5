"""Functions: resolving a call to a function, calling it, and functions as values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from xcql.diagnostics import XcqlError, error
from xcql.evaluate import registry
from xcql.evaluate.context import FN, XS, Context, StaticContext
from xcql.evaluate.conversion import convert
from xcql.evaluate.python_values import from_python, to_python
from xcql.evaluate.registry import Builtin, CallContext
from xcql.evaluate.scope import (
    Code,
    Environment,
    NameScope,
    compile_expression,
    compiles,
    function_name,
    near,
    plain_name,
)
from xcql.evaluate.sequences import Held, Items, computed, hold, located, zero_or_one
from xcql.evaluate.type_reader import read_sequence_type
from xcql.evaluate.types import (
    ANY_SEQUENCE,
    AtomicItemType,
    Signature,
    ValueType,
    builtin_type,
    signature_of,
)
from xcql.evaluate.values import atomize, kind_of
from xcql.source import Span
from xcql.syntax import functions as syntax
from xcql.syntax.node import Expr, Name
from xcql.syntax.operators import Arrow
from xcql.xdm.atomic import is_numeric
from xcql.xdm.functions import XdmArray, XdmFunction, XdmMap
from xcql.xdm.names import QName

# nested calls of user functions; each takes several Python frames (see `stack.py`)
MAX_DEPTH = 25_000

_KEY = ValueType(AtomicItemType("anyAtomicType"))
_POSITION = ValueType(AtomicItemType("integer"))

Invoke = Callable[[list[Items], Context], Items]


@dataclass(frozen=True, slots=True)
class Callee:
    """The function with a name and an arity. `invoke` takes converted arguments."""

    name: QName
    signature: Signature
    invoke: Invoke

    def call(self, arguments: list[Items], context: Context, span: Span) -> Items:
        """Call it with unconverted arguments."""
        return self.invoke(self.converted(arguments, span), context)

    def converted(self, arguments: list[Items], span: Span) -> list[Items]:
        return [
            convert(argument, wanted, _place(number, self.name), span)
            for number, (argument, wanted) in enumerate(
                zip(arguments, self.signature.parameters, strict=True), 1
            )
        ]

    def as_item(self, context: Context, span: Span) -> XdmFunction:
        """The function as a value; it keeps the context in which it was referred to."""
        return XdmFunction(
            self.name,
            len(self.signature.parameters),
            self.signature,
            lambda arguments: self.call(arguments, context, span),
        )


def _place(number: int, name: QName | str) -> Callable[[], str]:
    return lambda: f"argument {number} of {name}()"


@dataclass(slots=True)
class UserFunction:
    """A function that the prolog declares; its body is compiled once all names are known."""

    name: QName
    signature: Signature
    span: Span
    code: Code | None = None
    checks_result: bool = True

    def callee(self) -> Callee:
        return Callee(self.name, self.signature, self._invoke)

    def _invoke(self, arguments: list[Items], context: Context) -> Items:
        env: Environment = None
        for argument in arguments:
            env = (hold(argument), env)
        assert self.code is not None
        return run_body(
            self.code,
            env,
            context,
            self.signature.result if self.checks_result else None,
            self.name,
            self.span,
        )


def run_body(
    code: Code,
    env: Environment,
    context: Context,
    result_type: ValueType | None,
    name: QName | None,
    span: Span,
) -> Items:
    """Run a function's body, without a focus, and convert its result."""
    evaluation = context.evaluation
    if evaluation.depth >= MAX_DEPTH:
        raise too_deep(name, span)
    evaluation.depth += 1
    result = code(env, evaluation.focusless)
    if result_type is not None:
        result = convert(result, result_type, lambda: f"the result of {name or 'a function'}", span)
    kind = type(result)
    if kind is not tuple and kind is not list:
        result = computed(result)
    evaluation.depth -= 1
    return result


def too_deep(name: QName | None, span: Span) -> XcqlError:
    return error(
        "XCQL0003",
        f"{name or 'a function'} recurses too deeply: more than {MAX_DEPTH} nested calls",
        span,
        hints=["check that the recursion ends"],
    )


def find_callee(name: QName, arity: int, scope: NameScope, span: Span) -> Callee:
    """The function of that name and arity: the query's own, a builtin, or an external one."""
    declared = scope.module.functions.get((name, arity))
    if declared is not None:
        return declared.callee()
    external = scope.module.external_functions.get(name.local) if name.uri in (FN, "") else None
    builtin = registry.lookup(name.uri, name.local, arity)
    if builtin is not None:
        return _builtin_callee(builtin, name, scope.static, span)
    if external is not None:
        return _external_callee(external, name, arity, span)
    raise _unknown_function(name, arity, scope, span)


def _unknown_function(name: QName, arity: int, scope: NameScope, span: Span) -> XcqlError:
    reason = registry.UNSUPPORTED.get((name.uri, name.local))
    if reason is not None:
        return error("XPST0017", f"{name}() is not supported: {reason}", span)
    own = sorted(known for (other, known) in scope.module.functions if other == name)
    arities = own or registry.arities(name.uri, name.local)
    if arities:
        allowed = " or ".join(map(str, arities))
        noun = "argument" if arities == [1] else "arguments"
        return error(
            "XPST0017", f"{name}() takes {allowed} {noun}; {arity} {_are(arity)} given", span
        )
    names = {str(other) for other, _ in scope.module.functions} | set(
        scope.module.external_functions
    )
    hints = near(str(name), names, "did you mean {}()?")
    similar = registry.similar_names(name.uri, name.local)
    if similar and not hints:
        hints = [f"did you mean {' or '.join(f'{other}()' for other in similar)}?"]
    return error("XPST0017", f"unknown function {name}()", span, hints=hints)


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _builtin_callee(builtin: Builtin, name: QName, static: StaticContext, span: Span) -> Callee:
    types = tuple(builtin_type(parameter) for parameter in builtin.parameters)
    result_type = builtin_type(builtin.result)
    body = builtin.body
    # which arguments a builtin takes as one value, not as a sequence
    single = [parameter.occurrence in ("", "?") for parameter in types]

    def invoke(arguments: list[Items], context: Context) -> Items:
        passed: list[Any] = []
        for argument, is_single in zip(arguments, single, strict=True):
            if is_single:
                value = None
                for value in argument:  # noqa: B007
                    break
                passed.append(value)
            else:
                passed.append(argument)
        try:
            return as_sequence(body(CallContext(context, static, span), *passed))
        except XcqlError as problem:
            raise located(problem, span) from None

    prefix = name.prefix or registry.PREFIXES.get(name.uri, "")
    return Callee(QName(name.uri, name.local, prefix), Signature(types, result_type), invoke)


def as_sequence(result: Any) -> Items:
    """A builtin's result: one value, None, or an iterable of items."""
    if result is None:
        return ()
    if isinstance(result, (tuple, list, range, Held)) or hasattr(result, "__next__"):
        return result  # type: ignore[no-any-return]
    return (result,)


def _external_callee(function: Callable[..., Any], name: QName, arity: int, span: Span) -> Callee:
    """A Python function: its arguments are atomized, and converted to Python values."""

    def invoke(arguments: list[Items], context: Context) -> Items:
        values = [to_python(computed(atomize(argument))) for argument in arguments]
        try:
            return computed(from_python(function(*values)))
        except XcqlError as problem:
            raise located(problem, span) from None
        except Exception as problem:
            raise error(
                "XCQL0005",
                f"the external function {name.local}() failed: {problem}",
                span,
                notes=[f"it raised {type(problem).__name__}"],
            ) from problem

    return Callee(name, Signature((ANY_SEQUENCE,) * arity, ANY_SEQUENCE), invoke)


@compiles(syntax.FunctionCall)
def function_call(node: syntax.FunctionCall, scope: NameScope) -> Code:
    return _named_call(node.name, node.arguments, scope, node.span)


def _named_call(name: Name, arguments: tuple[Expr, ...], scope: NameScope, span: Span) -> Code:
    resolved = function_name(name, scope.static)
    callee = find_callee(resolved, len(arguments), scope, name.span)
    if resolved.uri == FN and resolved.local in ("max", "min") and len(arguments) == 2:
        return _extreme_of_two(resolved, arguments, callee, scope, span)
    if any(isinstance(argument, syntax.ArgumentPlaceholder) for argument in arguments):
        return _partial(callee, arguments, scope, span)
    codes = [compile_expression(argument, scope) for argument in arguments]
    invoke = callee.invoke
    # a parameter that takes any sequence needs no conversion
    steps = [
        (code, None if wanted == ANY_SEQUENCE else wanted, _place(number, name_of(resolved)))
        for number, (code, wanted) in enumerate(
            zip(codes, callee.signature.parameters, strict=True), 1
        )
    ]

    def run(env: Environment, context: Context) -> Items:
        passed = []
        for code, wanted, place in steps:
            value = code(env, context)
            passed.append(value if wanted is None else convert(value, wanted, place, span))
        return invoke(passed, context)

    return run


def name_of(name: QName) -> str:
    """A function's name, as users write it."""
    if name.prefix or name.uri == FN:
        return str(name)
    return f"xs:{name.local}" if name.uri == XS else name.local


def _extreme_of_two(
    name: QName, arguments: tuple[Expr, ...], callee: Callee, scope: NameScope, span: Span
) -> Code:
    """`max(a, 5000)`: a number as second argument is a value, not a collation."""
    first = compile_expression(arguments[0], scope)
    second = compile_expression(arguments[1], scope)
    of_one = find_callee(name, 1, scope, span)

    def run(env: Environment, context: Context) -> Items:
        other = computed(second(env, context))
        if len(other) == 1 and is_numeric(other[0]):
            return of_one.call([[*first(env, context), *other]], context, span)
        return callee.call([first(env, context), other], context, span)

    return run


def _partial(callee: Callee, arguments: tuple[Expr, ...], scope: NameScope, span: Span) -> Code:
    codes = [
        None
        if isinstance(argument, syntax.ArgumentPlaceholder)
        else compile_expression(argument, scope)
        for argument in arguments
    ]

    def run(env: Environment, context: Context) -> Items:
        return (_partially_applied(callee.as_item(context, span), codes, env, context, span),)

    return run


def _partially_applied(
    function: XdmFunction, codes: list[Code | None], env: Environment, context: Context, span: Span
) -> XdmFunction:
    """A function of the arguments that are left open."""
    signature = signature_of(function)
    fixed = [
        None
        if code is None
        else computed(convert(code(env, context), wanted, _place(number, "the function"), span))
        for number, (code, wanted) in enumerate(zip(codes, signature.parameters, strict=True), 1)
    ]
    open_types = tuple(
        wanted for value, wanted in zip(fixed, signature.parameters, strict=True) if value is None
    )

    def call(arguments: list[Items]) -> Items:
        given = iter(arguments)
        return call_item(
            function, [next(given) if value is None else value for value in fixed], span
        )

    return XdmFunction(None, len(open_types), Signature(open_types, signature.result), call)


@compiles(syntax.DynamicCall)
def dynamic_call(node: syntax.DynamicCall, scope: NameScope) -> Code:
    return _dynamic_call(compile_expression(node.function, scope), node.arguments, scope, node.span)


def _dynamic_call(target: Code, arguments: tuple[Expr, ...], scope: NameScope, span: Span) -> Code:
    codes = [
        None
        if isinstance(argument, syntax.ArgumentPlaceholder)
        else compile_expression(argument, scope)
        for argument in arguments
    ]
    partial = None in codes

    def run(env: Environment, context: Context) -> Items:
        function = zero_or_one(target(env, context), "the called value", span)
        if not isinstance(function, XdmFunction):
            shown = "an empty sequence" if function is None else kind_of(function)
            raise error("XPTY0004", f"only a function can be called; this is {shown}", span)
        if function.arity != len(codes):
            raise error(
                "XPTY0004",
                f"the function takes {function.arity} arguments; {len(codes)} are given",
                span,
            )
        if partial:
            return (_partially_applied(function, codes, env, context, span),)
        return call_item(function, [code(env, context) for code in codes if code is not None], span)

    return run


def call_item(function: XdmFunction, arguments: list[Items], span: Span) -> Items:
    """Call a function item with unconverted arguments."""
    if isinstance(function, (XdmMap, XdmArray)):
        wanted = _KEY if isinstance(function, XdmMap) else _POSITION
        arguments = [convert(arguments[0], wanted, _place(1, "the function"), span)]
    try:
        return function.call(arguments)
    except XcqlError as problem:
        raise located(problem, span) from None


@compiles(Arrow)
def arrow(node: Arrow, scope: NameScope) -> Code:
    arguments = (node.base, *node.arguments)
    if isinstance(node.function, Name):
        return _named_call(node.function, arguments, scope, node.span)
    target = compile_expression(node.function, scope)
    return _dynamic_call(target, arguments, scope, node.span)


@compiles(syntax.NamedFunctionRef)
def named_function_reference(node: syntax.NamedFunctionRef, scope: NameScope) -> Code:
    name = function_name(node.name, scope.static)
    callee = find_callee(name, node.arity, scope, node.span)
    return lambda env, context: (callee.as_item(context, node.span),)


@compiles(syntax.InlineFunction)
def inline_function(node: syntax.InlineFunction, scope: NameScope) -> Code:
    names = parameter_names(node.parameters, scope)
    signature = read_signature(node.parameters, node.result_type, scope)
    body = compile_expression(node.body, scope.bind(*names))
    annotations = read_annotations(node.annotations, scope)
    result_type = None if node.result_type is None else signature.result
    wanted = [None if kind == ANY_SEQUENCE else kind for kind in signature.parameters]
    span = node.span

    def run(env: Environment, context: Context) -> Items:
        def call(arguments: list[Items]) -> Items:
            inner = env
            for number, (argument, kind) in enumerate(zip(arguments, wanted, strict=True), 1):
                if kind is not None:
                    argument = convert(argument, kind, _place(number, "the function"), span)
                inner = (hold(argument), inner)
            return run_body(body, inner, context, result_type, None, span)

        return (XdmFunction(None, len(wanted), signature, call, annotations),)

    return run


def read_signature(
    parameters: Iterable[syntax.Parameter], result: Any, scope: NameScope
) -> Signature:
    """The types of a declared or inline function; a missing type is `item()*`."""
    return Signature(
        tuple(
            ANY_SEQUENCE if parameter.type is None else read_sequence_type(parameter.type, scope)
            for parameter in parameters
        ),
        ANY_SEQUENCE if result is None else read_sequence_type(result, scope),
    )


def parameter_names(parameters: Iterable[syntax.Parameter], scope: NameScope) -> list[QName]:
    names: list[QName] = []
    for parameter in parameters:
        name = plain_name(parameter.name, scope.static)
        if name in names:
            raise error("XQST0039", f"duplicate parameter ${name}", parameter.span)
        names.append(name)
    return names


# namespaces in which only the standard can define names
_RESERVED = (
    "http://www.w3.org/XML/1998/namespace",
    XS,
    "http://www.w3.org/2001/XMLSchema-instance",
    FN,
    f"{FN}/math",
    f"{FN}/map",
    f"{FN}/array",
    "http://www.w3.org/2012/xquery",
)


def read_annotations(
    annotations: Iterable[syntax.Annotation], scope: NameScope
) -> tuple[QName, ...]:
    """The names of annotations: unprefixed ones belong to the standard, which has only two."""
    names: list[QName] = []
    for annotation in annotations:
        given = annotation.name
        if not given.prefix and given.uri is None:
            name = QName("http://www.w3.org/2012/xquery", given.local)
            if given.local not in ("public", "private"):
                raise _reserved_annotation(annotation)
            if any(known.uri == name.uri for known in names):
                raise error("XQST0106", "%public and %private cannot be combined", annotation.span)
        else:
            name = function_name(given, scope.static)
            if name.uri in _RESERVED:
                raise _reserved_annotation(annotation)
        names.append(name)
    return tuple(names)


def _reserved_annotation(annotation: syntax.Annotation) -> XcqlError:
    return error(
        "XQST0045",
        f"the annotation %{annotation.name} is in a reserved namespace",
        annotation.span,
        hints=["use a prefix of your own"],
    )
