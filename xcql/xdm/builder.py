"""Building trees: a sequence of events becomes nodes, with the namespaces they need.

>>> from xcql.xdm.serialize import serialize
>>> builder = TreeBuilder()
>>> top = builder.start_element(QName("urn:x", "a", "p"))
>>> builder.attribute(QName("", "n"), "1")
>>> builder.text("one ")
>>> builder.text("text")
>>> builder.end()
>>> serialize(builder.result())
'<p:a xmlns:p="urn:x" n="1">one text</p:a>'
"""

from __future__ import annotations

from collections.abc import Mapping

from xcql.xdm.names import XML_NAMESPACE, QName
from xcql.xdm.nodes import (
    NO_DECLARATIONS,
    AttributeNode,
    ChildNode,
    CommentNode,
    DocumentNode,
    ElementNode,
    NamespaceNode,
    Node,
    ParentNode,
    ProcessingInstructionNode,
    TextNode,
)

_ALWAYS_IN_SCOPE = {"xml": XML_NAMESPACE, "": ""}


class TreeBuilder:
    """Builds one tree from events in document order.

    Nodes are numbered as they are created, so finish one tree before you begin another.
    The builder adds namespace declarations that a name needs and that are not in scope, and joins
    adjacent texts. The caller ensures that attributes of one element differ in name.
    """

    def __init__(self) -> None:
        self._result: ParentNode | None = None
        self._open: list[ParentNode] = []
        # for each open node, the namespaces in scope in it; one dict is shared until it changes
        self._scopes: list[dict[str, str]] = [_ALWAYS_IN_SCOPE]
        self._text: list[str] = []

    def start_document(self, document_uri: str | None = None, base_uri: str | None = None) -> None:
        self._push(DocumentNode(document_uri, base_uri), self._scopes[-1])

    def start_element(
        self, name: QName, namespaces: Mapping[str, str] | None = None, base_uri: str | None = None
    ) -> ElementNode:
        """Open an element; `namespaces` are those to declare on it, prefix to URI."""
        if self._text:
            self._flush()
        scope = self._scopes[-1]
        if namespaces or scope.get(name.prefix) != name.uri:
            name, declarations = _fixed_up(name, namespaces or NO_DECLARATIONS, scope)
            if declarations:
                scope = {**scope, **declarations}
            element = ElementNode(name, declarations, base_uri)
        else:
            element = ElementNode(name, NO_DECLARATIONS, base_uri)
        self._push(element, scope)
        return element

    def attribute(self, name: QName, value: str, declared_type: str = "CDATA") -> None:
        """Add an attribute to the element that was opened last, before its content."""
        element = self._open[-1]
        assert isinstance(element, ElementNode)
        if name.uri:
            if name.uri == XML_NAMESPACE and name.local == "id":
                declared_type = "ID"
            if not name.prefix or self._scopes[-1].get(name.prefix) != name.uri:
                name = QName(name.uri, name.local, self._declare(element, name))
        elif name.prefix:
            name = QName("", name.local)
        attribute = AttributeNode(name, value, declared_type)
        attribute.parent = element
        element.attributes.append(attribute)

    def namespace(self, prefix: str, uri: str) -> None:
        """Declare a namespace on the element that was opened last, before its content.

        The prefix must not be bound to another URI on that element.
        """
        element = self._open[-1]
        assert isinstance(element, ElementNode)
        self._bind(element, prefix, uri)

    def text(self, value: str) -> None:
        if value:
            self._text.append(value)

    def comment(self, value: str) -> None:
        if self._text:
            self._flush()
        self._append(CommentNode(value))

    def processing_instruction(self, target: str, value: str) -> None:
        if self._text:
            self._flush()
        self._append(ProcessingInstructionNode(target, value))

    def end(self) -> None:
        """Close the element or document that was opened last."""
        if self._text:
            self._flush()
        self._open.pop()
        self._scopes.pop()

    def in_scope(self) -> Mapping[str, str]:
        """The namespaces in scope at the current position; an empty URI means none."""
        return self._scopes[-1]

    def has_namespaces(self) -> bool:
        """Whether any namespace has been declared where the builder stands."""
        return self._scopes[-1] is not _ALWAYS_IN_SCOPE

    def result(self) -> ParentNode:
        """The finished tree."""
        assert self._result is not None
        assert not self._open, "the tree is not finished"
        return self._result

    def document(self) -> DocumentNode:
        """The finished tree; it must begin with `start_document`."""
        result = self.result()
        assert isinstance(result, DocumentNode)
        return result

    def _push(self, node: ParentNode, scope: dict[str, str]) -> None:
        if self._open:
            assert isinstance(node, ElementNode), "a document cannot be a child"
            parent = self._open[-1]
            node.parent = parent
            parent.children.append(node)
        else:
            assert self._result is None, "a builder builds only one tree"
            self._result = node
        self._open.append(node)
        self._scopes.append(scope)

    def _append(self, node: ChildNode) -> None:
        parent = self._open[-1]
        node.parent = parent
        parent.children.append(node)

    def _flush(self) -> None:
        text = self._text
        value = text[0] if len(text) == 1 else "".join(text)
        text.clear()
        self._append(TextNode(value))

    def _declare(self, element: ElementNode, name: QName) -> str:
        """A prefix for an attribute's namespace, declared on the element if necessary."""
        scope = self._scopes[-1]
        prefix = name.prefix
        taken = {element.name.prefix, *element.declarations}
        taken.update(attribute.name.prefix for attribute in element.attributes)
        if not prefix or prefix in taken:
            for known, uri in scope.items():
                if uri == name.uri and known:
                    return known
            prefix = _free_prefix(prefix, scope)
        self._bind(element, prefix, name.uri)
        return prefix

    def _bind(self, element: ElementNode, prefix: str, uri: str) -> None:
        scope = self._scopes[-1]
        if scope.get(prefix) != uri:
            element.declarations = {**element.declarations, prefix: uri}
            self._scopes[-1] = {**scope, prefix: uri}


