"""Names and other properties of nodes."""

from __future__ import annotations

from collections.abc import Callable

from xcql.algebra.scalars import Constant, Scalar, call
from xcql.compile.functions.sequences import argument_or_context
from xcql.compile.library.atomization import single
from xcql.compile.library.document_order import key_of
from xcql.compile.library.node_names import local_name, namespace_of, written_name
from xcql.compile.library.serialisation import node_xml, serialised
from xcql.compile.library.trees import tree_with
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
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import (
    EMPTY,
    Single,
    Value,
    at_most_one,
    guarded,
    leaves,
    single_scalar,
)
from xcql.source import Span

native = NativeFunctions()

Reader = Callable[[Item, Scope, Span], Scalar]


def _of_name(site: CallSite, read: Reader, type_: str) -> Value:
    """A part of the name of the only node; the empty text if there is none."""
    value = argument_or_context(site)
    what = "one node at most"
    scalar = single(
        value, lambda item: read(item, site.scope, site.span), site.scope, site.span, what
    )
    if isinstance(value, Single) and isinstance(value.item, StreamElement | Element):
        return Single(Atomic(scalar, type_))
    return Single(Atomic(call("coalesce", scalar, Constant("")), type_))


@native("name", 0, 1)
def _name(site: CallSite) -> Value:
    return _of_name(site, written_name, "xs:string")


@native("local-name", 0, 1)
def _local_name(site: CallSite) -> Value:
    return _of_name(site, local_name, "xs:string")


@native("namespace-uri", 0, 1)
def _namespace_uri(site: CallSite) -> Value:
    return _of_name(site, namespace_of, "xs:anyURI")


@native("node-name", 0, 1)
def _node_name(site: CallSite) -> Value:
    """The name as a value, if it is in no namespace: else its prefix would be part of it."""

    def read(item: Item) -> Scalar:
        if namespace_of(item, site.scope, site.span) != Constant(""):
            raise NotNative("a name in a namespace as a value", site.span)
        local = local_name(item, site.scope, site.span)
        return local if isinstance(local, Constant) else call("nullif", local, Constant(""))

    value = argument_or_context(site)
    scalar = single(value, read, site.scope, site.span, "one node at most")
    if scalar == Constant(""):
        return EMPTY
    name = Single(Atomic(scalar, "xs:QName"))
    certain = isinstance(value, Single) and isinstance(scalar, Constant)
    return name if certain else guarded(call("is_not_null", scalar), name)


@native("generate-id", 0, 1)
def _generate_id(site: CallSite) -> Value:
    """The key of a node: like the evaluator's numbers, it means nothing but the node's identity."""

    def read(item: Item, scope: Scope, span: Span) -> Scalar:
        is_alike = isinstance(item, StreamDocument | StreamElement | Inner) or (
            isinstance(item, AnyNode) and item.kinds == {"element"}
        )
        if not is_alike or tree_with(item) is not None:
            raise NotNative("the identity of such a node", span)
        stream = f"n{item.stream.encode().hex()}"  # type: ignore[attr-defined]
        return call("concat", Constant(stream), call("key_text", key_of(item, scope, span)))

    return _of_name(site, read, "xs:string")


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
