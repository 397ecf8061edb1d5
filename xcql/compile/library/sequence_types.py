"""Sequence types: instance tests, and conversions to a type."""

from __future__ import annotations

from dataclasses import replace

from xcql.algebra.operators import Select
from xcql.algebra.scalars import (
    FALSE,
    TRUE,
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
from xcql.compile.library.node_lookup import among, is_on
from xcql.compile.library.node_names import instruction, local_name
from xcql.compile.library.node_tests import attribute_name
from xcql.compile.node_paths import NodePath
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
    found = [(leaf, _matches(leaf.item, type_.item, scope, span)) for leaf in leaves(value)]
    conditions: list[Scalar] = []
    wrong = [
        exists(each(Select(leaf.plan, negation(fits)) if fits != FALSE else leaf.plan, item))
        for leaf, fits in found
        if fits != TRUE and (item := Single(leaf.item))
    ]
    if wrong:
        conditions.append(negation(disjunction(*wrong)))
    right = any(fits != FALSE for _, fits in found)
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


def _matches(item: Item, test: SyntaxNode, scope: Scope, span: Span) -> Scalar:
    """Whether an item has an item type, which may depend on the data."""
    if isinstance(item, Dynamic):
        raise NotNative(item.reason, span)
    match item, test:
        case _, types.AnyItem():
            return TRUE
        case _, types.AnyKindTest():
            return Constant(is_node(item))
        case AnyNode(), _:
            return _any_matches(item, test, scope, span)
        case StreamElement() | Inner(), types.ElementTest(type=None):
            return _element_matches(item, test, scope, span)
    return Constant(_always_matches(item, test, scope, span))


def _always_matches(item: Item, test: SyntaxNode, scope: Scope, span: Span) -> bool:
    """Whether an item has an item type, if the query alone tells."""
    match test:
        case types.AtomicType(name=name):
            wanted = type_name(name, scope)
            if not isinstance(item, Atomic):
                return False
            return wanted in (item.type, "xs:anyAtomicType", *_DERIVED.get(item.type, ()))
        case types.TextTest():
            return isinstance(item, TextItem)
        case types.CommentTest():
            return isinstance(item, Markup) and item.kind == "comment"
        case types.ProcessingInstructionTest(target=target):
            is_one = isinstance(item, Markup) and item.kind == "processing-instruction"
            if is_one and target is not None:
                raise NotNative("such a type", span)
            return is_one
        case types.DocumentTest(content=None):
            return isinstance(item, StreamDocument) or (
                isinstance(item, Element) and item.is_document
            )
        case types.ElementTest(name=name, type=None):
            if not isinstance(item, Element) or item.is_document:
                return False
            if name is None:
                return True
            uri, local = scope.names.element_name(name)
            return item.name == (f"Q{{{uri}}}{local}" if uri else local)
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


def _element_matches(
    element: StreamElement | Inner, test: types.ElementTest, scope: Scope, span: Span
) -> Scalar:
    """Whether an element of one of several tags has a type."""
    passes = scope.names.element_test(test)
    assert passes is not None
    graph = scope.compilation.graphs[element.stream]
    fitting = [tag for tag in element.tags if passes(graph.tag(tag))]
    if len(fitting) in (0, len(element.tags)):
        return Constant(bool(fitting))
    if isinstance(element, StreamElement) and element.is_filler:
        return among(element.column("tag"), fitting)
    names = {(graph.tag(tag).name.local, tag in fitting) for tag in element.tags}
    if len({local for local, _ in names}) < len(names):
        raise NotNative("a type that only some of these tags have", span)
    return among(local_name(element, scope, span), [local for local, fits in names if fits])


def _any_matches(node: AnyNode, test: SyntaxNode, scope: Scope, span: Span) -> Scalar:
    """Whether a node of any kind and name has a type."""
    graph = scope.compilation.graphs[node.stream]
    fitting: set[NodePath] = set()
    for path in node.paths:
        match test:
            case types.AtomicType() | types.DocumentTest():
                fits = False
            case types.TextTest():
                fits = path.kind == "text"
            case types.CommentTest():
                fits = path.kind == "comment"
            case types.ProcessingInstructionTest():
                fits = path.kind == "processing-instruction"
            case types.ElementTest(type=None):
                passes = scope.names.element_test(test)
                assert passes is not None
                fits = path.kind == "element" and passes(graph.tag(path.tag))
            case types.AttributeTest(name=name, type=None):
                named = name is None or attribute_name(name, scope) == path.name
                fits = path.kind == "attribute" and named
            case _:
                raise NotNative("such a type", span)
        if fits:
            fitting.add(path)
    if not fitting:
        return FALSE
    is_one = TRUE if fitting == node.paths else is_on(node, frozenset(fitting))
    if isinstance(test, types.ProcessingInstructionTest) and test.target is not None:
        return conjunction(is_one, call("=", instruction(node)[0], Constant(test.target)))
    return is_one


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
