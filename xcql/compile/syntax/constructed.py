"""Constructors: elements, attributes, texts, documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from xcql.algebra.scalars import Constant, Nested, Scalar, call, case, conjunction
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.lifespans import lifespan
from xcql.compile.library.serialisation import (
    concatenated,
    constructed_xml,
    content_xml,
    joined_text,
)
from xcql.compile.library.trees import new_tree
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    Atomic,
    AttributeItem,
    Dynamic,
    Element,
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
    return Single(_element(expr.name.local, attributes, content, scope, expr.span))


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
    if isinstance(name, str):
        return Single(_element(name, [], [content], scope, expr.span))
    # what it is called is seen only in its text
    element = _element("", [], [content], scope, expr.span)
    text = constructed_xml(element, scope, name)
    pair = call("evaluator_item", Constant("element"), text, *lifespan(element, scope))
    return Single(Dynamic(pair, "a name that is computed from data"))


def _constant_name(name: Name | Expr, scope: Scope) -> str:
    found = _name(name, scope)
    if not isinstance(found, str):
        raise NotNative("a name that is computed from data", name.span)
    return found


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
    name: str, attributes: list[AttributeItem], content: list[Value], scope: Scope, span: Span
) -> Element:
    """An element; attributes at the start of its content become its own."""
    kept: list[Value] = []
    for value in content:
        value = _without_document(value, span)
        found = leaves(value)
        if any(is_attribute_of_any_name(leaf.item) for leaf in found):
            raise NotNative("attributes of any name", span)
        if not any(isinstance(leaf.item, AttributeItem) for leaf in found):
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
            if not all(isinstance(item, AttributeItem) for item in items):
                if any(isinstance(item, AttributeItem) for item in items):
                    raise NotNative("attributes among other content", span)
                rest.append(part)
                continue
            if rest:
                raise NotNative("attributes after other content", span)
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
    if any(isinstance(one, AttributeItem) or is_attribute_of_any_name(one) for one in found):
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
    name = _constant_name(expr.name, scope)
    value = value_of(expr.content, scope)
    return Single(AttributeItem(name, joined_text(value, scope), made_of=type_of_one([value])))


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
