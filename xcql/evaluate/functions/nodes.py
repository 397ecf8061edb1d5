"""Functions on nodes and their position in the tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xcql.diagnostics import error
from xcql.evaluate.casting import is_ncname
from xcql.evaluate.functions.accessors import context_node
from xcql.evaluate.functions.strings import xml_split
from xcql.evaluate.registry import CallContext, function
from xcql.xdm.names import XML_NAMESPACE
from xcql.xdm.nodes import (
    AttributeNode,
    CommentNode,
    DocumentNode,
    ElementNode,
    NamespaceNode,
    Node,
    ProcessingInstructionNode,
    TextNode,
    descendants,
)

_FN = "http://www.w3.org/2005/xpath-functions"


@function("fn:root([node()?]) as node()?")
def root(call: CallContext, *node: Node | None) -> Node | None:
    found = context_node(call, node)
    return None if found is None else found.root


@function("fn:has-children([node()?]) as xs:boolean")
def has_children(call: CallContext, *node: Node | None) -> bool:
    found = context_node(call, node)
    return isinstance(found, (ElementNode, DocumentNode)) and bool(found.children)


@function("fn:generate-id([node()?]) as xs:string")
def generate_id(call: CallContext, *node: Node | None) -> str:
    found = context_node(call, node)
    return "" if found is None else f"n{found.order}"


@function("fn:innermost(node()*) as node()*")
def innermost(call: CallContext, nodes: Iterable[Node]) -> list[Node]:
    distinct = in_document_order(nodes)
    above = {id(ancestor) for node in distinct for ancestor in node.ancestors()}
    return [node for node in distinct if id(node) not in above]


@function("fn:outermost(node()*) as node()*")
def outermost(call: CallContext, nodes: Iterable[Node]) -> list[Node]:
    distinct = in_document_order(nodes)
    chosen = {id(node) for node in distinct}
    return [node for node in distinct if not any(id(above) in chosen for above in node.ancestors())]


def in_document_order(nodes: Iterable[Node]) -> list[Node]:
    """The nodes without repetitions, in document order."""
    return sorted({id(node): node for node in nodes}.values(), key=lambda node: node.order)


@function("fn:lang(xs:string?, [node()]) as xs:boolean")
def lang(call: CallContext, wanted: str | None, *node: Node | None) -> bool:
    found = context_node(call, node)
    while found is not None:
        if isinstance(found, ElementNode):
            value = found.attribute_value("lang", XML_NAMESPACE)
            if value is not None:
                tag, language = value.lower(), (wanted or "").lower()
                return tag == language or tag.startswith(language + "-")
        found = found.parent
    return False


@function("fn:path([node()?]) as xs:string?")
def path(call: CallContext, *node: Node | None) -> str | None:
    found = context_node(call, node)
    if found is None:
        return None
    steps = []
    while found.parent is not None:
        steps.append("/" + _step(found))
        found = found.parent
    if not isinstance(found, DocumentNode):
        steps.append(f"Q{{{_FN}}}root()")
    elif not steps:
        return "/"
    return "".join(reversed(steps))


def _step(node: Node) -> str:
    """The step from its parent to a node."""
    if isinstance(node, AttributeNode):
        return f"@{node.name.clark}" if node.name.uri else f"@{node.name.local}"
    if isinstance(node, NamespaceNode):
        return f"namespace::{node.prefix}" if node.prefix else "namespace::*[local-name()='']"
    assert node.parent is not None
    alike = [other for other in node.parent.children if _counts_with(other, node)]
    position = 1 + next(i for i, other in enumerate(alike) if other is node)
    if isinstance(node, ElementNode):
        return f"{node.name.clark}[{position}]"
    if isinstance(node, ProcessingInstructionNode):
        return f"processing-instruction({node.target})[{position}]"
    return f"{node.kind}()[{position}]"


def _counts_with(other: Node, node: Node) -> bool:
    if isinstance(node, ElementNode):
        return isinstance(other, ElementNode) and other.name == node.name
    if isinstance(node, ProcessingInstructionNode):
        return isinstance(other, ProcessingInstructionNode) and other.target == node.target
    return isinstance(other, TextNode if isinstance(node, TextNode) else CommentNode)


# identifiers: an ID is an attribute that a DTD or Tag Structure declares as one, or `xml:id`


@function("fn:id(xs:string*, [node()]) as element()*")
@function("fn:element-with-id(xs:string*, [node()]) as element()*")
def elements_by_id(call: CallContext, values: Iterable[str], *node: Node | None) -> list[Node]:
    document = _document(call, node)
    words = {word for value in values for word in xml_split(value)}
    if document.identified is None:
        document.identified = _identified(document)
    known = document.identified
    if document.is_view:
        return in_document_order(element for word in words for element in known.get(word, ()))
    return in_document_order(known[word][0] for word in words if word in known and is_ncname(word))


def _identified(document: DocumentNode) -> dict[str, list[ElementNode]]:
    """The elements of a document by their IDs, in document order."""
    found: dict[str, list[ElementNode]] = {}
    for below in descendants(document):
        if isinstance(below, ElementNode):
            for attribute in below.attributes:
                if attribute.declared_type == "ID":
                    found.setdefault(" ".join(xml_split(attribute.value)), []).append(below)
    return found


@function("fn:idref(xs:string*, [node()]) as node()*")
def idref(call: CallContext, values: Iterable[str], *node: Node | None) -> Iterator[Node]:
    wanted = set(values)
    for below in descendants(_document(call, node)):
        if isinstance(below, ElementNode):
            for attribute in below.attributes:
                if attribute.declared_type in ("IDREF", "IDREFS") and not wanted.isdisjoint(
                    xml_split(attribute.value)
                ):
                    yield attribute


def _document(call: CallContext, node: tuple[Node | None, ...]) -> DocumentNode:
    found = context_node(call, node)
    top = None if found is None else found.root
    if not isinstance(top, DocumentNode):
        raise error("FODC0001", "the node is not part of a document")
    return top
