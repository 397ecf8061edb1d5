"""Sequence types: instance tests, and conversions to a type."""

from __future__ import annotations

from dataclasses import replace

from xcql.algebra.scalars import (
    FALSE,
    Constant,
    Scalar,
    call,
    case,
    conjunction,
    disjunction,
    negation,
)
from xcql.compile.library.atomization import atomized, one_atomic
from xcql.compile.library.casts import NUMBERS, cast
from xcql.compile.library.node_tests import attribute_name
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    COLLECTIONS,
    AnyNode,
    ArrayItem,
    Atomic,
    AttributeItem,
    Dynamic,
    Element,
    EntryMap,
    Failure,
    Function,
    Inner,
    Item,
    ItemArray,
    MapItem,
    Markup,
    StreamDocument,
    StreamElement,
    TextItem,
    is_node,
)
from xcql.compile.terms.mapping import mapped_items
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import (
    EMPTY,
    Single,
    Value,
    at_most_one,
    count,
    each,
    exists,
    guarded,
    leaves,
    without_failures,
)
from xcql.source import Span
from xcql.syntax import types
from xcql.syntax.node import Name, SyntaxNode

XS = "http://www.w3.org/2001/XMLSchema"


_DERIVED = {
    "xs:integer": ("xs:decimal", "xs:numeric"),
    "xs:decimal": ("xs:numeric",),
    "xs:double": ("xs:numeric",),
    "xs:float": ("xs:numeric",),
    "xs:dayTimeDuration": ("xs:duration",),
    "xs:yearMonthDuration": ("xs:duration",),
}


def is_instance(value: Value, type_: types.SequenceType, scope: Scope, span: Span) -> Scalar:
    """Whether a value matches a sequence type."""
    without_failures(value, span)
    if type_.item is None:
        return negation(exists(value))
    wrong = [leaf for leaf in leaves(value) if not _matches(leaf.item, type_.item, scope, span)]
    right = len(wrong) < len(leaves(value))
    conditions: list[Scalar] = []
    if wrong:
        conditions.append(
            negation(disjunction(*(exists(each(leaf.plan, Single(leaf.item))) for leaf in wrong)))
        )
    if not right:
        # no item fits: only the empty sequence does
        if type_.occurrence in ("?", "*"):
            return negation(exists(value))
        return FALSE
    match type_.occurrence:
        case "":
            if not isinstance(value, Single):
                conditions.append(
                    exists(value) if at_most_one(value) else call("=", count(value), Constant(1))
                )
        case "?":
            if not at_most_one(value):
                conditions.append(call("<=", count(value), Constant(1)))
        case "+":
            conditions.append(exists(value))
    return conjunction(*conditions)


def _matches(item: Item, test: SyntaxNode, scope: Scope, span: Span) -> bool:

    if isinstance(item, Dynamic):
        raise NotNative(item.reason, span)
    if isinstance(item, AnyNode):
        return _any_matches(item, test, scope, span)
    match test:
        case types.AnyItem():
            return True
        case types.AnyKindTest():
            return is_node(item)
        case types.AtomicType(name=name):
            wanted = type_name(name, scope)
            if not isinstance(item, Atomic):
                return False
            return wanted in (item.type, "xs:anyAtomicType", *_DERIVED.get(item.type, ()))
        case types.TextTest():
            return isinstance(item, TextItem)
        case types.DocumentTest(content=None):
            return isinstance(item, StreamDocument) or (
                isinstance(item, Element) and item.is_document
            )
        case types.ElementTest(name=name, type=None):
            if isinstance(item, StreamElement | Inner):
                if name is None:
                    return True
                passes = scope.names.element_test(test)
                assert passes is not None
                graph = scope.compilation.graphs[item.stream]
                fits = {passes(graph.tag(tag)) for tag in item.tags}
                if len(fits) > 1:
                    raise NotNative("a type that only some of these tags have", span)
                return fits.pop()
            if isinstance(item, Element) and not item.is_document:
                if name is None:
                    return True
                uri, local = scope.names.element_name(name)
                return item.name == (f"Q{{{uri}}}{local}" if uri else local)
            return False
        case types.AttributeTest(name=name, type=None):
            if not isinstance(item, AttributeItem):
                return False
            return name is None or attribute_name(name, scope) == item.name
        case types.MapTest(key=None, value=None):
            return isinstance(item, MapItem | EntryMap)
        case types.ArrayTest(member=None):
            return isinstance(item, ArrayItem | ItemArray)
        case types.FunctionTest(annotations=(), parameters=None):
            return isinstance(item, (Function, *COLLECTIONS))
    if isinstance(
        item, Atomic | Element | StreamElement | Inner | AttributeItem | TextItem | Markup
    ):
        raise NotNative("such a type", span)
    raise NotNative("the type of an expression without a native form", span)


