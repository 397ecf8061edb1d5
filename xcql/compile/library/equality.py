"""Nodes as texts that are equal if and only if the nodes are deep-equal: an element without
elements in it is its name, its attributes by name and its text; others are parsed.

Tests: tests/compile/library/test_equality.py
"""

from __future__ import annotations

from xcql.algebra.scalars import Call, Constant, Scalar, call, case
from xcql.compile.library.access import attribute_names, attribute_of, element_text, timed_element
from xcql.compile.library.any_xml import any_string
from xcql.compile.library.node_lookup import paths_of
from xcql.compile.library.serialisation import serialised
from xcql.compile.library.stream_xml import has_form
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    AnyNode,
    AttributeItem,
    Element,
    Inner,
    Item,
    StreamDocument,
    StreamElement,
    TextItem,
)
from xcql.compile.terms.scope import Scope
from xcql.source import Span


def equal_text(item: Item, scope: Scope, span: Span) -> Scalar:
    """The text that stands for a node."""
    match item:
        case StreamElement(window=None, tree=None, lifespan=None) if (
            item.shape.is_leaf and not item.shape.commented
        ):
            return _element(item, scope, span)
        case AnyNode() if _are_plain(item, scope):
            return Call("concat", (Constant("<"), item.name, Constant(">"), item.value))
        case AnyNode() if item.kinds == {"attribute"}:
            return Call("concat", (Constant("@"), item.name, Constant("="), item.value))
        case AnyNode() if item.kinds == {"text"}:
            return call("concat", Constant("="), any_string(item, scope))
        case AttributeItem(name=name, scalar=value):
            return call("concat", Constant(f"@{name}="), value)
        case TextItem(scalar=value):
            return call("concat", Constant("="), value)
        case StreamElement() | Inner() | AnyNode() | Element() if _may_be_parsed(item, scope):
            return call("deep_text", serialised(item, scope))
        case StreamDocument() if has_form("deep_text", scope):
            return call("concat", Constant("\4"), call("deep_text", serialised(item, scope)))
    raise NotNative("equality of such nodes", span)


def _may_be_parsed(item: Item, scope: Scope) -> bool:
    """Whether an item is an element, whose XML can be parsed to compare it."""
    if not has_form("deep_text", scope):
        return False
    match item:
        case Element(is_document=is_document):
            return not is_document
        case AnyNode(kinds=kinds):
            return kinds == {"element"}
    return True


def _element(element: StreamElement, scope: Scope, span: Span) -> Scalar:
    graph = scope.compilation.graphs[element.stream]
    names = {graph.tag(tag).name for tag in element.tags}
    if len(names) > 1:
        raise NotNative("equality of elements with several names", span)
    (name,) = names
    parts: list[Scalar] = [Constant(f"<{name.clark if name.uri else name.local}")]
    for attribute in sorted(attribute_names(element, scope)):
        value = attribute_of(element, attribute, scope)
        if value is not None:
            parts += [
                case(
                    (
                        call("is_not_null", value),
                        call(
                            "concat",
                            Constant(f' {attribute}="'),
                            call("escape_attribute", value),
                            Constant('"'),
                        ),
                    ),
                    otherwise=Constant(""),
                )
            ]
    return Call("concat", (*parts, Constant(">"), element_text(element, scope)))


def _are_plain(node: AnyNode, scope: Scope) -> bool:
    """Whether the nodes are elements with nothing but text, which the table has."""
    paths = paths_of(node.stream, scope)
    if paths is None or timed_element(node.paths, node.start, node.filler, scope) is not None:
        return False
    return all(path.kind == "element" and path.is_valued for path in node.paths) and all(
        path.kind == "text" for path in paths.children(node.paths)
    )
