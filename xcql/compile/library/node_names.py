"""Names of nodes: as they are written, and their parts.

A tag says the expanded name of an element, but only its bytes say which prefix it was written with.

Tests: tests/compile/library/test_any_axes.py
"""

from __future__ import annotations

from xcql.algebra.operators import Unit
from xcql.algebra.scalars import TRUE, Call, Constant, Nested, Scalar, call, case, field
from xcql.compile.library.access import span_of
from xcql.compile.library.node_lookup import NodeLookup, has_general_form
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    AnyNode,
    AttributeItem,
    Element,
    Inner,
    Item,
    Markup,
    StreamDocument,
    StreamElement,
    TextItem,
)
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf
from xcql.shred.node_paths import KINDS, NodeKind
from xcql.source import Span
from xcql.xdm.names import XML_NAMESPACE

NOTHING = Constant("")


def written_name(item: Item, scope: Scope, span: Span) -> Scalar:
    """The name of a node as it is written, with its prefix."""
    match item:
        case StreamElement():
            local, uri = _name_of_tags(item, scope, span)
            return local if uri == NOTHING else call("name_of_tag", _start(item, scope))
        case Inner():
            return field(item.struct, "name")
        case AnyNode(kinds=kinds):
            plain = _name_in_table(item)
            if not _has_namespaces(item):
                return plain
            written = _written(item)
            of_element = call("name_of_tag", written)
            of_attribute = call("text_before", written, Constant("="))
            is_element = is_kind(item, "element")
            # the attributes of lifespans are not written
            in_namespace = call("startswith", item.name, Constant("Q{"))
            name = case((is_element, of_element), otherwise=of_attribute)
            if kinds == {"element"}:
                name = of_element
            return case((in_namespace, name), otherwise=plain)
        case Element(name=name, prefix=prefix) | AttributeItem(name=name, prefix=prefix) if prefix:
            return Constant(f"{prefix}:{_local(name)}")
        case AttributeItem(name=name) if name.startswith("Q{"):
            if name.startswith(f"Q{{{XML_NAMESPACE}}}"):
                return Constant(f"xml:{_local(name)}")
            return call("text_before", written_attribute(item, scope, span), Constant("="))
        case Element(name=name) | AttributeItem(name=name):
            return Constant(_local(name))
        case Markup(kind="processing-instruction", text=text):
            return call("name_of_tag", text)
        case StreamDocument() | TextItem() | Markup():
            return NOTHING
    raise NotNative("the name of such an item", span)


def local_name(item: Item, scope: Scope, span: Span) -> Scalar:
    """The local part of a node's name."""
    match item:
        case StreamElement():
            return _name_of_tags(item, scope, span)[0]
        case Inner():
            return call("local_part", field(item.struct, "name"))
        case AnyNode():
            name = _name_in_table(item)
            if not _has_namespaces(item):
                return name
            in_namespace = call("startswith", item.name, Constant("Q{"))
            return case((in_namespace, call("text_after", name, Constant("}"))), otherwise=name)
        case Element(name=name) | AttributeItem(name=name):
            return Constant(_local(name))
    return written_name(item, scope, span)


def namespace_of(item: Item, scope: Scope, span: Span) -> Scalar:
    """The namespace of a node's name; the empty text if it has none."""
    match item:
        case StreamElement():
            return _name_of_tags(item, scope, span)[1]
        case Inner():
            graph = scope.compilation.graphs[item.stream]
            uris = {graph.tag(tag).name.uri for tag in item.tags}
            if len(uris) == 1:
                return Constant(uris.pop())
            names = {graph.tag(tag).name for tag in item.tags}
            if len({name.local for name in names}) < len(names):
                raise NotNative("a namespace that depends on the data", span)
            local = local_name(item, scope, span)
            return case(
                *((call("=", local, Constant(one.local)), Constant(one.uri)) for one in names)
            )
        case AnyNode():
            if not _has_namespaces(item):
                return NOTHING
            return call("text_before", call("text_after", item.name, Constant("{")), Constant("}"))
        case Element(name=name) | AttributeItem(name=name):
            return Constant(name[2:].partition("}")[0] if name.startswith("Q{") else "")
        case StreamDocument() | TextItem() | Markup():
            return NOTHING
    raise NotNative("the namespace of such an item", span)


