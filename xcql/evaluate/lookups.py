"""Maps, arrays, lookups and string constructors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.context import Context, no_context_item
from xcql.evaluate.conversion import convert
from xcql.evaluate.scope import Code, Environment, NameScope, compile_expression, compiles
from xcql.evaluate.sequences import Items, computed, located, zero_or_one_atomic
from xcql.evaluate.types import AtomicItemType, ValueType
from xcql.evaluate.values import atomize, kind_of
from xcql.source import Span
from xcql.syntax import construct, path
from xcql.syntax.node import Expr
from xcql.xdm.atomic import atomic_key, string_of
from xcql.xdm.functions import XdmArray, XdmMap

_INTEGER = ValueType(AtomicItemType("integer"), "")


@compiles(construct.MapConstructor)
def map_constructor(node: construct.MapConstructor, scope: NameScope) -> Code:
    entries = [
        (
            compile_expression(entry.key, scope),
            compile_expression(entry.value, scope),
            entry.key.span,
        )
        for entry in node.entries
    ]

    def run(env: Environment, context: Context) -> Items:
        found: list[tuple[Any, Items]] = []
        known = set()
        for key_code, value_code, span in entries:
            key = zero_or_one_atomic(key_code(env, context), "the key", span)
            if key is None:
                raise error("XPTY0004", "the key is an empty sequence", span)
            same = atomic_key(key)
            if same in known:
                raise error("XQDY0137", f'two entries have the key "{string_of(key)}"', span)
            known.add(same)
            found.append((key, value_code(env, context)))
        return (XdmMap(found),)

    return run


@compiles(construct.SquareArray)
def square_array(node: construct.SquareArray, scope: NameScope) -> Code:
    members = [compile_expression(member, scope) for member in node.members]
    return lambda env, context: (XdmArray([member(env, context) for member in members]),)


@compiles(construct.CurlyArray)
def curly_array(node: construct.CurlyArray, scope: NameScope) -> Code:
    content = compile_expression(node.content, scope)
    return lambda env, context: (XdmArray([(item,) for item in content(env, context)]),)


@compiles(construct.StringConstructor)
def string_constructor(node: construct.StringConstructor, scope: NameScope) -> Code:
    parts: list[str | Code] = []
    for part in node.parts:
        if isinstance(part, construct.Text):
            parts.append(part.value)
        else:
            assert isinstance(part, construct.Enclosed)
            parts.append(compile_expression(part.body, scope))

    def run(env: Environment, context: Context) -> Items:
        texts = [
            part
            if isinstance(part, str)
            else " ".join(string_of(value) for value in atomize(part(env, context)))
            for part in parts
        ]
        return ("".join(texts),)

    return run


@compiles(path.Lookup)
def lookup(node: path.Lookup, scope: NameScope) -> Code:
    base = compile_expression(node.base, scope)
    find = _finder(node.key, scope)

    def run(env: Environment, context: Context) -> Iterator[Any]:
        for item in base(env, context):
            yield from find(item, env, context)

    return run


@compiles(path.UnaryLookup)
def unary_lookup(node: path.UnaryLookup, scope: NameScope) -> Code:
    find = _finder(node.key, scope)

    def run(env: Environment, context: Context) -> Items:
        if context.item is None:
            raise no_context_item(node.span)
        return find(context.item, env, context)

    return run


def _finder(key: Expr, scope: NameScope) -> Callable[[Any, Environment, Context], Iterator[Any]]:
    span = key.span
    code = None if isinstance(key, path.AnyKey) else compile_expression(key, scope)

    def find(item: Any, env: Environment, context: Context) -> Iterator[Any]:
        if isinstance(item, XdmMap):
            if code is None:
                for _, value in item.items():
                    yield from value
                return
            for wanted in computed(atomize(code(env, context))):
                yield from item.get(wanted) or ()
        elif isinstance(item, XdmArray):
            if code is None:
                for member in item.members:
                    yield from member
                return
            for wanted in computed(atomize(code(env, context))):
                yield from _member(item, wanted, span)
        else:
            raise error(
                "XPTY0004", f"a lookup needs a map or an array; this is {kind_of(item)}", span
            )

    return find


def _member(array: XdmArray, wanted: Any, span: Span) -> Items:
    for position in convert((wanted,), _INTEGER, lambda: "a position in an array", span):
        try:
            return array.get(position)
        except XcqlError as problem:
            raise located(problem, span) from None
    return ()
