"""Fillers reached from the root along the holes: the only access path in QaC.

    extract t: fillers with tag 5      =>      follow t: holes of a to fillers with tag 5
                                                 follow a: holes of r to fillers with tag 2
                                                   extract r: fillers with tag 1

If several paths lead to a tag, or fillers are nested in fillers of the same tag, the paths are
merged, one level at a time, down to the depth that the store records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from xcql.algebra import operators as ops
from xcql.algebra.scalars import FALSE
from xcql.analysis.graph import TagGraph

Fresh = Callable[[str], str]
# by tsid: how many ancestor fillers the fillers of a tag have
Depths = Mapping[str, tuple[int, ...]]


def from_root(extract: ops.Extract, graph: TagGraph, depths: Depths, fresh: Fresh) -> ops.Plan:
    """All fillers of some tags, reached by every path that leads to them."""
    levels = sorted({level for tag in extract.tags for level in _levels(tag, graph, depths)})

    def way(level: int, row: str) -> ops.Plan:
        return _on_level(extract, level, row, graph, depths, fresh)

    return _merged([partial(way, level) for level in levels], extract, extract.row, fresh)


def covered(plan: ops.Plan, graph: TagGraph) -> frozenset[str]:
    """The tags of the last fillers of a chain, if it leads to all fillers of these tags."""
    match plan:
        case ops.Extract(tags=tags):
            return frozenset(tags)
        case ops.Follow(
            input=ops.Extract(row=row) | ops.Follow(row=row) as above,
            parent=parent,
            tags=tags,
            within=None,
        ) if parent == row:
            known = covered(above, graph)
            return frozenset(tag for tag in tags if known.issuperset(graph.filler_parents(tag)))
    return frozenset()


def source(plan: ops.Plan) -> ops.Plan:
    """The plan for whose tuples a chain is evaluated."""
    return source(plan.input) if isinstance(plan, ops.Extract | ops.Follow) else plan


def _levels(tag: str, graph: TagGraph, depths: Depths) -> frozenset[int]:
    """How many ancestors a tag's fillers have: known without the data unless tags recur."""
    if tag == graph.structure.root.id:
        return frozenset({0})
    above = graph.above((tag,))
    if any(one in graph.below(one) for one in (tag, *(above & graph.fragmented))):
        return frozenset(depths.get(tag, ()))
    return frozenset(
        level + 1
        for parent in graph.filler_parents(tag)
        for level in _levels(parent, graph, depths)
    )


def _on_level(
    extract: ops.Extract, level: int, row: str, graph: TagGraph, depths: Depths, fresh: Fresh
) -> ops.Plan:
    """The fillers on one level: those with `level` ancestors."""
    if level == 0:
        return ops.Extract(extract.stream, (graph.structure.root.id,), row)
    parents = dict.fromkeys(one for tag in extract.tags for one in graph.filler_parents(tag))

    def inside(parent: str, row: str) -> ops.Plan:
        upper = fresh("above")
        around = ops.Extract(extract.stream, (parent,), upper)
        above = _on_level(around, level - 1, upper, graph, depths, fresh)
        return ops.Follow(above, extract.stream, upper, extract.tags, row)

    ways = [
        partial(inside, parent) for parent in parents if level - 1 in _levels(parent, graph, depths)
    ]
    return _merged(ways, extract, row, fresh)


def _merged(
    ways: Sequence[Callable[[str], ops.Plan]], extract: ops.Extract, row: str, fresh: Fresh
) -> ops.Plan:
    """Merge the rows of several plans into one plan; each function takes the row name to use."""
    if not ways:
        return ops.Select(extract, FALSE)
    if len(ways) == 1:
        return ways[0](row)
    rows = [fresh(row) for _ in ways]
    plans = tuple(way(own) for way, own in zip(ways, rows, strict=True))
    columns = tuple(
        (f"{row}.{name}", tuple(ops.row_column(own, name) for own in rows))
        for name in ops.ROW_COLUMNS
    )
    return ops.Merge(plans, columns, (ops.SortKey(ops.row_column(row, "key"), "key"),))
