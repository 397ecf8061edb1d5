"""Nodes in document order, without duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from xcql.algebra import operators as ops
from xcql.algebra.scalars import Column, Constant, Scalar
from xcql.compile.library.access import node_key
from xcql.compile.library.node_lookup import generalised, united
from xcql.compile.library.trees import check_alike, moved, one_tree, part_of, tree_of, turns_in
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
    Tree,
    Turns,
)
from xcql.compile.terms.scope import Compilation, Scope
from xcql.compile.terms.values import (
    EMPTY,
    Concat,
    Each,
    Leaf,
    Merged,
    Single,
    Value,
    at_most_one,
    each,
    is_optional,
    leaves,
    merged,
)
from xcql.source import Span


def is_sorted(value: Value) -> bool:
    """Whether the items are known to be distinct nodes in document order."""
    match value:
        case Single():
            return True
        case Each(plan=plan, value=inner, is_path=is_path):
            return is_path or (is_optional(plan) and is_sorted(inner))
        case Merged(values=several):
            return all(map(is_sorted, several))
        case Concat(values=several, exclusive=True):
            return all(at_most_one(one) or is_sorted(one) for one in several)
    return value == EMPTY


def may_nest(value: Value, scope: Scope) -> bool:
    """Whether one of the nodes of a value can be inside another."""
    tags: dict[str, set[str]] = {}
    for leaf in leaves(value):
        match leaf.item:
            case StreamDocument():
                return not at_most_one(value)
            case AnyNode(kinds=kinds) if "element" in kinds and len(kinds) > 1:
                return True
            case StreamElement() | Inner() | AnyNode() as node:
                tags.setdefault(node.stream, set()).update(node.tags)
    graphs = scope.compilation.graphs
    return any(graphs[stream].nest(several) for stream, several in tags.items())


def key_of(item: Item, scope: Scope, span: Span | None) -> Scalar:
    """A key that identifies a node in its tree and orders it there."""
    match item:
        case Element(tree=Tree()):
            return Constant(b"")
        case AttributeItem(owner=Element(tree=Tree()) as owner, name=name):
            names = [attribute.name for attribute in owner.attributes]
            return Constant(f"{names.index(name):04}".encode())
    key = node_key(item, scope)
    if key is None:
        raise NotNative("the document order of these nodes is not known", span)
    return key


def merged_in_document_order(
    values: Sequence[Value], scope: Scope, span: Span | None = None
) -> Value:
    """Merge values of nodes, each in document order; no node may be in two of them."""
    kept = [value for value in values if value != EMPTY]
    if len(kept) < 2:
        return kept[0] if kept else EMPTY
    found = [leaf for value in kept for leaf in leaves(value)]
    of_one_tree(found, span)
    keys = [
        _sort_keys(leaf, turns, scope, span)
        for leaf, turns in zip(found, turns_in(found, scope, span), strict=True)
    ]
    check_alike(keys, span)
    ordered: list[Value] = []
    for leaf, by in zip(found, keys, strict=True):
        ordered.append(each(ops.Order(leaf.plan, by), Single(leaf.item), is_path=True))
    return merged(ordered)


def _sort_keys(
    leaf: Leaf, turns: Turns, scope: Scope, span: Span | None
) -> tuple[ops.SortKey, ...]:
    return (*turns.order, ops.SortKey(key_of(leaf.item, scope, span), "key"))


def in_document_order(value: Value, scope: Scope, span: Span) -> Value:
    """The nodes in document order, without duplicates.

    Nodes of different trees are in the order in which the trees were made.
    """
    if value == EMPTY or at_most_one(value):
        return value
    found = alike(_leaves_of_parts(value), scope, span)
    of_one_tree(found, span)
    kinds: dict[object, list[Leaf]] = {}
    for leaf in found:
        kinds.setdefault(origin(leaf.item), []).append(leaf)
    together = [one_kind(several, scope, span) for several in kinds.values()]
    ordered: list[Value] = []
    orders: list[tuple[ops.SortKey, ...]] = []
    for leaf, turns in zip(together, turns_in(together, scope, span), strict=True):
        key = key_of(leaf.item, scope, span)
        within = tuple(dict.fromkeys(one for one in turns.identity if ops.used(one)))
        plan: ops.Plan = ops.Distinct(leaf.plan, key, "key", within)
        orders.append(_sort_keys(leaf, turns, scope, span))
        if turns.order:
            plan = ops.Order(plan, orders[-1])
        ordered.append(each(plan, Single(leaf.item), is_path=True))
    check_alike(orders, span)
    return merged(ordered)


def _leaves_of_parts(value: Value) -> list[Leaf]:
    """The leaves of a value, without an order among the parts that it is concatenated from."""
    if isinstance(value, Concat):
        return [leaf for part in value.values for leaf in _leaves_of_parts(part)]
    return leaves(value)


def alike(found: Sequence[Leaf], scope: Scope, span: Span | None) -> list[Leaf]:
    """Nodes in forms that can be compared: if some of a stream are general, all of it are.

    They also have to be general if some are read from tables that others are read from, too.
    """
    streams = {leaf.item.stream for leaf in found if isinstance(leaf.item, AnyNode)}
    elements = [leaf.item for leaf in found if isinstance(leaf.item, StreamElement)]
    streams |= {one.stream for one, other in combinations(elements, 2) if _overlap(one, other)}
    if not streams:
        return list(found)
    where = span or scope.compilation.module.span
    return [
        generalised(leaf, scope, where)
        if _stream_of(leaf.item) in streams and not isinstance(leaf.item, AnyNode)
        else leaf
        for leaf in found
    ]


def _stream_of(item: Item) -> str:
    """The stream that a node is from, if it can be compared with others of it by a general form."""
    match item:
        case StreamElement(stream=stream) | Inner(stream=stream) | AnyNode(stream=stream):
            return stream
        case (
            TextItem(owner=StreamElement() | Inner() as owner)
            | AttributeItem(owner=StreamElement() | Inner() | AnyNode() as owner)
        ):
            return owner.stream
    return ""


def _overlap(one: StreamElement, other: StreamElement) -> bool:
    """Whether some, but not all, nodes of two kinds can be the same."""
    return (
        origin(one) != origin(other)
        and (one.stream, part_of(one), one.path) == (other.stream, part_of(other), other.path)
        and not set(one.table).isdisjoint(other.table)
        and not set(one.tags).isdisjoint(other.tags)
    )


def of_one_tree(found: Sequence[Leaf], span: Span | None) -> None:
    """Check that the nodes are of one tree: only then do keys give their order."""
    if len({tree_of(leaf.item) for leaf in found}) > 1:
        raise NotNative("nodes of several trees in document order", span)


def is_own_tree(leaf: Leaf) -> bool:
    """Whether each of the nodes is the root of a tree that a projection made."""
    match leaf.item:
        case StreamElement(tree=Tree(tops=True), is_top=is_top) | AnyNode(is_top=is_top):
            return is_top
    return False


def root_of(item: Item, span: Span | None) -> StreamDocument | StreamElement | AnyNode:
    """The root of a node's tree: a document, or the element itself if a projection made it."""
    match item:
        case StreamDocument():
            return item
        case StreamElement(is_copy=False, stream=stream, window=window, tree=tree):
            if tree is None or not tree.tops:
                return StreamDocument(stream, window, tree)
            if item.is_top:
                return item
        case AnyNode(is_top=True):
            return item
        case (
            Inner(owner=owner)
            | AnyNode(filler=owner)
            | TextItem(owner=StreamElement() | Inner() as owner)
            | AttributeItem(owner=StreamElement() | Inner() | AnyNode() as owner)
        ):
            return root_of(owner, span)
    raise NotNative("the root of such a node", span)


