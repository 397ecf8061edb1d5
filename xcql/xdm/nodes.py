"""The seven kinds of nodes, as plain objects.

A node is built once, by `xcql.xdm.builder` or `xcql.xdm.parse`, and never changes afterwards.
Its identity is the object's (`is`). Its position in document order is `order`, a number from a
process-wide counter, assigned at creation: trees are built one after the other, each in document
order (an element, its attributes, its children), so that `order` sorts nodes inside a tree and
across trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import ClassVar, Literal, TypeAlias
from urllib.parse import urljoin

from xcql.xdm.names import XML_NAMESPACE, QName

NodeKind = Literal[
    "document", "element", "attribute", "text", "comment", "processing-instruction", "namespace"
]

_next_order = count(1).__next__
# shared by all elements that declare no namespace
NO_DECLARATIONS: Mapping[str, str] = MappingProxyType({})


class Node:
    """The base of all nodes: a parent (or None), a position in document order, a string value."""

    __slots__ = ("order", "parent")

    kind: ClassVar[NodeKind]

    # Each class's own `__init__` sets these: trees have many nodes, and calls are expensive.
    parent: ParentNode | None
    order: int

    @property
    def root(self) -> Node:
        """The topmost node of the tree."""
        node: Node = self
        while node.parent is not None:
            node = node.parent
        return node

    @property
    def base_uri(self) -> str | None:
        """The base of relative URIs in this node."""
        return self.parent.base_uri if self.parent is not None else None

    def string_value(self) -> str:
        """The text of the node: for an element or a document, all text inside it."""
        raise NotImplementedError

    def ancestors(self) -> Iterator[ParentNode]:
        """The parent, its parent, and so on up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


class DocumentNode(Node):
    """The root of a document.

    In a temporal view (`is_view`), all versions and copies of an element have the same ID.
    """

    __slots__ = ("_base_uri", "children", "document_uri", "identified", "is_view")

    kind = "document"

    def __init__(self, document_uri: str | None = None, base_uri: str | None = None) -> None:
        self.parent = None
        self.order = _next_order()
        self.children: list[ChildNode] = []
        self.document_uri = document_uri
        self._base_uri = base_uri if base_uri is not None else document_uri
        self.is_view = False
        # the elements by their IDs, built at the first lookup
        self.identified: dict[str, list[ElementNode]] | None = None

    @property
    def base_uri(self) -> str | None:
        return self._base_uri

    @property
    def document_element(self) -> ElementNode | None:
        """The first child that is an element."""
        return next((child for child in self.children if isinstance(child, ElementNode)), None)

    def string_value(self) -> str:
        return "".join(_texts_below(self))


class ElementNode(Node):
    """An element. `declarations` are the namespaces declared on it, prefix to URI.

    An empty URI undoes a declaration of an ancestor. `namespaces()` returns all in scope.
    """

    __slots__ = ("_base_uri", "attributes", "children", "declarations", "name")

    kind = "element"

    def __init__(
        self,
        name: QName,
        declarations: Mapping[str, str] = NO_DECLARATIONS,
        base_uri: str | None = None,
    ) -> None:
        self.parent = None
        self.order = _next_order()
        self.name = name
        self.declarations = declarations
        self.attributes: list[AttributeNode] = []
        self.children: list[ChildNode] = []
        self._base_uri = base_uri

    @property
    def base_uri(self) -> str | None:
        relative: list[str] = []
        node: ParentNode | None = self
        base: str | None = None
        while isinstance(node, ElementNode) and base is None:
            given = node.attribute_value("base", XML_NAMESPACE)
            if given is not None:
                relative.append(given)
            base = node._base_uri
            node = node.parent
        if base is None and node is not None:
            base = node.base_uri
        for reference in reversed(relative):
            base = _resolved(base, reference)
        return base

    def attribute(self, local: str, uri: str = "") -> AttributeNode | None:
        """The attribute with that name, or None."""
        for attribute in self.attributes:
            if attribute.name.local == local and attribute.name.uri == uri:
                return attribute
        return None

    def attribute_value(self, local: str, uri: str = "") -> str | None:
        """The value of the attribute with that name, or None."""
        attribute = self.attribute(local, uri)
        return attribute.value if attribute is not None else None

    def namespaces(self) -> dict[str, str]:
        """All namespaces in scope, prefix to URI; the default namespace has the prefix ''."""
        found: dict[str, str] = {}
        node: ParentNode | None = self
        while isinstance(node, ElementNode):
            if node.declarations:
                found = {**node.declarations, **found}
            node = node.parent
        return {"xml": XML_NAMESPACE} | {prefix: uri for prefix, uri in found.items() if uri}

    def string_value(self) -> str:
        children = self.children
        if len(children) == 1 and isinstance(children[0], TextNode):
            return children[0].value
        return "".join(_texts_below(self))


