"""Convert items between Spark's columns and the evaluator: the kind and text of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from xcql.evaluate.casting import from_text, make_qname
from xcql.evaluate.result import NOT_INHERITED, ResultItem, carried_kind
from xcql.xdm.atomic import string_of
from xcql.xdm.functions import XdmFunction
from xcql.xdm.nodes import (
    ChildNode,
    DocumentNode,
    ElementNode,
    NamespaceNode,
    Node,
    TextNode,
    dissolve,
)
from xcql.xdm.parse import parse_xml
from xcql_runtime.evaluator.carried_errors import NeedsEvaluator


def encoded(item: Any) -> tuple[str, str]:
    """The kind of an item, and its text.

    >>> encoded(1.5)
    ('xs:double', '1.5')
    """
    if isinstance(item, XdmFunction):
        raise NeedsEvaluator("a function as the value of a part of the query")
    return carried_kind(item), ResultItem(item).xml if isinstance(item, Node) else string_of(item)


def decoded(kinds: Sequence[str], values: Sequence[str]) -> list[Any]:
    """The inverse of `encoded` for many items, whose nodes are parsed together.

    Each node is a new one without a parent; they are in document order as they are in the list.

    >>> decoded(["xs:integer", "element", "text"], ["1", "<b/>", "c"])[0]
    1
    """
    parts = [_read_kind(kind) for kind in kinds]
    around = parse_xml(
        "".join(("<a>", *map(_wrapped, parts, values), "</a>")), "<items>"
    ).document_element
    assert around is not None
    wrappers = iter(around.children)
    found = [
        _atomic(kind, uri, value) if kind.startswith("xs:") else _content(kind, next(wrappers))
        for (kind, uri), value in zip(parts, values, strict=True)
    ]
    dissolve(around)
    return found


def _read_kind(kind: str) -> tuple[str, str]:
    """A kind, and the namespace of the item's name if the kind says it."""
    if kind == NOT_INHERITED:
        raise NeedsEvaluator("a node in which a namespace is not inherited")
    kind, _, uri = kind.rstrip("}").partition(" Q{")
    return kind, uri


def _atomic(kind: str, uri: str, value: str) -> Any:
    if kind == "xs:QName":
        prefix, _, local = value.rpartition(":")
        return make_qname(uri, prefix, local)
    return from_text(value, kind[3:])


def _wrapped(part: tuple[str, str], value: str) -> str:
    """The text of a node inside an element or its tag; nothing for an atomic value."""
    kind, uri = part
    if kind.startswith("xs:"):
        return ""
    if kind not in ("attribute", "namespace"):
        return f"<a>{value}</a>"
    prefix = value.partition("=")[0].rpartition(":")[0]
    declared = f" xmlns:{prefix}={quoteattr(uri)}" if uri and prefix != "xml" else ""
    return f"<a{declared} {value}/>"


def _content(kind: str, wrapper: ChildNode) -> Node:
    """The only node inside an element, taken out of it."""
    assert isinstance(wrapper, ElementNode)
    node: Node
    match kind:
        case "namespace":
            ((prefix, uri),) = wrapper.declarations.items()
            node = NamespaceNode(prefix, uri)
        case "attribute":
            node = wrapper.attributes.pop()
        case "document":
            node = DocumentNode()
            node.children, wrapper.children = wrapper.children, []
            for child in node.children:
                child.parent = node
        case _:
            node = wrapper.children.pop() if wrapper.children else TextNode("")
    node.parent = None
    node.order = wrapper.order
    return node


def unwrapped(document: DocumentNode) -> DocumentNode:
    """Drop the only element of a document; its children become the document's."""
    (wrapper,) = document.children
    assert isinstance(wrapper, ElementNode)
    document.children = wrapper.children
    for child in document.children:
        child.parent = document
    return document
