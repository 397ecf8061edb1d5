"""The lifespans of items: their own, or the cover of their elements' lifespans.

Tests: tests/compile/test_leaf_lifespans.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xcql.algebra.operators import Order, Plan, Select, Unit
from xcql.algebra.scalars import (
    NULL,
    TRUE,
    Call,
    Constant,
    Nested,
    Scalar,
    call,
    case,
    conjunction,
    disjunction,
    field,
)
from xcql.compile.library import access
from xcql.compile.library.any_axes import general_axis
from xcql.compile.library.atomization import single
from xcql.compile.library.node_lookup import is_on
from xcql.compile.library.stream_children import child_elements
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    AnyNode,
    AttributeItem,
    Dynamic,
    Element,
    Inner,
    Item,
    StreamDocument,
    StreamElement,
    TextItem,
    is_node,
)
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf, Value, leaves
from xcql.shred.node_paths import KINDS
from xcql.source import Span
from xcql.syntax.path import Wildcard

# stands for `now` when computing the latest of several ends
FOR_EVER = call("instant", Constant("9999-12-31T23:59:59.999999"))


def lifespan(item: Item, scope: Scope) -> access.Lifespan:
    """The lifespan of an item: its own, or the cover of its elements' lifespans."""
    match item:
        case StreamElement():
            if access.is_fragmented(item, scope):
                return access.own_lifespan(item, scope)
            access.check_lifespans(item.stream, scope)
            if not access.has_holes(item, scope):
                return access.ALWAYS
            return cover(child_elements(item, scope), scope)
        case Inner():
            if access.has_holes(item, scope):
                raise NotNative("the lifespan of elements with holes inside mixed content")
            access.check_lifespans(item.stream, scope)
            return access.ALWAYS
        case AnyNode():
            return _lifespan_of_any(item, scope)
        case AttributeItem(owner=owner, within=within) | TextItem(owner=owner, within=within):
            return _lifespan_of_leaves(owner or within, scope)
        case StreamDocument():
            return cover(child_elements(item, scope), scope)
        case Dynamic(scalar=scalar, is_complete=is_complete):
            begin, end = item.part("vtFrom"), item.part("vtTo")
            if is_complete:
                return begin, end
            place = scope.compilation.module.body.span
            limit = scope.compilation.limit(place, "the lifespan of a text or an attribute")
            kinds = (_is_kind(scalar, kind) for kind in ("attribute", "text"))
            return case((disjunction(*kinds), limit), otherwise=begin), end
        case Element(content=content):
            own = access.constructed_lifespan(item)
            if own is not None:
                return own
            found = [leaf for value in content for leaf in leaves(value)]
            return cover([_elements(leaf) for leaf in found if _is_covered(leaf.item)], scope)
    return access.ALWAYS


def _is_covered(child: Item) -> bool:
    """Whether a child counts for the lifespan of an element; texts and attributes do not."""
    if isinstance(child, AnyNode):
        return "element" in child.kinds
    if isinstance(child, Dynamic) and child.known_kind is not None:
        return child.known_kind in _WITH_LIFESPANS
    return isinstance(child, Element | StreamElement | StreamDocument | Inner | Dynamic)


def _elements(leaf: Leaf) -> Leaf:
    """The elements among nodes of any kind."""
    node = leaf.item
    if not isinstance(node, AnyNode) or len(node.kinds) == 1:
        return leaf
    elements = frozenset(path for path in node.paths if path.kind == "element")
    return Leaf(Select(leaf.plan, is_on(node, elements)), replace(node, paths=elements))


# kinds of nodes that count for the lifespan of an element around them
_WITH_LIFESPANS = ("element", "document")


def _is_kind(pair: Scalar, kind: str) -> Scalar:
    return call("startswith", field(pair, "kind"), Constant(kind))


def _lifespan_of_any(node: AnyNode, scope: Scope) -> access.Lifespan:
    """The lifespan of a node of any kind."""
    access.check_lifespans(node.stream, scope)
    if "element" not in node.kinds:
        return _lifespan_of_leaves(node, scope)
    if len(node.kinds) > 1:
        elements = frozenset(path for path in node.paths if path.kind == "element")
        one = _lifespan_of_any(replace(node, paths=elements), scope)
        other = _lifespan_of_leaves(node, scope)
        is_element = call("=", node.kind, Constant(KINDS["element"]))
        begin, end = (case((is_element, a), otherwise=b) for a, b in zip(one, other, strict=True))
        return begin, end
    timed = access.timed_element(node.paths, node.start, node.filler, scope)
    if timed == TRUE:
        return access.own_lifespan(node.filler, scope)
    inside = access.ALWAYS
    graph = scope.compilation.graphs[node.stream]
    # all others are deeper in their fillers, so that the descent ends
    untimed = frozenset(
        path for path in node.paths if not (path.is_top and graph.is_fragmented(path.table))
    )
    rest = replace(node, paths=untimed)
    if access.has_holes(rest, scope):
        if any(path.is_vague for path in untimed):
            raise NotNative("the lifespan of elements with holes, at any depth")
        span = scope.compilation.module.span
        below = general_axis(Leaf(Unit(), rest), "child", Wildcard(span=span), scope, span)
        inside = cover(below, scope)
    if timed is None:
        return inside
    own = access.own_lifespan(node.filler, scope)
    begin, end = (case((timed, a), otherwise=b) for a, b in zip(own, inside, strict=True))
    return begin, end