def _any_matches(node: AnyNode, test: SyntaxNode, scope: Scope, span: Span) -> bool:
    """Whether a node of any kind and name has a type; it must be so for all that it can be."""
    fits: set[bool] = set()
    graph = scope.compilation.graphs[node.stream]
    for path in node.paths:
        match test:
            case types.AnyItem() | types.AnyKindTest():
                fits.add(True)
            case types.AtomicType() | types.DocumentTest():
                fits.add(False)
            case types.TextTest():
                fits.add(path.kind == "text")
            case types.ElementTest(type=None):
                passes = scope.names.element_test(test)
                assert passes is not None
                fits.add(path.kind == "element" and passes(graph.tag(path.tag)))
            case types.AttributeTest(name=name, type=None):
                named = name is None or attribute_name(name, scope) == path.name
                fits.add(path.kind == "attribute" and named)
            case _:
                raise NotNative("such a type", span)
    if len(fits) > 1:
        raise NotNative("a type that only some of these tags have", span)
    return fits.pop()


def type_name(name: Name, scope: Scope) -> str:
    """The name of an atomic type, with the prefix `xs`."""
    prefix, uri = name.prefix, name.uri
    if uri is None and prefix is not None:
        uri = scope.names.prefixes.get(prefix)
    if uri != XS:
        raise NotNative(f"the type {name}", name.span)
    return f"xs:{name.local}"


def converted(
    value: Value, type_: types.SequenceType, scope: Scope, span: Span, is_call: bool = True
) -> Value:
    """The value, converted to a type by the function conversion rules; checked if not certain."""
    if isinstance(value, Single) and isinstance(value.item, Failure):
        return value
    if isinstance(type_.item, types.AtomicType):
        target = type_name(type_.item.name, scope)
        if is_call:
            if target != "xs:anyAtomicType":
                value = mapped_items(value, lambda item: _fitting(item, target, scope, span))
            else:
                value = mapped_items(value, lambda item: atomized(item, scope))
    fits = is_instance(value, type_, scope, span)
    if fits == FALSE:
        raise NotNative("a value of another type than the declared one", span)
    if fits != Constant(True):
        bad = scope.compilation.error(
            "XPTY0004", "a value that does not have the declared type", span
        )
        # `is_true`, because a failing scalar has no type
        return guarded(call("is_true", case((fits, Constant(True)), otherwise=bad)), value)
    return value


def _fitting(item: Item, target: str, scope: Scope, span: Span) -> Item:
    found = atomized(item, scope)
    if found.type == "xs:untypedAtomic" and target not in ("xs:untypedAtomic", "xs:numeric"):
        return cast(found, target, scope, span)
    if found.type == "xs:untypedAtomic" and target == "xs:numeric":
        return cast(found, "xs:double", scope, span)
    if found.type in NUMBERS and target in ("xs:double", "xs:float"):
        return cast(found, target, scope, span)
    if found.type == "xs:anyURI" and target == "xs:string":
        return replace(found, type="xs:string")
    return found


def cast_value(operand: Value, target: str, optional: bool, scope: Scope, span: Span) -> Value:
    if operand == EMPTY:
        if optional:
            return EMPTY
        raise NotNative("a cast of nothing", span)
    item = one_atomic(operand, scope, span)
    assert item is not None
    result = cast(item, target, scope, span)
    if isinstance(operand, Single):
        return Single(result)
    if not optional:
        bad = scope.compilation.error("XPTY0004", f"an empty sequence is not a {target}", span)
        return Single(replace(result, scalar=call("coalesce", result.scalar, bad)))
    return guarded(call("is_not_null", result.scalar), Single(result))
