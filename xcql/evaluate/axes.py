"""The twelve axes over our nodes, and the tests of a step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from xcql.evaluate.context import StaticContext
from xcql.evaluate.scope import element_name, plain_name, prefix_uri
from xcql.syntax.node import SyntaxNode as SyntaxNode
from xcql.syntax.path import NameTest, Wildcard
from xcql.xdm.nodes import DocumentNode, ElementNode, Node, descendants

Axis = Callable[[Node], Iterable[Node]]
NodeTest = Callable[[Node], bool]


def _child(node: Node) -> Iterable[Node]:
    return node.children if isinstance(node, (ElementNode, DocumentNode)) else ()


def _attribute(node: Node) -> Iterable[Node]:
    return node.attributes if isinstance(node, ElementNode) else ()


def _self(node: Node) -> Iterable[Node]:
    return (node,)


def _parent(node: Node) -> Iterable[Node]:
    return () if node.parent is None else (node.parent,)


def _ancestor(node: Node) -> Iterable[Node]:
    return node.ancestors()


def _ancestor_or_self(node: Node) -> Iterator[Node]:
    yield node
    yield from node.ancestors()


def _descendant_or_self(node: Node) -> Iterator[Node]:
    yield node
    yield from descendants(node)


def _siblings(node: Node) -> tuple[list[Node], int] | None:
    """The children of a node's parent, and the node's index among them."""
    if node.parent is None or node.kind in ("attribute", "namespace"):
        return None
    siblings: list[Node] = node.parent.children  # type: ignore[assignment]
    return siblings, siblings.index(node)


def _following_sibling(node: Node) -> Iterable[Node]:
    found = _siblings(node)
    return () if found is None else found[0][found[1] + 1 :]


def _preceding_sibling(node: Node) -> Iterable[Node]:
    found = _siblings(node)
    return () if found is None else reversed(found[0][: found[1]])


def _following(node: Node) -> Iterator[Node]:
    if node.kind == "attribute" and node.parent is not None:
        # the nodes after an attribute begin with the content of its element
        yield from descendants(node.parent)
        node = node.parent
    for ancestor in _ancestor_or_self(node):
        for sibling in _following_sibling(ancestor):
            yield sibling
            yield from descendants(sibling)


def _preceding(node: Node) -> Iterator[Node]:
    if node.kind == "attribute" and node.parent is not None:
        node = node.parent
    for ancestor in _ancestor_or_self(node):
        for sibling in _preceding_sibling(ancestor):
            yield from reversed([sibling, *descendants(sibling)])


AXES: dict[str, Axis] = {
    "child": _child,
    "attribute": _attribute,
    "self": _self,
    "parent": _parent,
    "ancestor": _ancestor,
    "ancestor-or-self": _ancestor_or_self,
    "descendant": descendants,
    "descendant-or-self": _descendant_or_self,
    "following-sibling": _following_sibling,
    "preceding-sibling": _preceding_sibling,
    "following": _following,
    "preceding": _preceding,
}


def named_elements(axis: str, test: SyntaxNode, static: StaticContext) -> Axis | None:
    """`child::name` and `descendant::name` in one pass, because most steps are one of them."""
    if not isinstance(test, NameTest) or axis not in ("child", "descendant"):
        return None
    name = element_name(test.name, static)
    uri, local = name.uri, name.local

    def children(node: Node) -> Iterable[Node]:
        if not isinstance(node, (ElementNode, DocumentNode)):
            return ()
        return [
            child
            for child in node.children
            if type(child) is ElementNode and child.name.local == local and child.name.uri == uri
        ]

    def below(node: Node) -> Iterator[Node]:
        if not isinstance(node, (ElementNode, DocumentNode)):
            return
        pending = [iter(node.children)]
        while pending:
            for child in pending[-1]:
                if type(child) is ElementNode:
                    if child.name.local == local and child.name.uri == uri:
                        yield child
                    if child.children:
                        pending.append(iter(child.children))
                        break
            else:
                pending.pop()

    return children if axis == "child" else below


def name_test(test: SyntaxNode, axis: str, static: StaticContext) -> NodeTest | None:
    """The test of a name or wildcard on the axis's principal kind; None for a kind test."""
    kind = "attribute" if axis == "attribute" else "element"
    if isinstance(test, NameTest):
        resolve = plain_name if kind == "attribute" else element_name
        name = resolve(test.name, static)
        return _named(kind, name.uri, name.local)
    if isinstance(test, Wildcard):
        uri = test.uri
        if test.prefix is not None:
            uri = prefix_uri(test.prefix, static, test.span)
        return _named(kind, uri, test.local)
    return None


def _named(kind: str, uri: str | None, local: str | None) -> NodeTest:
    if uri is None and local is None:
        return lambda node: node.kind == kind
    if uri is None:
        return lambda node: node.kind == kind and node.name.local == local  # type: ignore[attr-defined]
    if local is None:
        return lambda node: node.kind == kind and node.name.uri == uri  # type: ignore[attr-defined]
    return lambda node: (
        node.kind == kind and node.name.local == local and node.name.uri == uri  # type: ignore[attr-defined]
    )
