"""Convert items between Spark's columns and the evaluator: the kind and text of each."""

from __future__ import annotations

from typing import Any

from elementpath import datatypes as ep

from xcql.evaluate.casting import from_text, make_qname
from xcql.evaluate.result import ResultItem
from xcql.xdm.atomic import string_of, type_of
from xcql.xdm.functions import XdmFunction
from xcql.xdm.nodes import DocumentNode, ElementNode, Node, TextNode
from xcql.xdm.parse import parse_xml


def encoded(item: Any) -> dict[str, str]:
    """An item as a struct of its kind and its text.

    >>> encoded(1.5)
    {'kind': 'xs:double', 'value': '1.5'}
    """
    if isinstance(item, (Node, XdmFunction)):
        # a function has no text; reading it raises the error
        return {"kind": getattr(item, "kind", "function"), "value": ResultItem(item).xml}
    if isinstance(item, ep.AbstractQName):
        return {"kind": str(type_of(item)), "value": f"Q{{{item.uri or ''}}}{item.qname}"}
    return {"kind": str(type_of(item)), "value": string_of(item)}


def decoded(kind: str, value: str) -> Any:
    """The inverse of `encoded`; a node is a new one, without a parent."""
    if kind == "xs:QName" and value.startswith("Q{"):
        uri, _, name = value[2:].rpartition("}")
        prefix, _, local = name.rpartition(":")
        return make_qname(uri, prefix, local)
    if kind.startswith("xs:"):
        return from_text(value, kind[3:])
    if kind == "attribute":
        element = parse_xml(f"<a {value}/>", "<item>").document_element
        assert element is not None
        attribute = element.attributes[-1]
        attribute.parent = None
        return attribute
    document = unwrapped(parse_xml(f"<a>{value}</a>", "<item>"))
    if kind == "document":
        return document
    if kind == "text" and not document.children:
        return TextNode("")
    node = document.children[0]
    node.parent = None
    return node


def unwrapped(document: DocumentNode) -> DocumentNode:
    """Drop the only element of a document; its children become the document's."""
    (wrapper,) = document.children
    assert isinstance(wrapper, ElementNode)
    document.children = wrapper.children
    for child in document.children:
        child.parent = document
    return document
