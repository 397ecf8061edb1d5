"""Node constructors.

A constructor first evaluates everything inside it, and only then builds its tree in one pass:
nodes are numbered in document order at creation, so no other tree may begin in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xcql.diagnostics import error
from xcql.evaluate.context import Context, StaticContext
from xcql.evaluate.scope import (
    Code,
    Environment,
    NameScope,
    compile_expression,
    compiles,
    element_name,
    plain_name,
)
from xcql.evaluate.sequences import Items, computed
from xcql.evaluate.values import atomize, kind_of
from xcql.source import Span
from xcql.syntax import construct as syntax
from xcql.syntax.node import Expr, SyntaxNode
from xcql.xdm.atomic import string_of
from xcql.xdm.builder import TreeBuilder, copy_into
from xcql.xdm.functions import XdmArray, XdmFunction
from xcql.xdm.names import XML_NAMESPACE, XMLNS_NAMESPACE, QName
from xcql.xdm.nodes import (
    AttributeNode,
    CommentNode,
    DocumentNode,
    NamespaceNode,
    ProcessingInstructionNode,
    TextNode,
)
from xcql.xdm.nodes import Node as XdmNode


class Place:
    """The place where content is added: the builder, and the state of the open element."""

    __slots__ = ("attributes", "builder", "element", "has_content", "prefixes", "static")

    def __init__(
        self, builder: TreeBuilder, static: StaticContext, element: QName | None = None
    ) -> None:
        self.builder = builder
        self.static = static
        self.element = element
        self.attributes: set[QName] = set()
        self.prefixes: dict[str, str] = {}
        self.has_content = False


# adds the evaluated content to the tree
Emit = Callable[[Place], None]
# evaluates, and returns the function that adds the result
Prepare = Callable[[Environment, Context], Emit]


@compiles(syntax.DirectElement)
def direct_element(node: syntax.DirectElement, scope: NameScope) -> Code:
    return _as_tree(_direct_element(node, scope, is_top=True), scope)


def _as_tree(prepare: Prepare, scope: NameScope) -> Code:
    """Code that builds a separate tree."""

    def run(env: Environment, context: Context) -> Items:
        emit = prepare(env, context)
        builder = TreeBuilder()
        emit(Place(builder, scope.static))
        return (builder.result(),)

    return run


def _direct_element(node: syntax.DirectElement, scope: NameScope, *, is_top: bool) -> Prepare:
    declared = _declared_namespaces(node)
    scope = scope.inside_constructor(declared)
    name = element_name(node.name, scope.static)
    attributes = []
    names: set[QName] = set()
    for attribute in node.attributes:
        attribute_name = plain_name(attribute.name, scope.static)
        if attribute_name in names:
            raise error("XQST0040", f"duplicate attribute {attribute.name}", attribute.span)
        names.add(attribute_name)
        attributes.append((attribute_name, _attribute_value(attribute.parts, scope)))
    content = [_content_part(part, scope) for part in node.content]
    namespaces = scope.constructor_namespaces if is_top else declared
    static = scope.static
    used = {name.prefix, *(attribute.prefix for attribute in names)}

    def prepare(env: Environment, context: Context) -> Emit:
        values = [(attribute, value(env, context)) for attribute, value in attributes]
        parts = [part(env, context) for part in content]

        def emit(outer: Place) -> None:
            builder = outer.builder
            declare = namespaces
            if not is_top:
                declare = {**_not_inherited(builder.in_scope(), scope, used), **namespaces}
            builder.start_element(name, declare, static.base_uri if is_top else None)
            place = Place(builder, static, name)
            place.prefixes = {**namespaces, name.prefix: name.uri}
            for attribute, value in values:
                _add_attribute(place, attribute, value, None)
            for part in parts:
                part(place)
            builder.end()

        return emit

    return prepare


def _not_inherited(in_scope: Mapping[str, str], scope: NameScope, used: set[str]) -> dict[str, str]:
    """Undoes declarations that the parent has only because its own names need them.

    An element written inside another has the namespaces of the `xmlns` attributes around it,
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
            raise error("XQST0070", f"the prefix '{prefix}' cannot be bound to {uri!r}", span)
        if uri == XMLNS_NAMESPACE:
            raise error("XQST0070", f"no prefix can be bound to {uri!r}", span)
        if prefix and not uri:
            raise error("XQST0085", f"the prefix '{prefix}' needs a namespace", span)
        declared[prefix] = uri
    return {prefix: uri for prefix, uri in declared.items() if prefix != "xml"}


