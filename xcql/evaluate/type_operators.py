"""`instance of`, `treat as`, `cast as` and `castable as`."""

from __future__ import annotations

from typing import Any

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.casting import LIST_TYPES, cast, cast_list
from xcql.evaluate.context import XS, Context
from xcql.evaluate.scope import (
    Code,
    Environment,
    NameScope,
    compile_expression,
    compiles,
    element_name,
)
from xcql.evaluate.sequences import Items, computed, located, zero_or_one
from xcql.evaluate.type_reader import atomic_type_name, read_sequence_type
from xcql.evaluate.values import atomize
from xcql.syntax.operators import CastableAs, CastAs, InstanceOf, TreatAs
from xcql.syntax.types import SingleType
from xcql.xdm.atomic import string_of, type_of


@compiles(InstanceOf)
def instance_of(node: InstanceOf, scope: NameScope) -> Code:
    operand = compile_expression(node.operand, scope)
    wanted = read_sequence_type(node.type, scope)
    return lambda env, context: (wanted.matches(operand(env, context)),)


@compiles(TreatAs)
def treat_as(node: TreatAs, scope: NameScope) -> Code:
    operand = compile_expression(node.operand, scope)
    wanted = read_sequence_type(node.type, scope)

    def run(env: Environment, context: Context) -> Items:
        items = computed(operand(env, context))
        if not wanted.matches(items):
            raise error("XPDY0050", f"the value is not an instance of {wanted}", node.span)
        return items

    return run


def _target(node: SingleType, scope: NameScope) -> str:
    """The target of a cast: any atomic type except the abstract ones, or a list type."""
    name = element_name(node.name, scope.static)
    if name.uri == XS and name.local in LIST_TYPES:
        return name.local
    if name.uri == XS and name.local in ("anyAtomicType", "NOTATION", "anySimpleType"):
        raise error("XPST0080", f"nothing can be cast to {node.name}", node.span)
    return atomic_type_name(node.name, scope, "XQST0052")


@compiles(CastAs)
def cast_as(node: CastAs, scope: NameScope) -> Code:
    operand = compile_expression(node.operand, scope)
    target, optional, span = _target(node.type, scope), node.type.optional, node.span
    namespaces = _namespaces(scope)

    def run(env: Environment, context: Context) -> Items:
        value = zero_or_one(atomize(operand(env, context)), "the operand of cast", span)
        if value is None:
            if optional:
                return ()
            raise error(
                "XPTY0004",
                f"an empty sequence cannot be cast to xs:{target}",
                span,
                hints=[f"write xs:{target}? to allow it"],
            )
        try:
            return _cast(value, target, namespaces)
        except XcqlError as problem:
            raise located(problem, span) from None

    return run


@compiles(CastableAs)
def castable_as(node: CastableAs, scope: NameScope) -> Code:
    operand = compile_expression(node.operand, scope)
    target, optional = _target(node.type, scope), node.type.optional
    namespaces = _namespaces(scope)

    def run(env: Environment, context: Context) -> Items:
        values = computed(atomize(operand(env, context)))
        if len(values) != 1:
            return (not values and optional,)
        try:
            _cast(values[0], target, namespaces)
        except XcqlError:
            return (False,)
        return (True,)

    return run


def _namespaces(scope: NameScope) -> dict[str, str]:
    return {**scope.static.namespaces, "": scope.static.default_element_namespace}


def _cast(value: Any, target: str, namespaces: dict[str, str]) -> Items:
    if target in LIST_TYPES:
        if type_of(value).primitive not in ("string", "untypedAtomic"):
            raise error("XPTY0004", f"an {type_of(value)} cannot be cast to xs:{target}")
        return cast_list(string_of(value), target)
    return (cast(value, target, namespaces),)