def _fixed_up(
    name: QName, namespaces: Mapping[str, str], scope: Mapping[str, str]
) -> tuple[QName, Mapping[str, str]]:
    """An element's name and its declarations, so that the name means what it should."""
    declarations = dict(namespaces)
    uri = name.uri
    prefix = name.prefix if uri else ""
    if uri == XML_NAMESPACE:
        prefix = "xml"
    if declarations.get(prefix, scope.get(prefix, "")) != uri:
        if uri and prefix in declarations:
            prefix = _free_prefix(prefix, {**scope, **declarations})
        declarations[prefix] = uri
    return QName(uri, name.local, prefix), declarations


def copy_into(
    builder: TreeBuilder,
    node: Node,
    *,
    preserve_namespaces: bool = True,
    inherit_namespaces: bool = True,
) -> None:
    """Copy a node with all its descendants to the builder's position.

    A document's children are copied. The two flags are XQuery's copy-namespaces mode: whether the
    copy keeps namespaces that no name in it uses, and whether it sees those of its new parent.
    """
    if isinstance(node, DocumentNode):
        for child in node.children:
            copy_into(
                builder,
                child,
                preserve_namespaces=preserve_namespaces,
                inherit_namespaces=inherit_namespaces,
            )
    elif isinstance(node, ElementNode):
        _copy_element(builder, node, preserve_namespaces, inherit_namespaces)
    elif isinstance(node, AttributeNode):
        builder.attribute(node.name, node.value, _kept_type(node))
    elif isinstance(node, TextNode):
        builder.text(node.value)
    elif isinstance(node, CommentNode):
        builder.comment(node.value)
    elif isinstance(node, ProcessingInstructionNode):
        builder.processing_instruction(node.target, node.value)
    elif isinstance(node, NamespaceNode):
        builder.namespace(node.prefix, node.uri)


def copy(node: Node) -> Node:
    """A copy of a node as a separate tree."""
    if isinstance(node, AttributeNode):
        return AttributeNode(node.name, node.value, _kept_type(node))
    if isinstance(node, TextNode):
        return TextNode(node.value)
    if isinstance(node, CommentNode):
        return CommentNode(node.value)
    if isinstance(node, ProcessingInstructionNode):
        return ProcessingInstructionNode(node.target, node.value)
    if isinstance(node, NamespaceNode):
        return NamespaceNode(node.prefix, node.uri)
    builder = TreeBuilder()
    if isinstance(node, DocumentNode):
        builder.start_document(base_uri=node.base_uri)
        copy_into(builder, node)
        builder.end()
    else:
        copy_into(builder, node)
    return builder.result()


def _copy_element(builder: TreeBuilder, top: ElementNode, preserve: bool, inherit: bool) -> None:
    declarations = copied_declarations(top, builder.in_scope(), preserve, inherit)
    # the element's own `xml:base` is copied with its attributes
    base_uri = top.parent.base_uri if top.parent is not None else top._base_uri
    builder.start_element(top.name, declarations, None if builder._open else base_uri)
    for attribute in top.attributes:
        builder.attribute(attribute.name, attribute.value, _kept_type(attribute))
    pending = [iter(top.children)]
    while pending:
        for child in pending[-1]:
            if not isinstance(child, ElementNode):
                copy_into(builder, child)
                continue
            builder.start_element(child.name, child.declarations if preserve else None)
            for attribute in child.attributes:
                builder.attribute(attribute.name, attribute.value, _kept_type(attribute))
            pending.append(iter(child.children))
            break
        else:
            pending.pop()
            builder.end()


def copied_declarations(
    top: ElementNode, scope: Mapping[str, str], preserve: bool = True, inherit: bool = True
) -> dict[str, str]:
    """The declarations that give a copy of an element the right namespaces in a new scope."""
    own = {prefix: uri for prefix, uri in top.namespaces().items() if prefix != "xml"}
    kept = own if preserve else {}
    declarations = {prefix: uri for prefix, uri in kept.items() if scope.get(prefix) != uri}
    if not top.name.uri and scope.get(""):
        # an element in no namespace must not get its new parent's default namespace
        declarations[""] = ""
    if not inherit:
        # attributes without a prefix are in no namespace, whatever the default one is
        prefixes = (attribute.name.prefix for attribute in top.attributes)
        used = {top.name.prefix, *filter(None, prefixes)}
        for prefix, uri in scope.items():
            if uri and prefix != "xml" and prefix not in kept and prefix not in used:
                declarations[prefix] = ""
    return declarations


def _kept_type(attribute: AttributeNode) -> str:
    """A copy is untyped, but an `xml:id` is always an ID."""
    name = attribute.name
    return "ID" if name.local == "id" and name.uri == XML_NAMESPACE else "CDATA"


def _free_prefix(wanted: str, taken: Mapping[str, str]) -> str:
    stem = wanted or "ns"
    number = 0
    while (candidate := f"{stem}{number}") in taken:
        number += 1
    return candidate
