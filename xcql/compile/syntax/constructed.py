"""Constructors: elements, attributes, texts, documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xcql.algebra.scalars import (
    Call,
    Column,
    Constant,
    Lambda,
    Nested,
    Scalar,
    call,
    case,
    conjunction,
    disjunction,
)
from xcql.compile.library.access import Lifespan
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.lifespans import lifespan
from xcql.compile.library.serialisation import (
    concatenated,
    constructed_xml,
    content_xml,
    joined,
    joined_text,
    serialised,
)
from xcql.compile.library.stream_xml import has_form
from xcql.compile.library.trees import new_tree
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    AnyNode,
    Atomic,
    AttributeItem,
    Dynamic,
    Element,
    Item,
    Markup,
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
    scope = replace(scope, names=scope.names.within(expr.namespaces))
    tag = _element_name(expr.name, scope)
    declared = tuple((one.prefix, one.uri) for one in expr.namespaces if one.prefix != "xml")
    tag = replace(tag, namespaces=tuple(dict.fromkeys((*declared, *tag.namespaces))))
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
    enclosed = [part.span for part in expr.content if isinstance(part, syntax.Enclosed)]
    at = enclosed[0] if len(enclosed) == 1 else None
    return _constructed(tag, attributes, content, scope, expr.span, at)


def _direct_attribute(expr: syntax.DirectAttribute, scope: Scope) -> AttributeItem:
    name, prefix = _attribute_name(expr.name, scope)
    texts: list[Scalar] = []
    values: list[Value] = []
    for part in expr.parts:
        if isinstance(part, syntax.Text):
            texts.append(Constant(part.value))
            values.append(Single(TextItem(Constant(part.value))))
        else:
            values.append(value_of(part.body, scope))  # type: ignore[attr-defined]
            texts.append(joined_text(values[-1], scope))
    return AttributeItem(name, concatenated(texts), made_of=type_of_one(values), prefix=prefix)


def _computed_element(expr: syntax.ComputedElement, scope: Scope) -> Value:
    content = value_of(expr.content, scope)
    if isinstance(expr.name, Name):
        return _constructed(_element_name(expr.name, scope), [], [content], scope, expr.span)
    name = _computed_name(expr.name, scope)
    tag = name if isinstance(name, Scalar) else _ElementName(name, "", ())
    return _constructed(tag, [], [content], scope, expr.span)


def _constructed(
    name: _ElementName | Scalar,
    attributes: list[AttributeItem],
    content: list[Value],
    scope: Scope,
    span: Span,
    at: Span | None = None,
) -> Value:
    """An element; what only the data tell about its tag is seen only in its text.

    All attributes in its content are from the expression `at`, if that is given.
    """
    others: list[Value] = []
    known = name if isinstance(name, _ElementName) else _ElementName("", "", ())
    element = _element(known, attributes, content, others, scope, span)
    if isinstance(name, _ElementName) and not others:
        return Single(element)
    texts = [joined(one, lambda item: _attribute_text(item, scope)) for one in others]
    computed = None if isinstance(name, _ElementName) else name
    text = constructed_xml(element, scope, computed, texts)
    if others:
        text = case((_are_distinct(element, others), text), otherwise=_several(scope, span, at))
    ends = _lifespan_with(element, others, scope)
    pair = call("evaluator_item", Constant("element"), text, *ends)
    return Single(Dynamic(pair, "a name that is computed from data"))


def _attribute_text(item: Item, scope: Scope) -> Scalar:
    """An attribute as it is written into a tag."""
    return call("concat", Constant(" "), serialised(item, scope))


def _pair(item: Item) -> tuple[Scalar, Scalar]:
    """The name and the value of an attribute."""
    match item:
        case Dynamic(attribute=(name, value)):
            return name, value
        case AnyNode(name=name, value=value):
            return name, value
        case AttributeItem(name=name, scalar=value):
            return Constant(name), value
    raise AssertionError(item)


def _lifespan_with(element: Element, others: list[Value], scope: Scope) -> Lifespan:
    """The lifespan of an element, which attributes of any name may give it."""
    every = [leaf.item for one in others for leaf in leaves(one)]
    if not any(isinstance(item, AnyNode) for item in every):
        return lifespan(element, scope)
    ends: list[Scalar] = []
    for name, symbol in (("vtFrom", "start"), ("vtTo", "now")):

        def read(item: Item, name: str = name) -> Scalar:
            own, value = _pair(item)
            return case((call("=", own, Constant(name)), value))

        values = Call("concat_arrays", tuple(gather(one, read) for one in others))
        is_there = Lambda((".one",), call("is_not_null", Column(".one")))
        value = call("first_of", call("filter", values, is_there))
        known = [one.scalar for one in element.attributes if one.name == name]
        if known:
            value = call("coalesce", known[0], value)
        ends += [value, call("lifespan_bound", value, Constant(symbol))]
    has_own = conjunction(call("is_not_null", ends[0]), call("is_not_null", ends[2]))
    begin, end = lifespan(element, scope)
    return case((has_own, ends[1]), otherwise=begin), case((has_own, ends[3]), otherwise=end)


def _are_distinct(element: Element, others: list[Value]) -> Scalar:
    """Whether the attributes of an element have different names."""
    names: list[Scalar] = []
    for attribute in element.attributes:
        name = call("array", Constant(attribute.name))
        is_there = call("is_not_null", attribute.scalar)
        names.append(case((is_there, name), otherwise=call("array")))
    names += [gather(one, lambda item: _pair(item)[0]) for one in others]
    every = names[0] if len(names) == 1 else Call("concat_arrays", tuple(names))
    return call("=", call("size", call("array_distinct", every)), call("size", every))


def _several(scope: Scope, span: Span, at: Span | None) -> Scalar:
    if at is not None:
        return scope.compilation.error("XQDY0025", "two attributes have the same name", at)
    return scope.compilation.limit(span, "two attributes of one name")


def _is_attribute(item: Item) -> bool:
    """Whether an item is an attribute that the query constructs, or one with a known name."""
    return isinstance(item, AttributeItem) or _is_named_by_data(item)


def _is_named_by_data(item: Item) -> bool:
    if isinstance(item, AnyNode):
        # a copy may need another prefix for its namespace
        is_plain = not any(path.name.startswith("Q{") for path in item.paths)
        return item.kinds == {"attribute"} and is_plain
    return isinstance(item, Dynamic) and item.attribute is not None


@dataclass(frozen=True, slots=True)
class _ElementName:
    """The name of a constructed element, and the namespaces that it declares by their prefixes."""

    name: str
    prefix: str
    namespaces: tuple[tuple[str, str], ...]


def _element_name(name: Name, scope: Scope) -> _ElementName:
    uri, local = scope.names.element_name(name)
    if name.uri:
        raise NotNative("a name without a prefix in a namespace", name.span)
    prefix = name.prefix or ""
    if uri is None or prefix in ("xml", "xmlns") or name.local == "xmlns":
        raise NotNative("such a name", name.span)
    if not uri:
        return _ElementName(local, "", ())
    return _ElementName(f"Q{{{uri}}}{local}", prefix, ((prefix, uri),))


def _attribute_name(name: Name, scope: Scope) -> tuple[str, str]:
    """The expanded name of a constructed attribute, and its prefix."""
    if name.uri or (name.local == "xmlns" and not name.prefix):
        raise NotNative("a name without a prefix in a namespace", name.span)
    if not name.prefix:
        return name.local, ""
    uri = scope.names.prefixes.get(name.prefix)
    # the value of an xml:id is normalised
    if not uri or name.prefix == "xmlns" or str(name) == "xml:id":
        raise NotNative("such a name", name.span)
    return f"Q{{{uri}}}{name.local}", name.prefix


def _computed_name(name: Expr, scope: Scope) -> str | Scalar:
    """The name if it is known, else the scalar for it."""
    item = one_atomic(value_of(name, scope), scope, name.span)
    if item is None or item.type not in ("xs:string", "xs:untypedAtomic", "xs:QName"):
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
    if scope.names.element:
        raise NotNative("a name in a namespace", name.span)
    if not text.isidentifier() or text == "xmlns":
        raise NotNative("such a name", name.span)
    return text


def _element(
    name: _ElementName,
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
        if any(
            is_attribute_of_any_name(leaf.item) and not _is_attribute(leaf.item) for leaf in found
        ):
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
            if others or any(map(_is_named_by_data, items)) or not at_most_one(part):
                if any(isinstance(one, AttributeItem) and "Q{" in one.name for one in items):
                    raise NotNative("attributes in namespaces among others", span)
                others.append(part)
                continue
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
                attributes.append(replace(attribute, scalar=scalar, owner=None))
        # together: atomic values next to each other are separated by spaces
        kept.append(concat(rest))
    names = [attribute.name for attribute in attributes]
    if len(set(names)) < len(names):
        raise NotNative("two attributes of one name", span)
    declared = dict(name.namespaces)
    for attribute in attributes:
        if not attribute.name.startswith("Q{") or attribute.prefix == "xml":
            continue
        uri = attribute.name[2:].partition("}")[0]
        if not attribute.prefix or declared.setdefault(attribute.prefix, uri) != uri:
            raise NotNative("an attribute with a namespace", span)
    if len(declared) > len(name.namespaces) and any(
        isinstance(leaf.item, AnyNode) for one in others for leaf in leaves(one)
    ):
        raise NotNative("attributes of any name", span)
    if declared and not has_form("declared_once", scope):
        raise NotNative("an element with namespaces", span)
    return Element(
        name.name,
        tuple(attributes),
        tuple(kept),
        namespaces=tuple(declared.items()),
        prefix=name.prefix,
        tree=new_tree(scope),
    )


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
    value = value_of(expr.content, scope)
    text = joined_text(value, scope)
    prefix = ""
    if isinstance(expr.name, Name):
        name: str | Scalar
        name, prefix = _attribute_name(expr.name, scope)
    else:
        name = _computed_name(expr.name, scope)
    if isinstance(name, str):
        return Single(AttributeItem(name, text, made_of=type_of_one([value]), prefix=prefix))
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


def _comment(expr: syntax.DirectComment | syntax.ComputedComment, scope: Scope) -> Value:
    if isinstance(expr, syntax.DirectComment):
        text: Scalar = Constant(expr.value)
    else:
        text = joined_text(value_of(expr.content, scope), scope)
        is_wrong = disjunction(
            call("contains", text, Constant("--")), call("endswith", text, Constant("-"))
        )
        message = "a comment cannot contain -- or end with -"
        text = _unless(is_wrong, "XQDY0072", message, text, scope, expr.span)
    written = Call("concat", (Constant("<!--"), text, Constant("-->")))
    return Single(Markup("comment", written, text))


def _instruction(
    expr: syntax.DirectProcessingInstruction | syntax.ComputedProcessingInstruction, scope: Scope
) -> Value:
    if isinstance(expr, syntax.DirectProcessingInstruction):
        target, text = expr.target, Constant(expr.value)
        written = f"<?{target} {expr.value}?>" if expr.value else f"<?{target}?>"
        return Single(Markup("processing-instruction", Constant(written), text))
    if not isinstance(expr.target, Name) or expr.target.local.lower() == "xml":
        raise NotNative("a computed name of a processing instruction", expr.span)
    value: Scalar = call("without_blanks_before", joined_text(value_of(expr.content, scope), scope))
    message = "a processing instruction cannot contain ?>"
    is_wrong = call("contains", value, Constant("?>"))
    value = _unless(is_wrong, "XQDY0026", message, value, scope, expr.span)
    blank = case((call("=", value, Constant("")), Constant("")), otherwise=Constant(" "))
    start = Constant(f"<?{expr.target.local}")
    return Single(
        Markup(
            "processing-instruction", Call("concat", (start, blank, value, Constant("?>"))), value
        )
    )


def _unless(
    is_wrong: Scalar, code: str, message: str, value: Scalar, scope: Scope, span: Span
) -> Scalar:
    return case((is_wrong, scope.compilation.error(code, message, span)), otherwise=value)


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
    syntax.DirectComment: _comment,
    syntax.ComputedComment: _comment,
    syntax.DirectProcessingInstruction: _instruction,
    syntax.ComputedProcessingInstruction: _instruction,
    syntax.StringConstructor: _string_constructor,
}
