"""Names and other properties of nodes."""

from __future__ import annotations

from xcql.algebra.scalars import Constant, Scalar, call, field
from xcql.compile.functions.sequences import argument_or_context
from xcql.compile.library.atomization import single
from xcql.compile.library.serialisation import node_xml, serialised
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    AnyNode,
    Atomic,
    AttributeItem,
    Element,
    Inner,
    Item,
    StreamDocument,
    StreamElement,
    is_node,
)
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.values import EMPTY, Single, Value, at_most_one, leaves, single_scalar

native = NativeFunctions()


def _name(site: CallSite, item: Item) -> Scalar:
    match item:
        case StreamElement():
            graph = site.compilation.graphs[item.stream]
            names = {graph.tag(tag).name for tag in item.tags}
            if len(names) != 1:
                raise NotNative("a name that depends on the data", site.span)
            (name,) = names
            if name.uri:
                raise NotNative("a name in a namespace", site.span)
            return Constant(name.local)
        case Inner():
            graph = site.compilation.graphs[item.stream]
            if any(graph.tag(tag).name.uri for tag in item.tags):
                raise NotNative("a name in a namespace", site.span)
            return field(item.struct, "name")
        case StreamDocument():
            return Constant("")
        case AnyNode():
            if any(path.name.startswith("Q{") for path in item.paths):
                raise NotNative("a name in a namespace", site.span)
            if "processing-instruction" in item.kinds:
                raise NotNative("the name of such an item", site.span)
            return item.name
        case Element(name=name) | AttributeItem(name=name):
            if name.startswith("Q{"):
                raise NotNative("a name in a namespace", site.span)
            return Constant(name)
    raise NotNative("the name of such an item", site.span)


@native("name", 0, 1)
@native("local-name", 0, 1)
def _names(site: CallSite) -> Value:
    value = argument_or_context(site)
    if value == EMPTY:
        return Single(Atomic(Constant(""), "xs:string"))
    what = "one node at most"
    scalar = single(value, lambda item: _name(site, item), site.scope, site.span, what)
    if not isinstance(value, Single):
        scalar = call("coalesce", scalar, Constant(""))
    return Single(Atomic(scalar, "xs:string"))


@native("serialize", 1)
def _serialize(site: CallSite) -> Value:
    value = site.arguments[0]
    if value == EMPTY:
        return Single(Atomic(Constant(""), "xs:string"))
    items = [leaf.item for leaf in leaves(value)]
    if any(
        isinstance(item, AttributeItem) or (isinstance(item, AnyNode) and "attribute" in item.kinds)
        for item in items
    ):
        raise NotNative("an attribute as XML", site.span)
    if all(map(is_node, items)):
        return Single(Atomic(node_xml(value, site.scope), "xs:string"))
    if not at_most_one(value):
        raise NotNative("the text of such a sequence", site.span)
    text = single_scalar(value, lambda item: serialised(item, site.scope))
    return Single(Atomic(call("coalesce", text, Constant("")), "xs:string"))