def written_attribute(attribute: AttributeItem, scope: Scope, span: Span) -> Scalar:
    """An attribute in a namespace as it is written, with its prefix and its value."""
    owner, name = attribute.owner, attribute.name
    if owner is None or not has_general_form(owner, scope) or isinstance(owner, Element):
        raise NotNative("an attribute in a namespace by itself", span)
    table = NodeLookup(owner.stream, scope, span)
    place = table.place_of(Leaf(Unit(), owner))
    below = table.paths.children(place.paths)
    paths = frozenset(path for path in below if path.kind == "attribute" and path.name == name)
    found = table.inside(place, paths, lambda node: ((place.start, node.parent),), is_lookup=True)
    assert isinstance(found.item, AnyNode)
    return Nested(found.plan, "first", _written(found.item))


def is_kind(node: AnyNode, kind: NodeKind) -> Scalar:
    if node.kinds == {kind}:
        return TRUE
    return call("=", node.kind, Constant(KINDS[kind]))


def instruction(node: AnyNode) -> tuple[Scalar, Scalar]:
    """The target and the content of a node that is a processing instruction."""
    text = node.value
    if not all(path.is_valued for path in node.paths if path.kind == "processing-instruction"):
        inside = call("text_after", _written(node), Constant("<?"))
        text = call("coalesce", text, call("text_before", inside, Constant("?>")))
    blank = Constant(" ")
    has_content = call("contains", text, blank)
    return case((has_content, call("text_before", text, blank)), otherwise=text), call(
        "text_after", text, blank
    )


def _name_in_table(node: AnyNode) -> Scalar:
    """The name in the table of nodes, with that of an instruction."""
    if "processing-instruction" not in node.kinds:
        return node.name
    target, _ = instruction(node)
    return case((is_kind(node, "processing-instruction"), target), otherwise=node.name)


def _has_namespaces(node: AnyNode) -> bool:
    return any(path.name.startswith("Q{") for path in node.paths)


def _written(node: AnyNode) -> Scalar:
    return call("text_of_span", node.filler.column("raw"), node.start, node.length)


def _start(node: StreamElement, scope: Scope) -> Scalar:
    """The text of an element as it is written, of which the start tag is read."""
    return call("text_of_span", node.column("raw"), *span_of(node, scope))


def _name_of_tags(node: StreamElement, scope: Scope, span: Span) -> tuple[Scalar, Scalar]:
    """The local name and the namespace of an element, which may depend on its tag."""
    graph = scope.compilation.graphs[node.stream]
    tags = [graph.tag(tag) for tag in node.tags]
    locals_ = _by_tag(node, {tag.id: tag.name.local for tag in tags})
    uris = _by_tag(node, {tag.id: tag.name.uri for tag in tags})
    if locals_ is None or uris is None:
        raise NotNative("a name that depends on the data", span)
    return locals_, uris


def _by_tag(node: StreamElement, values: dict[str, str]) -> Scalar | None:
    """The value for the tag that an element has; None if its row does not say which."""
    if len(set(values.values())) == 1:
        return Constant(next(iter(values.values())))
    if not node.is_filler:
        return None
    branches: list[tuple[Scalar, Scalar]] = []
    for value in sorted(set(values.values())):
        tags = [Constant(tag) for tag, one in values.items() if one == value]
        branches.append((Call("one_of", (node.column("tag"), *tags)), Constant(value)))
    return case(*branches)


def _local(name: str) -> str:
    return name.rpartition("}")[2]
