"""Constructors: elements, attributes, texts, documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from xcql.algebra.scalars import Call, Constant, Nested, Scalar, call, case, conjunction
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.lifespans import lifespan
from xcql.compile.library.serialisation import (
    concatenated,
    constructed_xml,
    content_xml,
    joined,
    joined_text,
)
from xcql.compile.library.trees import new_tree
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    Atomic,
    AttributeItem,
    Dynamic,
    Element,
    Item,
    TextItem,
    is_attribute_of_any_name,
    is_node,
)
from xcql.compile.terms.leaf_types import type_of_one
from xcql.compile.terms.scope import CompileExpression, Scope, value_of
from xcql.compile.terms.values import (
    EMPTY,
    Concat,
    Single,
    Value,
    at_most_one,
    concat,
    condition_of,
    exists,
    gather,
    guarded,
    is_optional,
    leaves,
    replaced,
)
from xcql.source import Span
from xcql.syntax import construct as syntax
from xcql.syntax.node import Expr, Name


def _direct_element(expr: syntax.DirectElement, scope: Scope) -> Value:
    if expr.namespaces or expr.name.prefix or expr.name.uri or scope.names.element:
        raise NotNative("an element with namespaces", expr.span)
    attributes = [_direct_attribute(one, scope) for one in expr.attributes]
    content: list[Value] = []
    for part in expr.content:
        match part:
            case syntax.Text(value=text):
                content.append(Single(TextItem(Constant(text))))
            case syntax.Enclosed(body=body):
                content.append(value_of(body, scope))
            case _:
                content.append(value_of(part, scope))  # type: ignore[arg-type]
    return _constructed(expr.name.local, attributes, content, scope, expr.span)


def _direct_attribute(expr: syntax.DirectAttribute, scope: Scope) -> AttributeItem:
    if expr.name.prefix or expr.name.uri:
        raise NotNative("an attribute with a namespace", expr.span)
    texts: list[Scalar] = []
    values: list[Value] = []
    for part in expr.parts:
        if isinstance(part, syntax.Text):
            texts.append(Constant(part.value))
            values.append(Single(TextItem(Constant(part.value))))
        else:
            values.append(value_of(part.body, scope))  # type: ignore[attr-defined]
            texts.append(joined_text(values[-1], scope))
    return AttributeItem(expr.name.local, concatenated(texts), made_of=type_of_one(values))


def _computed_element(expr: syntax.ComputedElement, scope: Scope) -> Value:
    name = _name(expr.name, scope)
    content = value_of(expr.content, scope)
    return _constructed(name, [], [content], scope, expr.span)


def _constructed(
    name: str | Scalar,
    attributes: list[AttributeItem],
    content: list[Value],
    scope: Scope,
    span: Span,
) -> Value:
    """An element; what only the data tell about its tag is seen only in its text."""
    others: list[Value] = []
    known = name if isinstance(name, str) else ""
    element = _element(known, attributes, content, others, scope, span)
    if isinstance(name, str) and not others:
        return Single(element)
    texts = [joined(one, _attribute_text) for one in others]
    computed = None if isinstance(name, str) else name
    text = constructed_xml(element, scope, computed, texts)
    if others:
        text = case((_are_distinct(element, others), text), otherwise=_several(scope, span))
    pair = call("evaluator_item", Constant("element"), text, *lifespan(element, scope))
    return Single(Dynamic(pair, "a name that is computed from data"))


def _attribute_text(item: Item) -> Scalar:
    """An attribute as it is written into a tag."""
    assert isinstance(item, Dynamic)
    return call("concat", Constant(" "), item.part("value"))


def _are_distinct(element: Element, others: list[Value]) -> Scalar:
    """Whether the attributes of an element have different names."""
    names: list[Scalar] = []
    for attribute in element.attributes:
        name = call("array", Constant(attribute.name))
        is_there = call("is_not_null", attribute.scalar)
        names.append(case((is_there, name), otherwise=call("array")))
    names += [gather(one, lambda item: item.attribute[0]) for one in others]  # type: ignore[attr-defined]
    every = names[0] if len(names) == 1 else Call("concat_arrays", tuple(names))
    return call("=", call("size", call("array_distinct", every)), call("size", every))


def _several(scope: Scope, span: Span) -> Scalar:
    return scope.compilation.limit(span, "two attributes of one name")


def _is_attribute(item: Item) -> bool:
    """Whether an item is an attribute that the query constructs, or one with a known name."""
    return isinstance(item, AttributeItem) or _is_named_by_data(item)


def _is_named_by_data(item: Item) -> bool:
    return isinstance(item, Dynamic) and item.attribute is not None


def _name(name: Name | Expr, scope: Scope) -> str | Scalar:
    """The name if it is known, else the scalar for it."""
    if isinstance(name, Name):
        if name.prefix or name.uri or scope.names.element or name.local == "xmlns":
            raise NotNative("a name in a namespace", name.span)
        return name.local
    item = one_atomic(value_of(name, scope), scope, name.span)
    if item is None or item.type not in ("xs:string", "xs:untypedAtomic"):
        raise NotNative("a name that is computed from data", name.span)
    if not isinstance(item.scalar, Constant):
        if scope.names.element:
            raise NotNative("a name in a namespace", name.span)
        # names with prefixes or unusual letters, and wrong ones, are for the evaluator
        other = scope.compilation.limit(name.span, "a name that is not a simple one")
        is_plain = conjunction(
            call("is_plain_name", item.scalar), call("<>", item.scalar, Constant("xmlns"))
        )
        return case((is_plain, item.scalar), otherwise=other)
    text = str(item.scalar.value)
    if not text.isidentifier() or text == "xmlns":
        raise NotNative("such a name", name.span)
    return text


def _element(
    name: str,
    attributes: list[AttributeItem],
    content: list[Value],
    others: list[Value],
    scope: Scope,
    span: Span,
) -> Element:
    """An element; attributes at the start of its content become its own.

    Those whose names only the data tell are added to `others`.
    """
    kept: list[Value] = []
    for value in content:
        value = _without_document(value, span)
        found = leaves(value)
        if any(is_attribute_of_any_name(leaf.item) for leaf in found):
            raise NotNative("attributes of any name", span)
        if not any(_is_attribute(leaf.item) for leaf in found):
            if not all(map(is_node, (leaf.item for leaf in found))):
                # it must be possible to write it
                content_xml(value, scope)
            kept.append(value)
            continue
        if any(isinstance(one, TextItem | Single) or one != EMPTY for one in kept):
            raise NotNative("attributes after other content", span)
        rest: list[Value] = []
        for part in value.values if isinstance(value, Concat) and not value.exclusive else (value,):
            items = [leaf.item for leaf in leaves(part)]
            if not items or not all(map(_is_attribute, items)):
                if any(map(_is_attribute, items)):
                    raise NotNative("attributes among other content", span)
                rest.append(part)
                continue
            if rest:
                raise NotNative("attributes after other content", span)
            if all(map(_is_named_by_data, items)):
                others.append(part)
                continue
            if others or any(map(_is_named_by_data, items)):
                raise NotNative("attributes after those with computed names", span)
            if not at_most_one(part):
                raise NotNative("attributes of several elements", span)
            for leaf in leaves(part):
                attribute = leaf.item
                assert isinstance(attribute, AttributeItem)
                if not is_optional(leaf.plan):
                    found_one = Nested(leaf.plan, "first", attribute.scalar)
                    attributes.append(replace(attribute, scalar=found_one, owner=None))
                    continue
                condition, known = condition_of(leaf.plan)
                scalar = replaced(attribute.scalar, known)
                if condition != call("is_not_null", scalar):
                    scalar = case((condition, scalar))
                attributes.append(AttributeItem(attribute.name, scalar, made_of=attribute.made_of))
        # together: atomic values next to each other are separated by spaces
        kept.append(concat(rest))
    names = [attribute.name for attribute in attributes]
    if len(set(names)) < len(names):
        raise NotNative("two attributes of one name", span)
    if any(one.startswith("Q{") for one in names):
        raise NotNative("an attribute with a namespace", span)
    return Element(name, tuple(attributes), tuple(kept), tree=new_tree(scope))


def _computed_document(expr: syntax.ComputedDocument, scope: Scope) -> Value:
    content = value_of(expr.content, scope)
    found = [leaf.item for leaf in leaves(content)]
    if any(_is_attribute(one) or is_attribute_of_any_name(one) for one in found):
        raise NotNative("attributes in a document", expr.span)
    parts = (_without_document(content, expr.span),)
    return Single(Element("", (), parts, is_document=True, tree=new_tree(scope)))


def _without_document(value: Value, span: Span) -> Value:
    """The content of a document instead of the document itself."""
    documents = [
        leaf.item
        for leaf in leaves(value)
        if isinstance(leaf.item, Element) and leaf.item.is_document
    ]
    if not documents:
        return value
    if value != Single(documents[0]):
        raise NotNative("documents among other content", span)
    return concat(documents[0].content)


def _computed_attribute(expr: syntax.ComputedAttribute, scope: Scope) -> Value:
    name = _name(expr.name, scope)
    value = value_of(expr.content, scope)
    text = joined_text(value, scope)
    if isinstance(name, str):
        return Single(AttributeItem(name, text, made_of=type_of_one([value])))
    # a lifespan would be that of the element
    other = scope.compilation.limit(expr.span, "a name of an attribute that is not a simple one")
    is_lifespan = Call("one_of", (name, Constant("vtFrom"), Constant("vtTo")))
    name = case((is_lifespan, other), otherwise=name)
    written = Call("concat", (name, Constant('="'), call("escape_attribute", text), Constant('"')))
    pair = call("evaluator_item", Constant("attribute"), written)
    reason = "a name that is computed from data"
    return Single(Dynamic(pair, reason, attribute=(name, text)))


def _computed_text(expr: syntax.ComputedText, scope: Scope) -> Value:
    value = value_of(expr.content, scope)
    if value == EMPTY:
        return EMPTY
    text = Single(TextItem(joined_text(value, scope)))
    return guarded(exists(value), text)


def _string_constructor(expr: syntax.StringConstructor, scope: Scope) -> Value:
    texts = [
        Constant(part.value)
        if isinstance(part, syntax.Text)
        else joined_text(value_of(part.body, scope), scope)  # type: ignore[attr-defined]
        for part in expr.parts
    ]
    return Single(Atomic(concatenated(texts), "xs:string"))


EXPRESSIONS: Mapping[type, CompileExpression] = {
    syntax.DirectElement: _direct_element,
    syntax.ComputedElement: _computed_element,
    syntax.ComputedDocument: _computed_document,
    syntax.ComputedAttribute: _computed_attribute,
    syntax.ComputedText: _computed_text,
    syntax.StringConstructor: _string_constructor,
}
