"""Convert items between Spark's columns and the evaluator: the kind and text of each."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import quoteattr

from xcql.evaluate.casting import from_text, make_qname
from xcql.evaluate.result import NOT_INHERITED, ResultItem, carried_kind
from xcql.xdm.atomic import string_of
from xcql.xdm.functions import XdmFunction
from xcql.xdm.nodes import AttributeNode, DocumentNode, ElementNode, NamespaceNode, Node, TextNode
from xcql.xdm.parse import parse_xml
from xcql_runtime.evaluator.carried_errors import NeedsEvaluator


def encoded(item: Any) -> dict[str, str]:
    """An item as a struct of its kind and its text.

    >>> encoded(1.5)
    {'kind': 'xs:double', 'value': '1.5'}
    """
    if isinstance(item, XdmFunction):
        raise NeedsEvaluator("a function as the value of a part of the query")
    if isinstance(item, Node):
        return {"kind": carried_kind(item), "value": ResultItem(item).xml}
    return {"kind": carried_kind(item), "value": string_of(item)}


def decoded(kind: str, value: str) -> Any:
    """The inverse of `encoded`; a node is a new one, without a parent."""
    if kind == NOT_INHERITED:
        raise NeedsEvaluator("a node in which a namespace is not inherited")
    kind, _, uri = kind.rstrip("}").partition(" Q{")
    if kind == "xs:QName":
        prefix, _, local = value.rpartition(":")
        return make_qname(uri, prefix, local)
    if kind.startswith("xs:"):
        return from_text(value, kind[3:])
    if kind in ("attribute", "namespace"):
        return _part_of_tag(kind, value, uri)
    document = unwrapped(parse_xml(f"<a>{value}</a>", "<item>"))
    if kind == "document":
        return document
    if kind == "text" and not document.children:
        return TextNode("")
    node = document.children[0]
    node.parent = None
    return node


def _part_of_tag(kind: str, value: str, uri: str) -> AttributeNode | NamespaceNode:
    prefix = value.partition("=")[0].rpartition(":")[0]
    declared = f" xmlns:{prefix}={quoteattr(uri)}" if uri and prefix != "xml" else ""
    element = parse_xml(f"<a{declared} {value}/>", "<item>").document_element
    assert element is not None
    if kind == "namespace":
        ((prefix, uri),) = element.declarations.items()
        return NamespaceNode(prefix, uri)
    attribute = element.attributes[-1]
    attribute.parent = None
    return attribute


def unwrapped(document: DocumentNode) -> DocumentNode:
    """Drop the only element of a document; its children become the document's."""
    (wrapper,) = document.children
    assert isinstance(wrapper, ElementNode)
    document.children = wrapper.children
    for child in document.children:
        child.parent = document
    return document
