"""Look-ups along holes become joins.

By places (QaC+): a filler knows the key of the filler it stands in. By ids (QaC): the holes of the
parent are unnested, and each names its filler; then the way upwards is a join with the chain from
the root down to the tag above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from xcql.algebra.operators import (
    Extract,
    Follow,
    Join,
    Plan,
    Rise,
    Unit,
    graft,
    row_column,
)
from xcql.algebra.rules.chains import Depths, from_root
from xcql.algebra.rules.everywhere import everywhere
from xcql.algebra.scalars import TRUE, Scalar, call, conjunction
from xcql.analysis.graph import TagGraph


def hole_joins(
    plan: Plan,
    strategy: str,
    graphs: Mapping[str, TagGraph],
    fresh: Callable[[str], str],
    depths: Mapping[str, Depths] | None = None,
) -> Plan:
    """The plan with `Follow` (by places) and `Rise` as joins.

    `depths` are, for each stream, the levels on which the fillers of a tag stand.
    """

    def reached(extract: Extract) -> Plan:
        """The fillers that a scan would find, by the holes that lead to them."""
        graph = graphs[extract.stream]
        if extract.tags == (graph.structure.root.id,):
            return extract
        return from_root(extract, graph, (depths or {}).get(extract.stream, {}), fresh)

    def change(one: Plan) -> Plan:
        match one:
            case Follow() if strategy == "qac+":
                return _by_place(one)
            case Rise(stream=stream, tags=tags, child=child, row=row):
                source: Plan = Extract(stream, tags, row)
                if strategy == "qac":
                    source = reached(Extract(stream, tags, row))
                keys = ((row_column(child, "parent"), row_column(row, "key")),)
                return Join(one.input, source, keys, TRUE, span=one.span)
            case Extract(input=below) if strategy == "qac":
                return graft(reached(replace(one, input=Unit())), below)
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
