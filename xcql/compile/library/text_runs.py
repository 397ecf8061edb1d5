"""Texts as they are in the view: a hole without fillers does not divide the text around it.

    <p>one <hole id="1"/> two <b/> three</p>    two texts if the hole is empty, else three

Tests: tests/compile/library/test_any_axes.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from xcql.algebra.operators import (
    ROW_COLUMNS,
    Aggregate,
    Extract,
    Join,
    Nest,
    Order,
    Plan,
    Project,
    Select,
    SortKey,
    Tally,
    columns,
    free,
    identity,
    order,
)
from xcql.algebra.scalars import TRUE, Column, Scalar, call
from xcql.compile.library.access import node_key
from xcql.compile.library.any_xml import any_string
from xcql.compile.library.node_lookup import NodeLookup, NodePlace, Paths
from xcql.compile.node_paths import NodePath
from xcql.compile.result import NotNative
from xcql.compile.terms.items import AnyNode
from xcql.compile.terms.values import Leaf
from xcql.shred.node_paths import read_path


def with_runs(
    table: NodeLookup, base: Plan, find: Callable[[Paths], Leaf], wanted: Paths, below: Paths
) -> list[Leaf]:
    """The nodes on some paths, as they are found for the tuples of a plan.

    Texts before and after a hole are one node if the hole is empty. `below` has all paths
    beside the wanted ones.
    """
    with_holes = {_element_of(path) for path in below if path.kind == "hole"}
    broken = frozenset(
        path
        for path in wanted
        if path.kind == "text" and any(_may_be_same(_element_of(path), one) for one in with_holes)
    )
    # vague paths may be those of several tables
    texts = {path.text for path in broken}
    broken = frozenset(path for path in wanted if path.text in texts)
    found = [find(wanted - broken)] if wanted - broken else []
    if broken:
        found = [_with_values(one, table) for one in found]
        found.append(_runs(table, base, find(broken), below))
    return found


def _with_values(found: Leaf, table: NodeLookup) -> Leaf:
    """Texts with all of their values: what is merged with them has no need for its bytes then."""
    node = found.item
    assert isinstance(node, AnyNode)
    if node.kinds != {"text"}:
        return found
    value = table.scope.compilation.fresh("text")
    plan = Project(found.plan, value, any_string(node, table.scope))
    return Leaf(plan, replace(node, value=Column(value), paths=_valued(node.paths)))


def _valued(paths: Paths) -> Paths:
    return frozenset(replace(path, is_valued=True) for path in paths)


def _runs(table: NodeLookup, base: Plan, texts: Leaf, below: Paths) -> Leaf:
    """Texts as they are in the view: those with only empty holes between them are one.

    They have the same number of other nodes before them.
    """
    text = texts.item
    assert isinstance(text, AnyNode)
    compilation = table.scope.compilation
    parents = {_element_of(path) for path in text.paths}
    beside = frozenset(
        path
        for path in below
        if path.kind not in ("attribute", "text")
        and not path.is_top
        and any(_may_be_same(_parent_of(path), one) for one in parents)
    )
    holes = frozenset(path for path in beside if path.kind == "hole")
    # before anything is sorted, so that no bytes are
    value = compilation.fresh("text")
    plan: Plan = Project(texts.plan, value, any_string(text, table.scope))
    runs: list[Scalar] = []

    def count(others: Plan, keys: Sequence[tuple[Scalar, Scalar]], start: Scalar) -> None:
        """Number the texts by the others before them."""
        nonlocal plan
        run = compilation.fresh("run")
        plan = Tally(plan, others, tuple(keys), ">", (text.start, start), run, span=table.span)
        runs.append(Column(run))

    if beside - holes:
        others, other = table.scan(text.filler, beside - holes, exact=False)
        count(others, ((text.seq, other.seq), (text.parent, other.parent)), other.start)
    graph = compilation.graphs[table.stream]
    tags = graph.fragmented_children(*{path.tag for path in text.paths})
    tops = frozenset(path for path in table.paths.all if path.is_top and path.table in tags)
    if tops:
        filled, around, hole = _filled(table, holes, tops)
        same_parent = (text.filler.column("key"), around), (text.parent, hole.parent)
        count(filled, same_parent, hole.start)
    end = compilation.fresh("end")
    plan = Project(plan, end, call("+", text.start, text.length))
    prefix = compilation.fresh("node")
    row = compilation.fresh("filler")
    same: list[tuple[str, Scalar]] = [(name, Column(name)) for name in sorted(columns(base))]
    same += [(f"{row}.{name}", text.filler.column(name)) for name in ROW_COLUMNS]
    same += [(f"{prefix}.{name}", getattr(text, name)) for name in ("seq", "kind", "name", "path")]
    apart = [*identity(base), text.filler.column("key"), text.parent, *runs]
    keys = [(f"{prefix}.key{index}", one) for index, one in enumerate(apart)]
    first, last = Aggregate("min", text.start), Aggregate("max", Column(end))
    nest = Nest(
        plan,
        tuple(keys),
        (
            *((name, Aggregate("any", one)) for name, one in same),
            (f"{prefix}.parent", Aggregate("any", text.parent)),
            (f"{prefix}.start", first),
            (f"{prefix}.end", last),
            (f"{prefix}.value", Aggregate("join", Column(value))),
        ),
    )
    made: dict[str, Any] = {
        name: Column(f"{prefix}.{name}")
        for name in ("seq", "kind", "name", "path", "parent", "start", "value")
    }
    length = call("-", Column(f"{prefix}.end"), Column(f"{prefix}.start"))
    filler = table.filler(row, text.filler.table)
    node = AnyNode(filler, **made, length=length, paths=_valued(text.paths), root=table.root)
    key = node_key(node, table.scope)
    assert key is not None
    return Leaf(Order(nest, (*order(base), SortKey(key, "key"))), node)


def _filled(table: NodeLookup, holes: Paths, tops: Paths) -> tuple[Plan, Scalar, AnyNode]:
    """Fillers with the holes that they are in, and the keys of the fillers around these."""
    inner = table.fillers({path.table for path in tops})
    outer = table.fillers({path.table for path in holes})
    inside: Plan = Extract(table.stream, inner.table, inner.row, span=table.span)
    visible = table.is_visible(inner)
    if visible != TRUE:
        inside = Select(inside, visible)
        if free(inside):
            raise NotNative("texts around holes in a projection in a loop", table.span)
    around = Extract(table.stream, outer.table, outer.row, span=table.span)
    keys = ((inner.column("parent"), outer.column("key")),)
    plan = Join(inside, around, keys, TRUE, is_lookup=True, span=table.span)
    offset = inner.column("offset")
    hole = table.inside(
        NodePlace(plan, outer, None, holes),
        holes,
        lambda node: ((offset, node.start),),
        is_lookup=True,
    )
    assert isinstance(hole.item, AnyNode)
    return hole.plan, outer.column("key"), hole.item


def in_holes(table: NodeLookup, hole: Leaf, tops: Paths) -> Leaf:
    """The fillers in some holes."""
    node = hole.item
    assert isinstance(node, AnyNode)
    filler = table.fillers({path.table for path in tops})
    rows = Extract(table.stream, filler.table, filler.row, span=table.span)
    keys = (
        (node.filler.column("key"), filler.column("parent")),
        (node.start, filler.column("offset")),
    )
    plan: Plan = Join(hole.plan, rows, keys, TRUE, span=table.span)
    visible = table.is_visible(filler)
    if visible != TRUE:
        plan = Select(plan, visible)
    return table.inside(NodePlace(plan, filler, None, tops), tops)


def _element_of(path: NodePath) -> tuple[str, str, str]:
    """The table, the tag, and the path of the parent of texts or holes; no path if it is vague."""
    return path.table, path.tag, "" if path.is_vague else path.above


def _parent_of(path: NodePath) -> tuple[str, str, str]:
    """The same for the parent of any node; no tag if it is the parent of an element."""
    if path.kind != "element":
        return _element_of(path)
    above = "" if path.is_vague else path.above
    return path.table, read_path(above)[1] if above else "", above


def _may_be_same(one: tuple[str, str, str], other: tuple[str, str, str]) -> bool:
    same_tag = one[1] == other[1] or not (one[1] and other[1])
    return one[0] == other[0] and same_tag and (one[2] == other[2] or not (one[2] and other[2]))
