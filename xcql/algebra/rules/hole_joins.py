"""Look-ups along holes become joins.

By places (QaC+): a filler knows the key of the filler it stands in. By ids (QaC): the holes of the
parent are unnested, and each names its filler; then the way upwards is a join with the chain from
the root down to the tag above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xcql.algebra.operators import (
    Extract,
    Follow,
    Join,
    Plan,
    Rise,
    Unit,
    row_column,
)
from xcql.algebra.rules.everywhere import everywhere
from xcql.algebra.scalars import TRUE, Scalar, call, conjunction
from xcql.analysis.graph import TagGraph


def hole_joins(
    plan: Plan, strategy: str, graphs: Mapping[str, TagGraph], fresh: Callable[[str], str]
) -> Plan:
    """The plan with `Follow` (by places) and `Rise` as joins."""

    def change(one: Plan) -> Plan:
        match one:
            case Follow() if strategy == "qac+":
                return _by_place(one)
            case Rise(stream=stream, tags=tags, child=child, row=row):
                if strategy == "qac+":
                    source: Plan = Extract(stream, tags, row)
                else:
                    source = _chain(graphs[stream], stream, tags[0], row, fresh)
                keys = ((row_column(child, "parent"), row_column(row, "key")),)
                return Join(one.input, source, keys, TRUE, span=one.span)
        return one

    return everywhere(plan, change)


def _by_place(follow: Follow) -> Plan:
    scan = Extract(follow.stream, follow.tags, follow.row, span=follow.span)
    keys = ((row_column(follow.parent, "key"), row_column(follow.row, "parent")),)
    condition: Scalar = TRUE
    if follow.within is not None:
        start, length = follow.within
        offset = row_column(follow.row, "offset")
        condition = conjunction(
            call(">=", offset, start), call("<", offset, call("+", start, length))
        )
    return Join(follow.input, scan, keys, condition, span=follow.span)


def _chain(graph: TagGraph, stream: str, tag: str, row: str, fresh: Callable[[str], str]) -> Plan:
    """The fillers with a tag, found from the root along the holes."""
    way = [tag]
    while way[0] != graph.structure.root.id:
        above = graph.filler_parents(way[0])
        assert len(above) == 1, "a tag with several ways to it"
        way.insert(0, above[0])
    rows = [*(fresh("above") for _ in way[1:]), row]
    plan: Plan = Extract(stream, (way[0],), rows[0], Unit())
    for parent, id, here in zip(rows, way[1:], rows[1:], strict=False):
        plan = Follow(plan, stream, parent, (id,), here)
    return plan
