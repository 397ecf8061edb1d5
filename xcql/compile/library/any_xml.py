"""The text and the XML of nodes of any kind and name.

Tests: tests/compile/library/test_any_axes.py
"""

from __future__ import annotations

from dataclasses import replace

from xcql.algebra.scalars import TRUE, Call, Constant, Scalar, call, case
from xcql.compile.library.access import own_lifespan, timed_element
from xcql.compile.library.node_names import instruction, is_kind
from xcql.compile.library.stream_xml import (
    are_declared_alike,
    declared_for_any,
    declared_once,
    with_holes_filled,
)
from xcql.compile.terms.items import AnyNode
from xcql.compile.terms.scope import Scope
from xcql.shred.node_paths import KINDS, NodeKind


def any_string(node: AnyNode, scope: Scope) -> Scalar:
    """The string value of a node."""
    if "processing-instruction" in node.kinds:
        _, content = instruction(node)
        others = frozenset(path for path in node.paths if path.kind != "processing-instruction")
        if not others:
            return content
        rest = any_string(replace(node, paths=others), scope)
        return case((is_kind(node, "processing-instruction"), content), otherwise=rest)
    if all(path.is_valued for path in node.paths):
        return node.value
    branches: list[tuple[Scalar, Scalar]] = []
    if "element" in node.kinds:
        text = call("string_of_xml", _element_xml(node, scope))
        branches.append((is_kind(node, "element"), text))
    if node.kinds - {"element"}:
        written = call("text_of_span", node.filler.column("raw"), node.start, node.length)
        # a text, which has to be read again: nothing else is too long for the table
        content = call("concat", Constant("<t>"), written, Constant("</t>"))
        # in the normal form, a text without references is written as it reads
        has_reference = call("contains", written, Constant("&"))
        branches.append((has_reference, call("string_of_xml", content)))
        branches.append((TRUE, written))
    return call("coalesce", node.value, case(*branches))


def any_xml(node: AnyNode, scope: Scope) -> Scalar:
    """The XML of a node on its own."""
    branches: list[tuple[Scalar, Scalar]] = []
    for kind in sorted(node.kinds, key=KINDS.__getitem__):
        branches.append((is_kind(node, kind), _xml_of_kind(node, kind, scope)))
    return case(*branches[:-1], otherwise=branches[-1][1])


def _xml_of_kind(node: AnyNode, kind: NodeKind, scope: Scope) -> Scalar:
    if kind == "element":
        return _element_xml(node, scope)
    if kind == "attribute":
        value = call("escape_attribute", node.value)
        plain = Call("concat", (node.name, Constant('="'), value, Constant('"')))
        if not any(path.name.startswith("Q{") for path in node.paths if path.kind == "attribute"):
            return plain
        written = call("text_of_span", node.filler.column("raw"), node.start, node.length)
        return case((call("startswith", node.name, Constant("Q{")), written), otherwise=plain)
    if kind == "text":
        # a text around empty holes is in several places
        return call("escape_text", any_string(node, scope))
    # as it is written: the store has normal forms only
    return call("text_of_span", node.filler.column("raw"), node.start, node.length)


def _element_xml(node: AnyNode, scope: Scope) -> Scalar:
    """The XML of an element: its bytes with the lifespan of a filler, and with its holes filled."""
    declared = declared_for_any(node, scope)
    graph = scope.compilation.graphs[node.stream]
    if graph.fragmented_below(*node.tags) or node.filler.shape.strays:
        whole = with_holes_filled(node, lambda text: _completed(node, text, declared, scope), scope)
    else:
        written = call("text_of_span", node.filler.column("raw"), node.start, node.length)
        whole = _completed(node, written, declared, scope)
    return whole if are_declared_alike(node.stream, scope) else declared_once(whole, scope)


def _completed(node: AnyNode, text: Scalar, around: Scalar, scope: Scope) -> Scalar:
    """The text with the start tag of an element: namespaces in scope, and the lifespan."""
    plain = text if around == Constant("") else call("with_namespaces", text, around)
    timed = timed_element(node.paths, node.start, node.filler, scope)
    if timed is None:
        return plain
    begin, end = own_lifespan(node.filler, scope)
    slots = scope.compilation.catalog.streams[node.stream].slots
    if any(
        attribute.name in ("vtFrom", "vtTo")
        for table in node.filler.table
        if table in slots
        for attribute in slots[table].attributes
    ):
        text = call("without_lifespan", text)
    whole = call(
        "with_lifespan",
        text,
        around,
        call("coalesce", call("time_text", begin), Constant("start")),
        call("coalesce", call("time_text", end), Constant("now")),
    )
    return case((timed, whole), otherwise=plain)