def _lifespan_of_leaves(
    owner: StreamElement | StreamDocument | Element | Inner | AnyNode | None, scope: Scope
) -> access.Lifespan:
    """The lifespan of an element's attributes and text: that of the nearest one with its own."""
    match owner:
        case Element(ancestor_lifespan=inherited):
            return access.constructed_lifespan(owner) or inherited or access.ALWAYS
        case AnyNode(filler=filler, root=root):
            access.check_lifespans(owner.stream, scope)
            graph = scope.compilation.graphs[owner.stream]
            timed = [table for table in filler.table if graph.is_fragmented(table)]
            if not timed:
                return access.ALWAYS
            begin, end = access.own_lifespan(filler, scope)
            is_timed: Scalar = TRUE
            if len(timed) < len(filler.table):
                is_timed = Call("one_of", (filler.column("tag"), *map(Constant, timed)))
            if filler.tree is not None and filler.tree.tops:
                if root is None:
                    raise NotNative("the lifespan of a text or attribute in a projection")
                # the filler's own element may be outside of the tree
                is_timed = conjunction(is_timed, call(">=", filler.column("key"), root.key))
            if is_timed == TRUE:
                return begin, end
            return case((is_timed, begin)), case((is_timed, end))
        case Inner(owner=outer):
            if outer.is_copy:
                raise NotNative("the lifespan of text or attributes in a copy of mixed content")
            access.check_lifespans(owner.stream, scope)
            return _lifespan_of_leaves(outer, scope)
        case StreamElement(above=above):
            if access.is_fragmented(owner, scope):
                return access.own_lifespan(owner, scope)
            access.check_lifespans(owner.stream, scope)
            if owner.is_top or owner.is_copy:
                return owner.ancestor_lifespan or access.ALWAYS
            return _lifespan_of_leaves(above, scope)
    return access.ALWAYS


def cover(found: Sequence[Leaf], scope: Scope) -> access.Lifespan:
    """The smallest interval that covers all these lifespans; always, if there are none."""
    begins: list[Scalar] = []
    ends: list[Scalar] = []
    spans = [lifespan(leaf.item, scope) for leaf in found]
    if all(span == access.ALWAYS for span in spans):
        return access.ALWAYS
    for leaf, (begin, end) in zip(found, spans, strict=True):
        begin = access.START if begin == NULL else call("coalesce", begin, access.START)
        end = FOR_EVER if end == NULL else call("coalesce", end, FOR_EVER)
        if isinstance(leaf.item, Dynamic) and leaf.item.known_kind not in _WITH_LIFESPANS:
            # NULL if it is not an element: other nodes and values have no part in it
            kinds = (_is_kind(leaf.item.scalar, kind) for kind in _WITH_LIFESPANS)
            is_element = disjunction(*kinds)
            begin, end = case((is_element, begin)), case((is_element, end))
        if isinstance(leaf.item, AnyNode) and len(leaf.item.kinds) > 1:
            is_element = call("=", leaf.item.kind, Constant(KINDS["element"]))
            begin, end = case((is_element, begin)), case((is_element, end))
        if _is_one(leaf.plan):
            begins.append(begin)
            ends.append(end)
        else:
            begins.append(Nested(leaf.plan, "min", begin))
            ends.append(Nested(leaf.plan, "max", end))
    if access.START in begins and FOR_EVER in ends:
        return access.ALWAYS
    begin = begins[0] if len(begins) == 1 else Call("least", tuple(begins))
    end = ends[0] if len(ends) == 1 else Call("greatest", tuple(ends))
    return call("nullif", begin, access.START), call("nullif", end, FOR_EVER)


def _is_one(plan: Plan) -> bool:
    """Whether the plan is just the tuple that it is evaluated for, with an order."""
    while isinstance(plan, Order):
        plan = plan.input
    return isinstance(plan, Unit)


def lifespan_bound(value: Value, which: int, scope: Scope, span: Span) -> Scalar:
    """The start (0) or end (1) of the lifespan of a value's only node."""

    def read(item: Item) -> Scalar:
        if not is_node(item):
            raise NotNative("the lifespan of something that is not a node", span)
        return call("coalesce", lifespan(item, scope)[which], scope.now if which else access.START)

    return single(value, read, scope, span, "one node at most")
