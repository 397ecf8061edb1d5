"""Rows of fillers, and the elements in them: roots, elements inside a filler, fillers in holes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from xcql.algebra.operators import (
    Extract,
    Follow,
    Join,
    Plan,
    Select,
    Unnest,
    present,
    row_column,
)
from xcql.algebra.scalars import TRUE, Column, Constant, Scalar, call, conjunction, field
from xcql.analysis.graph import TagGraph
from xcql.compile.library.access import meets_window, span_of
from xcql.compile.library.inner import inline_below
from xcql.compile.terms.items import Shape, StreamDocument, StreamElement
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf
from xcql.source import Span


def root_filler(
    leaf: Leaf, document: StreamDocument, id: str, scope: Scope, span: Span
) -> list[Leaf]:
    """The root element of a stream, whose tag has the id; none if it has not arrived."""
    stream = document.stream
    shape = scope.compilation.shape(stream, (id,))
    if shape is None:
        return []
    row = new_row(stream, (id,), shape, scope)
    plan = Extract(stream, (id,), row, leaf.plan, span=span)
    return [filler(plan, document, row, (id,), shape, scope)]


def scanned(
    node: StreamElement | StreamDocument,
    tags: tuple[str, ...],
    base: Plan,
    scope: Scope,
    span: Span,
) -> Leaf:
    """For each tuple, all fillers with some tags in the document of a node."""
    shape = scope.compilation.shape(node.stream, tags)
    assert shape is not None
    row = new_row(node.stream, tags, shape, scope)
    return in_document(Extract(node.stream, tags, row, base, span=span), node, row, shape, scope)


def in_document(
    plan: Plan, node: StreamElement | StreamDocument, row: str, shape: Shape, scope: Scope
) -> Leaf:
    """Of some fillers, those in the document of a node."""
    window = node.window
    if window is not None:
        # whether all fillers around it are valid
        times = (row_column(row, "pathFrom"), row_column(row, "pathTo"))
        plan = Select(plan, call("overlaps", *times, window.begin, window.end))
    return filler(plan, node, row, shape.tags, shape, scope, is_child=False)


def inside(
    plan: Plan,
    row: StreamElement,
    within: tuple[Scalar, Scalar] | None,
    tags: tuple[str, ...],
    inner: str,
    scope: Scope,
    span: Span,
) -> Plan:
    """For each tuple, all fillers with some tags inside an element, at any depth.

    The element is the own one of the filler `row`, or starts `within` its bytes and has so many;
    `inner` is the name of the fillers' rows. A place is in a filler if the filler's key is among
    those of its ancestors, at the level that the filler's depth says.
    """
    rows: Plan = Extract(row.stream, tags, inner, span=span)
    depths = _depths(row.stream, row.table, scope)
    if len(depths) == 1:
        (depth,) = depths
        around = call("place_above", row_column(inner, "key"), Constant(depth))
        key: Scalar = call("parent_key", around)
        offset: Scalar = call("hole_offset", around)
    else:
        place = Column(scope.compilation.fresh("place"))
        position = scope.compilation.fresh("place_at")
        places = call("places_above", row_column(inner, "key"))
        rows = Unnest(rows, places, place.name, position, span=span)
        key, offset = field(place, "key"), field(place, "offset")
    condition: Scalar = TRUE
    if within is not None:
        start, length = within
        end = call("+", start, length)
        condition = conjunction(call(">", offset, start), call("<", offset, end))
    return Join(plan, rows, ((row.column("key"), key),), condition, span=span)


def new_row(stream: str, tags: tuple[str, ...], shape: Shape, scope: Scope) -> str:
    scope.compilation.demands.setdefault((stream, tags), set())
    return scope.compilation.fresh(shape.name)


def filler(
    plan: Plan,
    source: StreamElement | StreamDocument,
    row: str,
    tags: tuple[str, ...],
    shape: Shape,
    scope: Scope,
    is_child: bool = True,
) -> Leaf:
    """The element of a filler's row; in a projection, only if its lifespan overlaps.

    `source` is a node of the same tree; it is the element's parent if `is_child`.
    """
    window = source.window
    node = StreamElement(
        source.stream,
        row,
        tags,
        tags,
        shape,
        ("element",),
        Column(f"{row}.element"),
        is_filler=True,
        alone=True,
        above=source if is_child else None,
        window=window,
        tree=source.tree,
    )
    graph = scope.compilation.graphs[node.stream]
    if window is not None and any(graph.is_fragmented(tag) for tag in tags):
        plan = Select(plan, meets_window(replace(node, window=None), window, scope))
    return Leaf(plan, node)


def inline(plan: Plan, node: StreamElement, shape: Shape, scope: Scope, span: Span) -> Leaf:
    """The child elements in one field of a struct."""
    compilation = scope.compilation
    struct = field(node.struct, shape.column)
    path = (*node.path, shape.column)
    compilation.demand(node, shape.column, "_start")
    alone = node.alone
    if shape.repeats:
        item = compilation.fresh(shape.name)
        position = compilation.fresh(f"{shape.name}_at")
        plan = Unnest(plan, struct, item, position, span=span)
        struct = Column(item)
        alone = False
    else:
        plan = Select(plan, present(struct), span=span)
    child = StreamElement(
        node.stream,
        node.row,
        node.table,
        shape.tags,
        shape,
        path,
        struct,
        is_filler=False,
        alone=alone,
        above=node,
        window=node.window,
        tree=node.tree,
    )
    return Leaf(plan, child)


def follow(
    leaf: Leaf, ids: tuple[str, ...], scope: Scope, span: Span, is_child: bool = True
) -> list[Leaf]:
    """Follow holes to the fillers with some tags."""
    node = leaf.item
    assert isinstance(node, StreamElement)
    found: list[Leaf] = []
    depth = least_depth(node, scope) + 1
    parents_nest = scope.compilation.graphs[node.stream].nest(node.table)
    for tags in tables(node.stream, ids, scope):
        if depth > max(_depths(node.stream, tags, scope), default=depth):
            # no filler is so deep inside of others
            continue
        shape = scope.compilation.shape(node.stream, tags)
        assert shape is not None
        row = new_row(node.stream, tags, shape, scope)
        within = None
        plan = leaf.plan
        if node.alone:
            plan = _without_presence(plan, node)
        else:
            within = span_of(node, scope)
        plan = Follow(plan, node.stream, node.row, tags, row, within, parents_nest, span=span)
        found.append(filler(plan, node, row, tags, shape, scope, is_child))
    return found


def least_depth(node: StreamElement, scope: Scope) -> int:
    """How many fillers are around the filler of an element at least."""
    known = min(_depths(node.stream, node.table, scope), default=0)
    above = node.above
    if not isinstance(above, StreamElement):
        return known
    return max(known, least_depth(above, scope) + node.is_filler)


def _depths(stream: str, tags: tuple[str, ...], scope: Scope) -> frozenset[int]:
    """The numbers of fillers around those of some tags; empty if they are not known."""
    known = scope.compilation.catalog.streams[stream]
    if not known.placed:
        return frozenset()
    root = known.graph.structure.root.id
    return frozenset(
        depth for tag in tags for depth in ((0,) if tag == root else known.depths.get(tag, ()))
    )


def _without_presence(plan: Plan, node: StreamElement) -> Plan:
    """The plan without presence tests on the path to a hole: the hole implies them."""
    wanted: set[Scalar] = set()
    here: StreamElement | StreamDocument | None = node
    while isinstance(here, StreamElement) and not here.is_filler:
        wanted.add(present(here.struct))
        here = here.above
    while isinstance(plan, Select) and plan.condition in wanted:
        plan = plan.input
    return plan


def tables(stream: str, ids: Iterable[str], scope: Scope) -> list[tuple[str, ...]]:
    """The tags that have fillers, grouped if their tables are alike."""
    compilation = scope.compilation
    slots = compilation.catalog.streams[stream].slots
    groups: dict[str, list[str]] = {}
    found: list[tuple[str, ...]] = []
    for id in ids:
        if id in slots:
            tag = compilation.graphs[stream].tag(id)
            groups.setdefault(f"{tag.name}|{tag.kind}", []).append(id)
    for tags in groups.values():
        if compilation.shape(stream, tuple(tags)) is not None:
            found.append(tuple(tags))
        else:
            found += [(tag,) for tag in tags]
    return found


def holes_below(graph: TagGraph, tops: Iterable[str]) -> frozenset[str]:
    """The tags of fillers whose holes are below some elements, in the same filler."""
    return graph.fragmented_children(*inline_below(graph, tops), *tops)
