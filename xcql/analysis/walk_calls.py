"""The walk over function calls, and over expressions that return functions."""

from __future__ import annotations

from dataclasses import replace

from xcql.analysis import functions as known
from xcql.analysis.names import FUNCTIONS
from xcql.analysis.types import ATOM, PLAIN, UNKNOWN
from xcql.analysis.walk_functions import called_with_anything, is_atomic, user_call
from xcql.analysis.walk_temporal import spanned
from xcql.analysis.walker import Env, Typed, Walker, walks
from xcql.diagnostics import error
from xcql.syntax.functions import DynamicCall, FunctionCall, InlineFunction, NamedFunctionRef
from xcql.syntax.literals import ContextItem, StringLiteral
from xcql.syntax.node import Expr, Name
from xcql.syntax.operators import Arrow

_CLOCK = frozenset({"current-dateTime", "current-date", "current-time", "implicit-timezone"})


@walks(FunctionCall)
def call(w: Walker, node: FunctionCall, env: Env) -> Typed:
    uri, local = env.names.function_name(node.name)
    declared = w.functions.get((uri or "", local, len(node.arguments)))
    if declared is not None:
        return user_call(w, node, declared, env)
    if uri == FUNCTIONS:
        return _standard_call(w, node, local, env)
    rebuilt = w.rebuilt(node, env)
    collections = uri in (f"{FUNCTIONS}/map", f"{FUNCTIONS}/array")
    foreign = uri is None or not uri.startswith(("http://www.w3.org/",))
    return Typed(rebuilt, UNKNOWN if w.graphs and (collections or foreign) else PLAIN)


def _standard_call(w: Walker, node: FunctionCall, local: str, env: Env) -> Typed:
    if local == "stream":
        return _stream(w, node, env)
    if local in known.TEMPORAL or local in _CLOCK:
        arguments = tuple(spanned(w, w.walk(a, env)).expr for a in node.arguments)
        return Typed(w.rules.temporal(replace(node, arguments=arguments)), ATOM)
    if not node.arguments and local in known.ABOUT_CONTEXT:
        return _about_context(w, node, local, env)
    if local in known.PASSING and node.arguments:
        first = w.walk(node.arguments[0], env)
        rest = tuple(w.value(argument, env) for argument in node.arguments[1:])
        type_ = replace(first.type, one=True) if local in known.AT_MOST_ONE else first.type
        return Typed(replace(node, arguments=(first.expr, *rest)), type_)
    if local in known.OUTSIDE:
        walked = [w.walk(argument, env) for argument in node.arguments]
        if "name" in local or "uri" in local:
            walked = [_named(w, typed) for typed in walked]
        return Typed(replace(node, arguments=tuple(typed.expr for typed in walked)), ATOM)
    if local in known.PLACE:
        walked = [w.walk(argument, env) for argument in node.arguments]
        if local in ("id", "idref", "element-with-id", "lang") and len(walked) < 2:
            walked.append(Typed(ContextItem(span=node.span), env.context))
        for typed in walked:
            w.place(typed.type, f"{local}() depends on the place of a node in the tree", node.span)
            w.look_everywhere(typed.type.streams)
        of_streams = any(typed.type.of_streams or typed.type.unknown for typed in walked)
        arguments = tuple(typed.expr for typed in walked[: len(node.arguments)])
        new: Expr = replace(node, arguments=arguments)
        if local in known.BY_ID and of_streams:
            new = w.rules.by_id(node, tuple(typed.expr for typed in walked))
        return Typed(new, UNKNOWN if of_streams else PLAIN)
    if local in known.ANYTHING:
        return Typed(w.rebuilt(node, env), UNKNOWN if w.graphs else PLAIN)
    return Typed(w.rebuilt(node, env), PLAIN)


def _named(w: Walker, typed: Typed) -> Typed:
    return w.whole(typed) if any("" in nodes.tags for nodes in typed.type.nodes) else typed


def _about_context(w: Walker, node: FunctionCall, local: str, env: Env) -> Typed:
    """Walk `string()` and the like; they get an argument if the context item has holes."""
    item = Typed(ContextItem(span=node.span), env.context)
    if local in known.PLACE:
        w.place(env.context, f"{local}() depends on the place of a node in the tree", node.span)
        w.look_everywhere(env.context.streams)
        return Typed(node, UNKNOWN if env.context.of_streams or env.context.unknown else PLAIN)
    whole = _named(w, item) if local in known.OUTSIDE else w.whole(item)
    return Typed(node if whole.expr is item.expr else replace(node, arguments=(whole.expr,)), ATOM)


def _stream(w: Walker, node: FunctionCall, env: Env) -> Typed:
    if len(node.arguments) > 1:
        raise error("XPST0017", "stream() takes one name", node.span)
    if not node.arguments:
        if len(w.graphs) != 1:
            raise error(
                "XCQL0004",
                "stream() without a name needs exactly one stream",
                node.span,
                notes=[f"streams: {', '.join(w.graphs) or 'none'}"],
            )
        name = next(iter(w.graphs))
    elif isinstance(node.arguments[0], StringLiteral):
        name = node.arguments[0].value
    else:
        raise error(
            "XCQL0402",
            "the name of a stream must be a literal, because the translation depends on its tags",
            node.arguments[0].span,
            hints=['write stream("name")'],
        )
    if name not in w.graphs:
        raise w.unknown_stream(name, node.span)
    return w.rules.stream(w, name, node, env)


@walks(Arrow)
def arrow(w: Walker, node: Arrow, env: Env) -> Typed:
    """`a => f(b)` is `f(a, b)`"""
    if isinstance(node.function, Name):
        arguments = (node.base, *node.arguments)
        typed = call(w, FunctionCall(node.function, arguments, span=node.span), env)
        return typed
    return Typed(w.rebuilt(node, env), UNKNOWN if w.graphs else PLAIN)


@walks(DynamicCall)
def dynamic_call(w: Walker, node: DynamicCall, env: Env) -> Typed:
    return Typed(w.rebuilt(node, env), UNKNOWN if w.graphs else PLAIN)


@walks(NamedFunctionRef)
def function_ref(w: Walker, node: NamedFunctionRef, env: Env) -> Typed:
    uri, local = env.names.function_name(node.name)
    declared = w.functions.get((uri or "", local, node.arity))
    if declared is not None:
        called_with_anything(w, declared)
    elif uri == FUNCTIONS and local == "stream":
        raise error(
            "XCQL0402",
            "stream cannot be passed as a function, because the translation depends on its tags",
            node.span,
            hints=['write stream("name") where its value is needed'],
        )
    elif uri == FUNCTIONS and local in known.PLACE:
        w.anything(node.span, f"{local} asks for the place of a node")
    elif uri == FUNCTIONS and local in known.TEMPORAL:
        return Typed(w.rules.temporal(node), ATOM)
    return Typed(node, ATOM)


@walks(InlineFunction)
def inline_function(w: Walker, node: InlineFunction, env: Env) -> Typed:
    inner = replace(env.inside(), context=PLAIN)
    for parameter in node.parameters:
        atomic = is_atomic(parameter.type)
        inner = inner.bind(parameter.name, UNKNOWN if w.graphs and not atomic else PLAIN)
    return Typed(replace(node, body=w.value(node.body, inner)), ATOM)
