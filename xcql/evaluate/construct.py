"""Node constructors.

A constructor first evaluates everything inside it, and only then builds its tree in one go: nodes
are numbered in document order as they are made, so no other tree may be begun in between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from elementpath.datatypes import QName as QNameValue
from elementpath.datatypes import UntypedAtomic

from xcql.diagnostics import error
from xcql.evaluate.casting import is_ncname
from xcql.evaluate.context import Context, StaticContext
from xcql.evaluate.scope import (
    Code,
    Environment,
    Scope,
    compile_expression,
    compiles,
    element_name,
    plain_name,
)
from xcql.evaluate.sequences import Items, computed, zero_or_one_atomic
from xcql.evaluate.values import atomize, kind_of
from xcql.source import Span
from xcql.syntax import construct as syntax
from xcql.syntax.node import Expr, Name, Node
from xcql.xdm.atomic import string_of
from xcql.xdm.builder import TreeBuilder, copy_into
from xcql.xdm.functions import XdmArray, XdmFunction
from xcql.xdm.names import XML_NAMESPACE, XMLNS_NAMESPACE, QName
from xcql.xdm.nodes import (
    AttributeNode,
    CommentNode,
    DocumentNode,
    ElementNode,
    NamespaceNode,
    ProcessingInstructionNode,
    TextNode,
)
from xcql.xdm.nodes import Node as XdmNode


class _Place:
    """Where content is being added: the builder, and what the open element has so far."""

    __slots__ = ("attributes", "builder", "has_content", "is_element", "prefixes", "static")

    def __init__(self, builder: TreeBuilder, static: StaticContext, *, is_element: bool) -> None:
        self.builder = builder
        self.static = static
        self.is_element = is_element
        self.attributes: set[QName] = set()
        self.prefixes: dict[str, str] = {}
        self.has_content = False


# adds what was evaluated to the tree
Emit = Callable[[_Place], None]
# evaluates, and gives what is to be added
Prepare = Callable[[Environment, Context], Emit]


@compiles(syntax.DirectElement)
def direct_element(node: syntax.DirectElement, scope: Scope) -> Code:
    return _as_tree(_direct_element(node, scope, is_top=True), scope)


def _as_tree(prepare: Prepare, scope: Scope) -> Code:
    """Code that makes a tree of its own."""

    def run(env: Environment, context: Context) -> Items:
        emit = prepare(env, context)
        builder = TreeBuilder()
        emit(_Place(builder, scope.static, is_element=False))
        return (builder.result(),)

    return run


def _direct_element(node: syntax.DirectElement, scope: Scope, *, is_top: bool) -> Prepare:
    declared = _declared_namespaces(node)
    scope = scope.inside_constructor(declared)
    name = element_name(node.name, scope.static)
    attributes = []
    names: set[QName] = set()
    for attribute in node.attributes:
        attribute_name = plain_name(attribute.name, scope.static)
        if attribute_name in names:
            raise error(
                "XQST0040", f"the attribute {attribute.name} is there twice", attribute.span
            )
        names.add(attribute_name)
        attributes.append((attribute_name, _attribute_value(attribute.parts, scope)))
    content = [_content_part(part, scope) for part in node.content]
    namespaces = scope.constructor_namespaces if is_top else declared
    static = scope.static
    used = {name.prefix, *(attribute.prefix for attribute in names)}

    def prepare(env: Environment, context: Context) -> Emit:
        values = [(attribute, value(env, context)) for attribute, value in attributes]
        parts = [part(env, context) for part in content]

        def emit(outer: _Place) -> None:
            builder = outer.builder
            declare = namespaces
            if not is_top:
                declare = {**_not_inherited(builder.in_scope(), scope, used), **namespaces}
            builder.start_element(name, declare, static.base_uri if is_top else None)
            place = _Place(builder, static, is_element=True)
            place.prefixes = {**namespaces, name.prefix: name.uri}
            for attribute, value in values:
                _add_attribute(place, attribute, value, None)
            for part in parts:
                part(place)
            builder.end()

        return emit

    return prepare


def _not_inherited(in_scope: Mapping[str, str], scope: Scope, used: set[str]) -> dict[str, str]:
    """Takes back what the element around declares only because its own names need it.

    An element written inside another has the namespaces that `xmlns` attributes around it declare,
    and those that its own names use.
    """
    return {
        prefix: ""
        for prefix, uri in in_scope.items()
        if prefix and uri and prefix != "xml" and prefix not in used
        and scope.constructor_namespaces.get(prefix) != uri
    }  # fmt: skip


def _declared_namespaces(node: syntax.DirectElement) -> dict[str, str]:
    """The `xmlns` attributes of a start tag, checked."""
    declared: dict[str, str] = {}
    for declaration in node.namespaces:
        prefix, uri, span = declaration.prefix, declaration.uri, declaration.span
        if prefix in declared:
            raise error("XQST0071", f"the prefix '{prefix}' is declared twice", span)
        if prefix == "xmlns" or (prefix == "xml") != (uri == XML_NAMESPACE):
            raise error("XQST0070", f"the prefix '{prefix}' cannot stand for {uri!r}", span)
        if uri == XMLNS_NAMESPACE:
            raise error("XQST0070", f"no prefix can stand for {uri!r}", span)
        if prefix and not uri:
            raise error("XQST0085", f"the prefix '{prefix}' needs a namespace", span)
        declared[prefix] = uri
    return {prefix: uri for prefix, uri in declared.items() if prefix != "xml"}


def _attribute_value(
    parts: tuple[Node, ...], scope: Scope
) -> Callable[[Environment, Context], str]:
    pieces: list[str | Code] = [
        part.value if isinstance(part, syntax.Text) else _enclosed(part, scope) for part in parts
    ]

    def value(env: Environment, context: Context) -> str:
        return "".join(
            piece if isinstance(piece, str) else joined_text(piece(env, context))
            for piece in pieces
        )

    return value


def _enclosed(part: Node, scope: Scope) -> Code:
    assert isinstance(part, syntax.Enclosed)
    return compile_expression(part.body, scope)


def joined_text(items: Items) -> str:
    """Atomized, as strings, with blanks between: what attributes and texts are made of."""
    return " ".join(string_of(value) for value in atomize(items))


def _content_part(part: Node, scope: Scope) -> Prepare:
    if isinstance(part, syntax.Text):
        return _fixed(_text_emitter(part.value))
    if isinstance(part, syntax.DirectElement):
        return _child(_direct_element(part, scope, is_top=False))
    if isinstance(part, syntax.Enclosed):
        return _enclosed_content(compile_expression(part.body, scope), part.span)
    assert isinstance(part, Expr)
    return _enclosed_content(compile_expression(part, scope), part.span)


def _fixed(emit: Emit) -> Prepare:
    return lambda env, context: emit


def _text_emitter(text: str) -> Emit:
    def emit(place: _Place) -> None:
        if text:
            place.has_content = True
            place.builder.text(text)

    return emit


def _child(prepare: Prepare) -> Prepare:
    def prepare_child(env: Environment, context: Context) -> Emit:
        emit = prepare(env, context)

        def emit_child(place: _Place) -> None:
            place.has_content = True
            emit(place)

        return emit_child

    return prepare_child


def _enclosed_content(code: Code, span: Span) -> Prepare:
    def prepare(env: Environment, context: Context) -> Emit:
        items = computed(code(env, context))
        return lambda place: add_content(place, items, span)

    return prepare


def add_content(place: _Place, items: Items, span: Span) -> None:
    """Add a sequence to an element or document: copies of nodes, and texts of other values."""
    builder = place.builder
    texts: list[str] = []
    for item in _flat(items):
        if not isinstance(item, XdmNode):
            if isinstance(item, XdmFunction):
                raise error("XQTY0105", f"{kind_of(item)} cannot be content of a node", span)
            texts.append(string_of(item))
            continue
        if texts:
            _add_text(place, " ".join(texts))
            texts = []
        if isinstance(item, (AttributeNode, NamespaceNode)):
            _add_attribute_or_namespace(place, item, span)
        elif isinstance(item, TextNode):
            _add_text(place, item.value)
        elif not isinstance(item, DocumentNode) or item.children:
            place.has_content = True
            copy_into(
                builder,
                item,
                preserve_namespaces=place.static.preserve_namespaces,
                inherit_namespaces=place.static.inherit_namespaces,
            )
    if texts:
        _add_text(place, " ".join(texts))


def _flat(items: Items) -> Items:
    for item in items:
        if isinstance(item, XdmArray):
            yield from item.flattened()
        else:
            yield item


def _add_text(place: _Place, text: str) -> None:
    if text:
        place.has_content = True
        place.builder.text(text)


def _add_attribute_or_namespace(
    place: _Place, node: AttributeNode | NamespaceNode, span: Span
) -> None:
    kind = "an attribute" if isinstance(node, AttributeNode) else "a namespace"
    if not place.is_element:
        raise error("XPTY0004", f"a document cannot have {kind}", span)
    if place.has_content:
        raise error(
            "XQTY0024",
            f"{kind} comes after other content",
            span,
            hints=["put the attributes before texts and elements"],
        )
    if isinstance(node, AttributeNode):
        _add_attribute(place, node.name, node.value, span)
        return
    bound = place.prefixes.get(node.prefix)
    if bound is not None and bound != node.uri:
        raise error("XQDY0102", f"the prefix '{node.prefix}' has two namespaces here", span)
    if not node.prefix and "" not in place.prefixes and place.builder.in_scope().get("") == "":
        element = place.builder._open[-1]
        if isinstance(element, ElementNode) and not element.name.uri:
            raise error("XQDY0102", "the element is in no namespace; it gets a default one", span)
    place.prefixes[node.prefix] = node.uri
    place.builder.namespace(node.prefix, node.uri)


def _add_attribute(place: _Place, name: QName, value: str, span: Span | None) -> None:
    if name in place.attributes:
        raise error("XQDY0025", f"the attribute {name} is there twice", span)
    place.attributes.add(name)
    if name.uri == XML_NAMESPACE and name.local == "id":
        value = " ".join(value.split())
    declared = "ID" if name.uri == XML_NAMESPACE and name.local == "id" else "CDATA"
    place.builder.attribute(name, value, declared)


@compiles(syntax.DirectComment)
def direct_comment(node: syntax.DirectComment, scope: Scope) -> Code:
    return lambda env, context: (CommentNode(node.value),)


@compiles(syntax.DirectProcessingInstruction)
def direct_processing_instruction(node: syntax.DirectProcessingInstruction, scope: Scope) -> Code:
    return lambda env, context: (ProcessingInstructionNode(node.target, node.value),)


@compiles(syntax.ComputedElement)
def computed_element(node: syntax.ComputedElement, scope: Scope) -> Code:
    name_of = _name(node.name, scope, is_attribute=False)
    content = compile_expression(node.content, scope)
    namespaces, static, span = scope.constructor_namespaces, scope.static, node.content.span

    def run(env: Environment, context: Context) -> Items:
        name = name_of(env, context)
        items = computed(content(env, context))
        builder = TreeBuilder()
        kept = _compatible(namespaces, name)
        # a namespace node keeps its prefix; the element's name yields
        kept.update((i.prefix, i.uri) for i in items if isinstance(i, NamespaceNode) and name.uri)
        builder.start_element(name, kept, static.base_uri)
        place = _Place(builder, static, is_element=True)
        place.prefixes = dict(kept)
        add_content(place, items, span)
        builder.end()
        return (builder.result(),)

    return run


def _compatible(namespaces: Mapping[str, str], name: QName) -> dict[str, str]:
    """The surrounding namespaces but for one that the element's own name takes away."""
    return {
        prefix: uri
        for prefix, uri in namespaces.items()
        if prefix != name.prefix or uri == name.uri
    }


