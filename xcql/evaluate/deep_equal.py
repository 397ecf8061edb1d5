"""Deep equality of sequences: of atomic values, trees, maps and arrays."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

from xcql.diagnostics import error
from xcql.evaluate.collations import CODEPOINT, Collation
from xcql.evaluate.comparing import same_value
from xcql.xdm.functions import Item, XdmArray, XdmFunction, XdmMap
from xcql.xdm.names import QName
from xcql.xdm.nodes import (
    AttributeNode,
    CommentNode,
    DocumentNode,
    ElementNode,
    NamespaceNode,
    Node,
    ProcessingInstructionNode,
    TextNode,
)
from xcql.xdm.serialize import escape_attribute

_END = object()


def deep_equal(
    left: Iterable[Item], right: Iterable[Item], collation: Collation = CODEPOINT
) -> bool:
    """Whether two sequences are equal item by item, as `fn:deep-equal` defines it.

    Comments and processing instructions inside elements and documents do not count.
    """
    # pairs still to compare, so that a deep tree needs no deep recursion
    pending: list[tuple[Iterable[Item], Iterable[Item]]] = [(left, right)]
    while pending:
        for a, b in zip_longest(*pending.pop(), fillvalue=_END):
            if a is _END or b is _END:
                return False
            if isinstance(a, Node) and isinstance(b, Node):
                if not _same_node(a, b, collation):
                    return False
                if isinstance(a, (ElementNode, DocumentNode)):
                    assert isinstance(b, (ElementNode, DocumentNode))
                    pending.append((_content(a), _content(b)))
            elif isinstance(a, XdmFunction) or isinstance(b, XdmFunction):
                parts = _function_parts(a, b)
                if parts is None:
                    return False
                pending += parts
            elif isinstance(a, Node) or isinstance(b, Node) or not same_value(a, b, collation):
                return False
    return True


def _function_parts(a: Item, b: Item) -> list[tuple[Iterable[Item], Iterable[Item]]] | None:
    """The sequences to compare in two maps or arrays; None if the two differ."""
    for item in (a, b):
        if isinstance(item, XdmFunction) and not isinstance(item, (XdmMap, XdmArray)):
            raise error("FOTY0015", "functions cannot be compared")
    if isinstance(a, XdmArray) and isinstance(b, XdmArray):
        return list(zip(a.members, b.members, strict=True)) if len(a) == len(b) else None
    if isinstance(a, XdmMap) and isinstance(b, XdmMap) and len(a) == len(b):
        pairs: list[tuple[Iterable[Item], Iterable[Item]]] = []
        for key, value in a.items():
            other = b.get(key)
            if other is None:
                return None
            pairs.append((value, other))
        return pairs
    return None


def _same_node(a: Node, b: Node, collation: Collation) -> bool:
    """Whether two nodes are equal apart from their children."""
    if a.kind != b.kind:
        return False
    if isinstance(a, ElementNode) and isinstance(b, ElementNode):
        if a.name != b.name or len(a.attributes) != len(b.attributes):
            return False
        return all(
            (value := b.attribute_value(at.name.local, at.name.uri)) is not None
            and same_value(at.value, value, collation)
            for at in a.attributes
        )
    if isinstance(a, DocumentNode):
        return True
    if isinstance(a, AttributeNode) and isinstance(b, AttributeNode) and a.name != b.name:
        return False
    if isinstance(a, ProcessingInstructionNode) and isinstance(b, ProcessingInstructionNode):
        return a.target == b.target and same_value(a.value, b.value, collation)
    if isinstance(a, NamespaceNode) and isinstance(b, NamespaceNode) and a.prefix != b.prefix:
        return False
    return same_value(a.string_value(), b.string_value(), collation)


def _content(node: ElementNode | DocumentNode) -> list[Node]:
    ignored = (CommentNode, ProcessingInstructionNode)
    return [child for child in node.children if not isinstance(child, ignored)]


def deep_text(top: ElementNode) -> str:
    """A text that two elements have in common if and only if they are deep-equal.

    That of an element with only text is its name, its attributes and the text. What is nested is
    between characters that XML does not allow.

    >>> from xcql.xdm.parse import parse_xml
    >>> def text(xml):
    ...     return deep_text(parse_xml(xml).document_element)
    >>> text('<a c="1" b="2">x</a>')
    '<a b="2" c="1">x'
    >>> text("<a><b/>x<!-- --></a>") == text("<a><b></b>x</a>")
    True
    """
    written: list[str] = []
    pending: list[Node | str] = [top]
    while pending:
        here = pending.pop()
        if isinstance(here, str):
            written.append(here)
        elif isinstance(here, ElementNode):
            values = sorted((_name_text(at.name), at.value) for at in here.attributes)
            attributes = (f' {name}="{escape_attribute(value)}"' for name, value in values)
            written.append(f"<{_name_text(here.name)}{''.join(attributes)}>")
            content = _content(here)
            if len(content) == 1 and isinstance(content[0], TextNode):
                written.append(content[0].value)
                continue
            for child in reversed(content):
                is_element = isinstance(child, ElementNode)
                pending += ["\2", child, "\1"] if is_element else [child.string_value(), "\3"]
    return "".join(written)


def _name_text(name: QName) -> str:
    return name.clark if name.uri else name.local
