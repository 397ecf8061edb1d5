"""Properties of every node: name, string value, typed value, base URI."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from elementpath import datatypes as ep

from xcql.diagnostics import error
from xcql.evaluate.casting import make_uri
from xcql.evaluate.functions.qnames import qname_of
from xcql.evaluate.registry import CallContext, function
from xcql.evaluate.values import atomize, kind_of, text_of_item
from xcql.xdm.functions import Item
from xcql.xdm.names import QName
from xcql.xdm.nodes import (
    AttributeNode,
    DocumentNode,
    ElementNode,
    NamespaceNode,
    Node,
    ProcessingInstructionNode,
)


@function("fn:string([item()?]) as xs:string")
def string(call: CallContext, *item: Item | None) -> str:
    if not item:
        return text_of_item(call.item())
    return "" if item[0] is None else text_of_item(item[0])


@function("fn:data([item()*]) as xs:anyAtomicType*")
def data(call: CallContext, *items: Iterable[Item]) -> Iterator[Any]:
    return atomize(items[0] if items else [call.item()])


def context_node(call: CallContext, node: tuple[Node | None, ...]) -> Node | None:
    """The argument, or without one, the context item, which must be a node."""
    if node:
        return node[0]
    item = call.item()
    if not isinstance(item, Node):
        raise error("XPTY0004", f"the context item must be a node here; it is {kind_of(item)}")
    return item


def name_of(node: Node | None) -> QName | None:
    """The name of a node, or None for kinds without a name."""
    if isinstance(node, (ElementNode, AttributeNode, ProcessingInstructionNode)):
        return node.name
    if isinstance(node, NamespaceNode) and node.prefix:
        return QName("", node.prefix)
    return None


@function("fn:node-name([node()?]) as xs:QName?")
def node_name(call: CallContext, *node: Node | None) -> ep.QName | None:
    name = name_of(context_node(call, node))
    return None if name is None else qname_of(name)


@function("fn:name([node()?]) as xs:string")
def name(call: CallContext, *node: Node | None) -> str:
    return str(name_of(context_node(call, node)) or "")


@function("fn:local-name([node()?]) as xs:string")
def local_name(call: CallContext, *node: Node | None) -> str:
    found = name_of(context_node(call, node))
    return "" if found is None else found.local


@function("fn:namespace-uri([node()?]) as xs:anyURI")
def namespace_uri(call: CallContext, *node: Node | None) -> ep.AnyURI:
    found = name_of(context_node(call, node))
    return make_uri("" if found is None else found.uri)


@function("fn:nilled([node()?]) as xs:boolean?")
def nilled(call: CallContext, *node: Node | None) -> bool | None:
    # only validation makes an element nilled, and there is no validation
    return False if isinstance(context_node(call, node), ElementNode) else None


@function("fn:base-uri([node()?]) as xs:anyURI?")
def base_uri(call: CallContext, *node: Node | None) -> ep.AnyURI | None:
    found = context_node(call, node)
    base = None if found is None or isinstance(found, NamespaceNode) else found.base_uri
    return None if base is None else make_uri(base)


@function("fn:document-uri([node()?]) as xs:anyURI?")
def document_uri(call: CallContext, *node: Node | None) -> ep.AnyURI | None:
    found = context_node(call, node)
    if not isinstance(found, DocumentNode) or found.document_uri is None:
        return None
    return make_uri(found.document_uri)