@compiles(syntax.ComputedAttribute)
def computed_attribute(node: syntax.ComputedAttribute, scope: Scope) -> Code:
    name_of = _name(node.name, scope, is_attribute=True)
    content = compile_expression(node.content, scope)

    def run(env: Environment, context: Context) -> Items:
        name = name_of(env, context)
        value = joined_text(content(env, context))
        if name.uri == XML_NAMESPACE and name.local == "id":
            return (AttributeNode(name, " ".join(value.split()), "ID"),)
        return (AttributeNode(name, value),)

    return run


def _name(
    given: Name | Expr, scope: Scope, *, is_attribute: bool
) -> Callable[[Environment, Context], QName]:
    """The name of a computed element or attribute, fixed or computed."""
    code_of_bad_name = "XQDY0044" if is_attribute else "XQDY0096"
    if isinstance(given, Name):
        resolve = plain_name if is_attribute else element_name
        fixed, given_span = resolve(given, scope.static), given.span
        return lambda env, context: _checked_name(fixed, code_of_bad_name, given_span)
    code, span, static = compile_expression(given, scope), given.span, scope.static

    def name(env: Environment, context: Context) -> QName:
        value = zero_or_one_atomic(code(env, context), "the name", span)
        if isinstance(value, QNameValue):
            found = QName(value.uri or "", value.local_name, value.prefix or "")
        elif isinstance(value, (str, UntypedAtomic)):
            found = _lexical_name(string_of(value), static, span, is_attribute=is_attribute)
        else:
            shown = "an empty sequence" if value is None else kind_of(value)
            raise error("XPTY0004", f"a name is text or xs:QName; this is {shown}", span)
        return _checked_name(found, code_of_bad_name, span)

    return name


