"""Constructors, and what is asked of elements that a query constructs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xcql.algebra.operators import Unit
from xcql.algebra.scalars import (
    FALSE,
    TRUE,
    Call,
    Constant,
    Nested,
    Scalar,
    call,
    case,
    conjunction,
    disjunction,
    negation,
)
from xcql.compile.library.access import atomized, constructed_lifespan, serialised, string_value
from xcql.compile.library.casts import STRINGS, one_atomic, to_string
from xcql.compile.library.node_tests import attribute_test, is_any_node, is_text_test
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    Atomic,
    Attribute,
    Dynamic,
    Element,
    Inner,
    Item,
    Markup,
    StreamDocument,
    StreamElement,
    Text,
    is_node,
)
from xcql.compile.terms.leaf_types import type_of_one
from xcql.compile.terms.scope import Scope, compiles, value_of
from xcql.compile.terms.values import (
    EMPTY,
    Concat,
    Each,
    Leaf,
    Merged,
    Single,
    Value,
    at_most_one,
    concat,
    condition_of,
    exists,
    gather,
    is_optional,
    leaves,
    replaced,
    single_scalar,
)
from xcql.source import Span
from xcql.syntax import construct as syntax
from xcql.syntax.node import Expr, Name, Node
from xcql.syntax.path import NameTest, Wildcard
from xcql.syntax.types import ElementTest


@compiles(syntax.DirectElement)
def _direct_element(expr: syntax.DirectElement, scope: Scope) -> Value:
    if expr.namespaces or expr.name.prefix or expr.name.uri or scope.names.element:
        raise NotNative("an element with namespaces", expr.span)
    attributes = [_direct_attribute(one, scope) for one in expr.attributes]
    content: list[Value] = []
    for part in expr.content:
        match part:
            case syntax.Text(value=text):
                content.append(Single(Text(Constant(text))))
            case syntax.Enclosed(body=body):
                content.append(value_of(body, scope))
            case _:
                content.append(value_of(part, scope))  # type: ignore[arg-type]
    return Single(_element(expr.name.local, attributes, content, scope, expr.span))


def _direct_attribute(expr: syntax.DirectAttribute, scope: Scope) -> Attribute:
    if expr.name.prefix or expr.name.uri:
        raise NotNative("an attribute with a namespace", expr.span)
    texts: list[Scalar] = []
    values: list[Value] = []
    for part in expr.parts:
        if isinstance(part, syntax.Text):
            texts.append(Constant(part.value))
            values.append(Single(Text(Constant(part.value))))
        else:
            values.append(value_of(part.body, scope))  # type: ignore[attr-defined]
            texts.append(joined_text(values[-1], scope))
    return Attribute(expr.name.local, _together(texts), made_of=type_of_one(values))


@compiles(syntax.ComputedElement)
def _computed_element(expr: syntax.ComputedElement, scope: Scope) -> Value:
    name = _constant_name(expr.name, scope)
    content = value_of(expr.content, scope)
    return Single(_element(name, [], [content], scope, expr.span))


def _constant_name(name: Name | Expr, scope: Scope) -> str:
    if isinstance(name, Name):
        if name.prefix or name.uri or scope.names.element:
            raise NotNative("a name in a namespace", name.span)
        return name.local
    item = one_atomic(value_of(name, scope), scope, name.span)
    if (
        item is None
        or not isinstance(item.scalar, Constant)
        or item.type
        not in (
            "xs:string",
            "xs:untypedAtomic",
        )
    ):
        raise NotNative("a name that is computed from data", name.span)
    text = str(item.scalar.value)
    if ":" in text or "{" in text or not text.isidentifier():
        raise NotNative("such a name", name.span)
    return text


def _element(
    name: str, attributes: list[Attribute], content: list[Value], scope: Scope, span: Span
) -> Element:
    """An element; attributes at the beginning of its content become its own."""
    kept: list[Value] = []
    for value in content:
        value = _without_document(value, span)
        found = leaves(value)
        if not any(isinstance(leaf.item, Attribute) for leaf in found):
            kept.append(value)
            continue
        if any(isinstance(one, Text | Single) or one != EMPTY for one in kept):
            raise NotNative("attributes after other content", span)
        rest: list[Value] = []
        for part in value.values if isinstance(value, Concat) and not value.exclusive else (value,):
            items = [leaf.item for leaf in leaves(part)]
            if not all(isinstance(item, Attribute) for item in items):
                if any(isinstance(item, Attribute) for item in items):
                    raise NotNative("attributes among other content", span)
                rest.append(part)
                continue
            if rest:
                raise NotNative("attributes after other content", span)
            if not at_most_one(part):
                raise NotNative("attributes of several elements", span)
            for leaf in leaves(part):
                attribute = leaf.item
                assert isinstance(attribute, Attribute)
                condition, known = condition_of(leaf.plan)
                scalar = replaced(attribute.scalar, known)
                if condition != call("is_not_null", scalar):
                    scalar = case((condition, scalar))
                attributes.append(Attribute(attribute.name, scalar, made_of=attribute.made_of))
        kept += rest
    names = [attribute.name for attribute in attributes]
    if len(set(names)) < len(names):
        raise NotNative("two attributes of one name", span)
    if any(one.startswith("Q{") for one in names):
        raise NotNative("an attribute with a namespace", span)
    return Element(name, tuple(attributes), tuple(kept))


@compiles(syntax.ComputedDocument)
def _computed_document(expr: syntax.ComputedDocument, scope: Scope) -> Value:
    content = value_of(expr.content, scope)
    if any(isinstance(leaf.item, Attribute) for leaf in leaves(content)):
        raise NotNative("attributes in a document", expr.span)
    return Single(Element("", (), (_without_document(content, expr.span),), is_document=True))


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


@compiles(syntax.ComputedAttribute)
def _computed_attribute(expr: syntax.ComputedAttribute, scope: Scope) -> Value:
    name = _constant_name(expr.name, scope)
    value = value_of(expr.content, scope)
    return Single(Attribute(name, joined_text(value, scope), made_of=type_of_one([value])))


@compiles(syntax.ComputedText)
def _computed_text(expr: syntax.ComputedText, scope: Scope) -> Value:
    value = value_of(expr.content, scope)
    if value == EMPTY:
        return EMPTY
    text = Single(Text(joined_text(value, scope)))
    return text if isinstance(value, Single) else _guarded_text(value, text)


def _guarded_text(value: Value, text: Value) -> Value:
    from xcql.compile.terms.values import guarded

    return guarded(exists(value), text)


@compiles(syntax.StringConstructor)
def _string_constructor(expr: syntax.StringConstructor, scope: Scope) -> Value:
    texts = [
        Constant(part.value)
        if isinstance(part, syntax.Text)
        else joined_text(value_of(part.body, scope), scope)  # type: ignore[attr-defined]
        for part in expr.parts
    ]
    return Single(Atomic(_together(texts), "xs:string"))


def _together(texts: list[Scalar]) -> Scalar:
    if not texts:
        return Constant("")
    return texts[0] if len(texts) == 1 else Call("concat", tuple(texts))


def joined_text(value: Value, scope: Scope) -> Scalar:
    """The items atomized, with a space between them; never NULL."""
    if value == EMPTY:
        return Constant("")

    def read(item: Item) -> Scalar:
        return to_string(atomized(item, scope))

    if isinstance(value, Single):
        return read(value.item)
    if at_most_one(value):
        return call("coalesce", single_scalar(value, read), Constant(""))
    return call("join_texts", gather(value, read), Constant(" "))


# as text


def constructed_xml(element: Element, scope: Scope) -> Scalar:
    if element.is_document:
        return _flat_concat([content_xml(value, scope) for value in element.content])
    start: list[Scalar] = [Constant(f"<{element.name}")]
    for attribute in element.attributes:
        text = call("escape_attribute", attribute.scalar)
        if isinstance(attribute.scalar, Constant):
            from xcql.xdm.serialize import escape_attribute

            text = Constant(escape_attribute(str(attribute.scalar.value)))  # type: ignore[assignment]
        written = call("concat", Constant(f' {attribute.name}="'), text, Constant('"'))
        start.append(
            call("coalesce", written, Constant("")) if may_be_null(attribute.scalar) else written
        )
    content = [content_xml(value, scope) for value in element.content]
    if not content:
        return _flat_concat([*start, Constant("/>")])
    end = Constant(f"</{element.name}>")
    inside = _flat_concat(content)
    if is_never_blank(inside):
        return _flat_concat([*start, Constant(">"), *content, end])
    return call("element_around", _flat_concat(start), inside, end)


def is_never_blank(text: Scalar) -> bool:
    """Whether a text has at least one sign, as far as can be told."""
    match text:
        case Constant(value=str() as value):
            return bool(value)
        case Call(function="concat", arguments=arguments):
            return any(map(is_never_blank, arguments))
        case Call(function="element_around" | "with_lifespan" | "with_namespaces"):
            return True
    return False


def may_be_null(scalar: Scalar) -> bool:
    """Whether a text may be NULL, as far as can be told."""
    match scalar:
        case Constant(value=value):
            return value is None
        case Call(function="coalesce", arguments=arguments):
            return all(map(may_be_null, arguments))
        case Call(function="concat", arguments=arguments):
            return any(map(may_be_null, arguments))
        case Call(function="join_texts"):
            return False
    return True


def _flat_concat(parts: list[Scalar]) -> Scalar:
    flat: list[Scalar] = []
    for part in parts:
        several = (
            part.arguments if isinstance(part, Call) and part.function == "concat" else (part,)
        )
        for one in several:
            if (
                flat
                and isinstance(one, Constant)
                and isinstance(flat[-1], Constant)
                and isinstance(one.value, str)
                and isinstance(flat[-1].value, str)
            ):
                flat[-1] = Constant(flat[-1].value + one.value)
            else:
                flat.append(one)
    return flat[0] if len(flat) == 1 else Call("concat", tuple(flat))


def content_xml(value: Value, scope: Scope) -> Scalar:
    """The text of a sequence as the content of an element; never NULL."""
    found = leaves(value)
    if not found:
        return Constant("")
    atoms = [isinstance(leaf.item, Atomic) for leaf in found]
    if all(atoms):
        text = joined_text(value, scope)
        if isinstance(text, Constant):
            from xcql.xdm.serialize import escape_text

            return Constant(escape_text(str(text.value)))
        if not any(leaf.item.type in STRINGS for leaf in found):  # type: ignore[attr-defined]
            return text
        return call("escape_text", text)
    if any(atoms) or any(isinstance(leaf.item, Dynamic) for leaf in found):
        return _mixed_xml(value, scope)
    if any(isinstance(leaf.item, Attribute) for leaf in found):
        raise NotNative("attributes among other content")
    return node_xml(value, scope)


def node_xml(value: Value, scope: Scope) -> Scalar:
    """The text of a sequence of nodes."""
    match value:
        case Single(item=Text(scalar=Constant(value=text))):
            from xcql.xdm.serialize import escape_text

            return Constant(escape_text(str(text)))
        case Single(item=item):
            return serialised(item, scope)
        case Concat(values=several, exclusive=False):
            return _flat_concat([node_xml(one, scope) for one in several])
        case Concat(values=several):
            return case(
                *((exists(one), node_xml(one, scope)) for one in several), otherwise=Constant("")
            )
        case Each(plan=plan, value=inner):
            if is_optional(plan):
                condition, known = condition_of(plan)
                text = replaced(node_xml(inner, scope), known)
                return case((condition, text), otherwise=Constant(""))
            return Nested(plan, "join", node_xml(inner, scope))
        case Merged():
            texts = gather(value, lambda item: serialised(item, scope))
            return call("join_texts", texts, Constant(""))
    raise AssertionError(value)


def _mixed_xml(value: Value, scope: Scope) -> Scalar:
    """Nodes and atomic values: no two atomic ones may come next to each other."""
    match value:
        case Single(item=Dynamic(scalar=scalar)):
            return call("dynamic_text", scalar)
        case Single(item=item):
            return serialised(item, scope)
        case Concat(values=several, exclusive=True):
            return case(
                *((exists(one), content_xml(one, scope)) for one in several),
                otherwise=Constant(""),
            )
        case Concat(values=several):
            return _flat_concat(_apart_by_blanks(several, scope))
        case Each(plan=plan, value=inner):
            if is_optional(plan):
                condition, known = condition_of(plan)
                text = replaced(content_xml(inner, scope), known)
                return case((condition, text), otherwise=Constant(""))
            if isinstance(inner, Single) and isinstance(inner.item, Dynamic):
                pairs = gather(value, lambda item: item.scalar)  # type: ignore[attr-defined]
                return call("dynamic_content", pairs)
            raise NotNative("nodes and atomic values in one sequence")
    raise NotNative("nodes and atomic values in one sequence")


def _apart_by_blanks(several: Sequence[Value], scope: Scope) -> list[Scalar]:
    """The texts of values that follow each other: a blank is where two atomic ones meet."""
    texts: list[Scalar] = []
    # whether the last item before is atomic
    after_atomic: Scalar = FALSE
    for value in several:
        if value == EMPTY:
            continue
        here = exists(value)
        kinds = {_is_atomic(leaf.item) for leaf in leaves(value)}
        if kinds == {True}:
            blank = case((conjunction(after_atomic, here), Constant(" ")), otherwise=Constant(""))
            if after_atomic != FALSE:
                texts.append(Constant(" ") if after_atomic == here == TRUE else blank)
            after_atomic = disjunction(after_atomic, here)
        elif kinds == {False}:
            after_atomic = conjunction(after_atomic, negation(here))
        elif after_atomic != FALSE or value is not several[-1]:
            raise NotNative("nodes and atomic values in one sequence")
        texts.append(content_xml(value, scope))
    return texts


def _is_atomic(item: Item) -> bool | None:
    """None where it is known only when the query runs."""
    return None if isinstance(item, Dynamic) else isinstance(item, Atomic)


def constructed_string(element: Element, scope: Scope) -> Scalar:
    """The string value of a constructed element."""
    texts: list[Scalar] = []
    for value in element.content:
        found = leaves(value)
        if not found:
            continue
        if all(isinstance(leaf.item, Atomic) for leaf in found):
            texts.append(joined_text(value, scope))
        elif all(is_node(leaf.item) and not isinstance(leaf.item, Markup) for leaf in found):
            gathered = gather(value, lambda item: string_value(item, scope))
            texts.append(call("join_texts", gathered, Constant("")))
        else:
            raise NotNative("the text of nodes and atomic values")
    return _together(texts)


# paths into constructed elements


def constructed_axis(leaf: Leaf, axis: str, test: Node, scope: Scope, span: Span) -> list[Leaf]:
    element = leaf.item
    assert isinstance(element, Element)
    match axis:
        case "self":
            return [leaf] if _passes(element, test, scope) else []
        case "attribute":
            names = attribute_test(test, scope)
            return [
                Leaf(_there(leaf, attribute.scalar), replace(attribute, owner=element))
                for attribute in element.attributes
                if names is None or attribute.name in names
            ]
        case "child" | "descendant" | "descendant-or-self":
            return _below(leaf, element, axis, test, scope, span)
    raise NotNative(f"the axis {axis} from a constructed element", span)


def _there(leaf: Leaf, scalar: Scalar):  # type: ignore[no-untyped-def]
    from xcql.algebra.operators import Select

    if not may_be_null(scalar):
        return leaf.plan
    return Select(leaf.plan, call("is_not_null", scalar))


def _passes(element: Element, test: Node, scope: Scope) -> bool:
    if element.is_document:
        return is_any_node(test)
    match test:
        case NameTest(name=name) | ElementTest(name=Name() as name):
            uri, local = scope.names.element_name(name)
            return element.name == (f"Q{{{uri}}}{local}" if uri else local)
        case Wildcard(prefix=None, uri=None, local=None) | ElementTest(name=None):
            return True
    return is_any_node(test)


def _below(
    leaf: Leaf, element: Element, axis: str, test: Node, scope: Scope, span: Span
) -> list[Leaf]:
    from xcql.algebra.operators import graft
    from xcql.compile.syntax.paths import axis_from

    found: list[Leaf] = (
        [leaf] if axis == "descendant-or-self" and _passes(element, test, scope) else []
    )
    if is_text_test(test) or is_any_node(test):
        return found + _texts(leaf, element, axis, test, scope, span)
    inner_axis = "self" if axis == "child" else "descendant-or-self"
    around = constructed_lifespan(element) or element.around
    for value in element.content:
        for one in leaves(value):
            item = one.item
            if isinstance(item, StreamDocument):
                raise NotNative("a path into a copy of a stream", span)
            if isinstance(item, StreamElement):
                item = replace(item, is_copy=True, above=None, around=around)
            if isinstance(item, Inner):
                copied = replace(item.owner, is_copy=True, above=None)
                item = replace(item, owner=copied, above=None, way=None)
            if isinstance(item, Element):
                item = replace(item, around=around)
            if isinstance(item, Dynamic):
                raise NotNative(item.reason, span)
            if isinstance(item, StreamElement | Inner | Element):
                for below in axis_from(Leaf(Unit(), item), inner_axis, test, scope, span):
                    found.append(Leaf(graft(graft(below.plan, one.plan), leaf.plan), below.item))
    return found


def _texts(
    leaf: Leaf, element: Element, axis: str, test: Node, scope: Scope, span: Span
) -> list[Leaf]:
    if axis != "child" or is_any_node(test):
        raise NotNative("all nodes of a constructed element", span)
    atoms = [
        all(isinstance(one.item, Atomic | Text) for one in leaves(value))
        for value in element.content
    ]
    if all(atoms):
        from xcql.algebra.operators import Select

        if not element.content:
            return []
        text = constructed_string(element, scope)
        return [Leaf(Select(leaf.plan, call("<>", text, Constant(""))), Text(text, element))]
    if not any(
        any(isinstance(one.item, Atomic | Text | Dynamic) for one in leaves(value))
        for value in element.content
    ):
        return []
    raise NotNative("the text of mixed constructed content", span)
