"""Hole lookups become joins.

    follow t: holes of a to fillers with tag 5        inner join on $a.key = $t.parent
      extract a: fillers with tag 2              =>     extract a: fillers with tag 2
                                                        extract t: fillers with tag 5

That is the form for places (QaC+): a filler knows the key of its parent filler. With ids (QaC), the
parent's holes are unnested, and each names its filler; going up is a join with the chain from the
root down to the parent's tag.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from xcql.algebra.operators import Extract, Follow, Join, Plan, Rise, Unit, graft, row_column
from xcql.algebra.rewriting.chains import Depths, from_root
from xcql.algebra.rewriting.everywhere import everywhere
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.scalars import TRUE, Scalar, call, conjunction
from xcql.analysis.graph import TagGraph


def hole_joins(
    plan: Plan,
    strategy: str,
    graphs: Mapping[str, TagGraph],
    fresh: Callable[[str], str],
    depths: Mapping[str, Depths],
) -> Plan:
    """The plan with `Follow` (by places) and `Rise` as joins."""

    def reached(extract: Extract) -> Plan:
        """The fillers that a scan would find, reached through holes."""
        graph = graphs[extract.stream]
        if extract.tags == (graph.structure.root.id,):
            return extract
        return from_root(extract, graph, depths.get(extract.stream, {}), fresh)

    def change(one: Plan) -> Plan:
        match one:
            case Follow() if strategy == "qac+":
                return _by_place(one)
            case Rise(stream=stream, tags=tags, child=child, row=row):
                source: Plan = Extract(stream, tags, row)
                if strategy == "qac":
                    source = reached(Extract(stream, tags, row))
                keys = ((row_column(child, "parent"), row_column(row, "key")),)
                return Join(one.input, source, keys, TRUE, is_lookup=True, span=one.span)
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


RULE = Rule(hole_joins, "hole lookups become joins")