class AttributeNode(Node):
    """An attribute. `declared_type` is its type in the DTD: CDATA, ID, IDREF, …"""

    __slots__ = ("declared_type", "name", "value")

    kind = "attribute"

    def __init__(self, name: QName, value: str, declared_type: str = "CDATA") -> None:
        self.parent = None
        self.order = _next_order()
        self.name = name
        self.value = value
        self.declared_type = declared_type

    def string_value(self) -> str:
        return self.value


class TextNode(Node):
    """A run of text; inside a tree, never empty and never next to another."""

    __slots__ = ("value",)

    kind = "text"

    def __init__(self, value: str) -> None:
        self.parent = None
        self.order = _next_order()
        self.value = value

    def string_value(self) -> str:
        return self.value


class CommentNode(Node):
    """A comment."""

    __slots__ = ("value",)

    kind = "comment"

    def __init__(self, value: str) -> None:
        self.parent = None
        self.order = _next_order()
        self.value = value

    def string_value(self) -> str:
        return self.value


class ProcessingInstructionNode(Node):
    """A processing instruction: `<?target value?>`."""

    __slots__ = ("target", "value")

    kind = "processing-instruction"

    def __init__(self, target: str, value: str) -> None:
        self.parent = None
        self.order = _next_order()
        self.target = target
        self.value = value

    @property
    def name(self) -> QName:
        return QName("", self.target)

    def string_value(self) -> str:
        return self.value


class NamespaceNode(Node):
    """A namespace as an item, as a computed namespace constructor creates it."""

    __slots__ = ("prefix", "uri")

    kind = "namespace"

    def __init__(self, prefix: str, uri: str) -> None:
        self.parent = None
        self.order = _next_order()
        self.prefix = prefix
        self.uri = uri

    def string_value(self) -> str:
        return self.uri


ParentNode: TypeAlias = DocumentNode | ElementNode
ChildNode: TypeAlias = ElementNode | TextNode | CommentNode | ProcessingInstructionNode


def descendants(node: Node) -> Iterator[ChildNode]:
    """All descendants in document order, without attributes; works at any depth."""
    if not isinstance(node, (ElementNode, DocumentNode)):
        return
    pending = [iter(node.children)]
    while pending:
        for child in pending[-1]:
            yield child
            if isinstance(child, ElementNode) and child.children:
                pending.append(iter(child.children))
                break
        else:
            pending.pop()


def dissolve(top: ParentNode) -> None:
    """Take apart a tree that is no longer used.

    Its nodes refer to each other in both directions. Taken apart, they are freed at once;
    otherwise Python's garbage collector has to find them among all new objects.
    """
    pending: list[ParentNode] = [top]
    while pending:
        node = pending.pop()
        pending += [child for child in node.children if isinstance(child, ElementNode)]
        node.children.clear()
        if isinstance(node, ElementNode):
            node.attributes.clear()


def _texts_below(node: ParentNode) -> Iterator[str]:
    return (below.value for below in descendants(node) if isinstance(below, TextNode))


def _resolved(base: str | None, reference: str) -> str:
    if base is None:
        return reference
    try:
        return urljoin(base, reference)
    except ValueError:
        # `xml:base` is data and can hold anything; if it is not a URI, keep it as it is
        return reference