_EXPANDED = re.compile(r"Q\{([^{}]*)\}(.+)", re.S)


def _lexical_name(text: str, static: StaticContext, span: Span, *, is_attribute: bool) -> QName:
    text = text.strip(" \t\r\n")
    expanded = _EXPANDED.fullmatch(text)
    if expanded is not None:
        uri, prefix, local = " ".join(expanded[1].split()), "", expanded[2]
    else:
        prefix, _, local = text.rpartition(":")
        uri = "" if is_attribute else static.default_element_namespace
    if not is_ncname(local) or (prefix and not is_ncname(prefix)) or text.startswith(":"):
        raise error("XQDY0074", f'"{text}" is not a name', span)
    if prefix:
        found = static.namespaces.get(prefix)
        if found is None:
            raise error("XQDY0074", f"the prefix '{prefix}' is not declared", span)
        uri = found
    return QName(uri, local, prefix)


def _checked_name(name: QName, code: str, span: Span) -> QName:
    """A name that an element or attribute may have: nothing of the xmlns namespace."""
    is_xmlns = name.prefix == "xmlns" or name.uri == XMLNS_NAMESPACE
    if code == "XQDY0044" and not name.prefix and not name.uri and name.local == "xmlns":
        is_xmlns = True
    if is_xmlns or (name.prefix == "xml") != (name.uri == XML_NAMESPACE and name.prefix != ""):
        raise error(code, f"{name} is not allowed as a name here", span)
    if name.uri == XML_NAMESPACE and name.prefix != "xml":
        return QName(name.uri, name.local, "xml")
    if code == "XQDY0044" and name.uri and not name.prefix:
        # an attribute in a namespace needs some prefix
        return QName(name.uri, name.local, "ns0")
    return name