def _attribute_value(
    parts: tuple[SyntaxNode, ...], scope: NameScope
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


def _enclosed(part: SyntaxNode, scope: NameScope) -> Code:
    assert isinstance(part, syntax.Enclosed)
    return compile_expression(part.body, scope)


def joined_text(items: Items) -> str:
    """Atomize, convert to strings, join with spaces: the content of attributes and texts."""
    return " ".join(string_of(value) for value in atomize(items))


def _content_part(part: SyntaxNode, scope: NameScope) -> Prepare:
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
    def emit(place: Place) -> None:
        if text:
            place.has_content = True
            place.builder.text(text)

    return emit


def _child(prepare: Prepare) -> Prepare:
    def prepare_child(env: Environment, context: Context) -> Emit:
        emit = prepare(env, context)

        def emit_child(place: Place) -> None:
            place.has_content = True
            emit(place)

        return emit_child

    return prepare_child


def _enclosed_content(code: Code, span: Span) -> Prepare:
    def prepare(env: Environment, context: Context) -> Emit:
        items = computed(code(env, context))
        return lambda place: add_content(place, items, span)

    return prepare


def add_content(place: Place, items: Items, span: Span) -> None:
    """Add a sequence to an element or document: copies of nodes, other values as text."""
    builder = place.builder
    texts: list[str] = []
    for item in _flat(items):
        if not isinstance(item, XdmNode):
            if isinstance(item, XdmFunction):
                raise error("XQTY0105", f"{kind_of(item)} cannot be the content of a node", span)
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


def _add_text(place: Place, text: str) -> None:
    if text:
        place.has_content = True
        place.builder.text(text)


def _add_attribute_or_namespace(
    place: Place, node: AttributeNode | NamespaceNode, span: Span
) -> None:
    kind = "an attribute" if isinstance(node, AttributeNode) else "a namespace"
    if place.element is None:
        raise error("XPTY0004", f"a document cannot have {kind}", span)
    if place.has_content:
        raise error(
            "XQTY0024",
            f"{kind} comes after other content",
            span,
            hints=["put attributes before text and elements"],
        )
    if isinstance(node, AttributeNode):
        _add_attribute(place, node.name, node.value, span)
        return
    bound = place.prefixes.get(node.prefix)
    if bound is not None and bound != node.uri:
        raise error("XQDY0102", f"the prefix '{node.prefix}' is bound to two namespaces here", span)
    if not node.prefix and not place.element.uri:
        raise error("XQDY0102", "an element in no namespace cannot have a default namespace", span)
    place.prefixes[node.prefix] = node.uri
    place.builder.namespace(node.prefix, node.uri)


def _add_attribute(place: Place, name: QName, value: str, span: Span | None) -> None:
    if name in place.attributes:
        raise error("XQDY0025", f"duplicate attribute {name}", span)
    place.attributes.add(name)
    if name.uri == XML_NAMESPACE and name.local == "id":
        value = " ".join(value.split())
    declared = "ID" if name.uri == XML_NAMESPACE and name.local == "id" else "CDATA"
    place.builder.attribute(name, value, declared)


@compiles(syntax.DirectComment)
def direct_comment(node: syntax.DirectComment, scope: NameScope) -> Code:
    return lambda env, context: (CommentNode(node.value),)


@compiles(syntax.DirectProcessingInstruction)
def direct_processing_instruction(
    node: syntax.DirectProcessingInstruction, scope: NameScope
) -> Code:
    return lambda env, context: (ProcessingInstructionNode(node.target, node.value),)