def origin(item: Item) -> object:
    """A value that nodes share if they can be the same node."""
    match item:
        case StreamElement(stream=stream, tags=tags, table=table, path=path):
            return stream, part_of(item), table, tags, path
        case StreamDocument(stream=stream):
            return stream, part_of(item)
        case Element(tree=Tree()):
            return Element, part_of(item), item.name
        case Inner(owner=owner):
            # regardless of tags: two steps may lead to some of the same elements
            return Inner, origin(owner)
        case AnyNode(stream=stream):
            return AnyNode, stream, part_of(item)
        case (
            TextItem(owner=StreamElement() | Inner() as owner)
            | AttributeItem(owner=StreamElement() | Inner() | AnyNode() as owner)
        ):
            return type(item), origin(owner), getattr(item, "name", None)
    return item


def one_kind(
    found: Sequence[Leaf], scope: Scope, span: Span | None, base: ops.Plan | None = None
) -> Leaf:
    """Merge leaves with nodes of one origin: their rows become those of one plan.

    If all were found for the tuples of `base`, the columns of those tuples are kept.
    """
    if len(found) == 1:
        return found[0]
    if isinstance(found[0].item, AnyNode):
        return united(found, base or ops.Unit(), scope)
    items = [leaf.item for leaf in found]
    nodes: list[StreamElement | Inner] = []
    for item in items:
        match item:
            case StreamElement() | Inner():
                nodes.append(item)
            case TextItem(owner=owner) | AttributeItem(owner=owner) if isinstance(
                owner, StreamElement | Inner
            ):
                nodes.append(owner)
            case _:
                raise NotNative("the same nodes may be reached in several ways", span)
    base = base or ops.Unit()
    kept = ops.columns(base)
    made: list[tuple[str, tuple[Scalar, ...]]] = [
        (name, (Column(name),) * len(found)) for name in sorted(kept)
    ]
    tree, turns = one_tree(found, kept, scope.compilation.fresh)
    made += turns
    node = _one_node(nodes, made, scope.compilation, span)
    match items[0]:
        case TextItem() | AttributeItem():
            column = scope.compilation.fresh("text")
            made.append((column, tuple(one.scalar for one in items)))  # type: ignore[attr-defined]
            item = replace(items[0], scalar=Column(column), owner=node)
            if isinstance(item, TextItem) and item.place is not None:
                place = scope.compilation.fresh("place")
                made.append((place, tuple(one.place for one in items)))  # type: ignore[attr-defined]
                item = replace(item, place=Column(place))
        case _:
            item = node
    window = node.owner.window if isinstance(node, Inner) else node.window
    if window is not None:
        bounds = ops.used(window.begin) | ops.used(window.end)
        if any(bounds & (ops.columns(leaf.plan) - kept) for leaf in found):
            raise NotNative("the same nodes may be reached in several ways", span)
    key = scope.compilation.fresh("order")
    made.append((key, tuple(key_of(one, scope, span) for one in items)))
    plans = tuple(leaf.plan for leaf in found)
    own = {name for name, _ in turns}
    turn_keys = () if tree is None or tree.each is None else tree.loop.then(tree.each).order
    by = (
        *ops.order(base),
        *(one for one in turn_keys if ops.used(one.scalar) & own),
        ops.SortKey(Column(key), "key"),
    )
    plan = ops.Merge(plans, tuple(made), by, within=ops.identity(base))
    return Leaf(plan, moved(item, tree))