@compiles(syntax.ComputedProcessingInstruction)
def computed_processing_instruction(
    node: syntax.ComputedProcessingInstruction, scope: Scope
) -> Code:
    target_of = _nc_name(node.target, scope, "XQDY0041")
    content, span = compile_expression(node.content, scope), node.span

    def run(env: Environment, context: Context) -> Items:
        target = target_of(env, context)
        if target.lower() == "xml":
            raise error("XQDY0064", f"a processing instruction cannot be called {target}", span)
        value = joined_text(content(env, context))
        if "?>" in value:
            raise error("XQDY0026", "a processing instruction cannot hold ?>", span)
        return (ProcessingInstructionNode(target, value.lstrip(" \t\r\n")),)

    return run


def _nc_name(
    given: Name | Expr, scope: Scope, code_of_bad_name: str
) -> Callable[[Environment, Context], str]:
    """A name without prefix, fixed or computed; an empty sequence is no name."""
    if isinstance(given, Name):
        fixed = given.local
        return lambda env, context: fixed
    code, span = compile_expression(given, scope), given.span

    def name(env: Environment, context: Context) -> str:
        value = zero_or_one_atomic(code(env, context), "the name", span)
        if not isinstance(value, (str, UntypedAtomic)):
            shown = "an empty sequence" if value is None else kind_of(value)
            raise error("XPTY0004", f"a name is text; this is {shown}", span)
        text = string_of(value).strip(" \t\r\n")
        if not is_ncname(text):
            raise error(code_of_bad_name, f'"{text}" is not a name without prefix', span)
        return text

    return name


@compiles(syntax.ComputedNamespace)
def computed_namespace(node: syntax.ComputedNamespace, scope: Scope) -> Code:
    given = node.prefix
    content, span = compile_expression(node.content, scope), node.span
    prefix_code = None if isinstance(given, Name) else compile_expression(given, scope)

    def prefix_of(env: Environment, context: Context) -> str:
        if prefix_code is None:
            assert isinstance(given, Name)
            return given.local
        value = zero_or_one_atomic(prefix_code(env, context), "the prefix", span)
        if value is None:
            return ""
        if not isinstance(value, (str, UntypedAtomic)):
            raise error("XPTY0004", f"a prefix is text; this is {kind_of(value)}", span)
        text = string_of(value).strip(" \t\r\n")
        if text and not is_ncname(text):
            raise error("XQDY0074", f'"{text}" is not a prefix', span)
        return text

    def run(env: Environment, context: Context) -> Items:
        prefix = prefix_of(env, context)
        uri = joined_text(content(env, context))
        if prefix == "xmlns" or (prefix == "xml") != (uri == XML_NAMESPACE):
            raise error("XQDY0101", f"the prefix '{prefix}' cannot stand for {uri!r}", span)
        if uri in (XMLNS_NAMESPACE, ""):
            raise error("XQDY0101", f"{uri!r} cannot be the namespace of a prefix", span)
        return (NamespaceNode(prefix, uri),)

    return run


@compiles(syntax.ComputedDocument)
def computed_document(node: syntax.ComputedDocument, scope: Scope) -> Code:
    content, static, span = compile_expression(node.content, scope), scope.static, node.span

    def run(env: Environment, context: Context) -> Items:
        items = computed(content(env, context))
        builder = TreeBuilder()
        builder.start_document(base_uri=static.base_uri)
        add_content(_Place(builder, static, is_element=False), items, span)
        builder.end()
        return (builder.result(),)

    return run


@compiles(syntax.ComputedText)
def computed_text(node: syntax.ComputedText, scope: Scope) -> Code:
    content = compile_expression(node.content, scope)

    def run(env: Environment, context: Context) -> Items:
        items = computed(atomize(content(env, context)))
        return (TextNode(joined_text(items)),) if items else ()

    return run


@compiles(syntax.ComputedComment)
def computed_comment(node: syntax.ComputedComment, scope: Scope) -> Code:
    content, span = compile_expression(node.content, scope), node.span

    def run(env: Environment, context: Context) -> Items:
        text = joined_text(content(env, context))
        if "--" in text or text.endswith("-"):
            raise error("XQDY0072", "a comment cannot hold -- or end with -", span)
        return (CommentNode(text),)

    return run