def _one_node(
    nodes: Sequence[StreamElement | Inner],
    made: list[tuple[str, tuple[Scalar, ...]]],
    compilation: Compilation,
    span: Span | None,
) -> StreamElement | Inner:
    """The element that reads each plan's own columns; the shared columns are added to `made`."""
    inner = [one for one in nodes if isinstance(one, Inner)]
    if not inner:
        return _one_element(
            [one for one in nodes if isinstance(one, StreamElement)], made, compilation, span
        )
    assert len(inner) == len(nodes)
    owner = _one_element([one.owner for one in inner], made, compilation, span)
    struct, start = compilation.fresh("inner"), compilation.fresh("start")
    made.append((struct, tuple(one.struct for one in inner)))
    made.append((start, tuple(one.start for one in inner)))
    tags = tuple(sorted({tag for one in inner for tag in one.tags}))
    return Inner(owner, Column(struct), Column(start), tags)


def _one_element(
    nodes: Sequence[StreamElement],
    made: list[tuple[str, tuple[Scalar, ...]]],
    compilation: Compilation,
    span: Span | None,
) -> StreamElement:
    first = nodes[0]
    if any(
        (one.is_top, one.is_copy, one.window, one.lifespan, one.is_filler)
        != (first.is_top, first.is_copy, first.window, first.lifespan, first.is_filler)
        for one in nodes
    ) or (first.lifespan is not None):
        raise NotNative("the same nodes may be reached in several ways", span)
    if first.is_filler:
        row = _one_row(nodes, made, compilation)
        # the parent of a filler can be found from the filler; in a projection it cannot
        above = None if first.window is None else first.above
        if above is not None and any(one.above != above for one in nodes):
            above = None
        return replace(first, row=row, struct=Column(f"{row}.element"), above=above)
    column = compilation.fresh(first.shape.name)
    if first.is_top:
        row = _one_row(nodes, made, compilation)
        made.append((column, tuple(one.struct for one in nodes)))
        return replace(first, row=row, struct=Column(column))
    aboves = [one.above for one in nodes]
    if not all(isinstance(one, StreamElement) for one in aboves):
        raise NotNative("the same nodes may be reached in several ways", span)
    over = _one_element(aboves, made, compilation, span)  # type: ignore[arg-type]
    made.append((column, tuple(one.struct for one in nodes)))
    return replace(first, row=over.row, struct=Column(column), above=over)


def _one_row(
    nodes: Sequence[StreamElement],
    made: list[tuple[str, tuple[Scalar, ...]]],
    compilation: Compilation,
) -> str:
    row = compilation.fresh(nodes[0].row)
    made += [
        (f"{row}.{name}", tuple(ops.row_column(one.row, name) for one in nodes))
        for name in ops.ROW_COLUMNS
    ]
    return row
