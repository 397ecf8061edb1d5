"""Chains of hole lookups through fillers that the query never inspects become one scan: QaC+.

    follow t: holes of a to fillers with tag 5          extract t: fillers with tag 5
      extract a: fillers with tag 2              =>

The store knows the position of each filler in the view, and the interval in which all its
ancestor fillers are valid, so an interval projection on the path is a condition on that interval.
"""

from __future__ import annotations

from collections.abc import Mapping

from xcql.algebra import operators as ops
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.scalars import (
    Call,
    Nested,
    Scalar,
    call,
    conjuncts,
    has_nested,
    once,
    rebuilt,
    with_plan,
)
from xcql.analysis.graph import TagGraph


def fold_holes(
    plan: ops.Plan, strategy: str, graphs: Mapping[str, TagGraph], wanted: frozenset[str]
) -> ops.Plan:
    """The plan with the chains folded; in QaC, fillers can only be reached through holes."""
    return _folded_everywhere(plan, graphs, wanted) if strategy == "qac+" else plan


def _folded_everywhere(
    plan: ops.Plan, graphs: Mapping[str, TagGraph], wanted: frozenset[str]
) -> ops.Plan:
    """The plan with the chains folded; `wanted` are the columns that are used above it."""

    def folded(plan: ops.Plan, wanted: frozenset[str]) -> ops.Plan:
        needed = set(wanted)
        for scalar in ops.scalars(plan):
            needed |= ops.used(scalar)
        if isinstance(plan, ops.Follow):
            needed.add(f"{plan.parent}.key")
        below = tuple(
            folded(one, frozenset(needed) - (ops.own_columns(plan) - ops.columns(one)))
            for one in ops.inputs(plan)
        )
        plan = ops.with_scalars(ops.with_inputs(plan, *below), inside)
        if isinstance(plan, ops.Follow):
            return _folded(plan, graphs, wanted)
        return plan

    @once
    def inside(scalar: Scalar) -> Scalar:
        if not has_nested(scalar):
            return scalar
        scalar = rebuilt(scalar, inside)
        if isinstance(scalar, Nested):
            return with_plan(scalar, folded(scalar.plan, ops.used(scalar.value)))
        return scalar

    return folded(plan, wanted)


def _folded(follow: ops.Follow, graphs: Mapping[str, TagGraph], wanted: frozenset[str]) -> ops.Plan:
    parent = follow.parent
    own = {f"{parent}.{column}" for column in ops.ROW_COLUMNS}
    if follow.within is not None or wanted & own:
        return follow
    conditions: list[Scalar] = []
    source = follow.input
    while isinstance(source, ops.Select):
        conditions += conjuncts(source.condition)
        source = source.input
    if not isinstance(source, ops.Extract) or source.row != parent:
        return follow
    graph = graphs[follow.stream]
    if any(not set(graph.filler_parents(tag)) <= set(source.tags) for tag in follow.tags):
        return follow
    windows = {_window(condition, parent) for condition in conditions}
    if None in windows or len(windows) > 1:
        return follow
    # all fillers above the parent must have been projected to the same interval
    above_the_parent = any(
        parent_tag != graph.structure.root.id
        for tag in source.tags
        for parent_tag in graph.filler_parents(tag)
    )
    asks_path = any(_is_path(condition, parent) for condition in conditions)
    own_asked = any(not _is_path(condition, parent) for condition in conditions)
    fragmented = any(graph.is_fragmented(tag) for tag in source.tags)
    if windows and above_the_parent and not asks_path:
        return follow
    if windows and fragmented and not own_asked:
        return follow
    scan: ops.Plan = ops.Extract(
        follow.stream, follow.tags, follow.row, source.input, span=follow.span
    )
    for window in windows:
        assert window is not None
        scan = ops.Select(
            scan,
            call(
                "overlaps",
                ops.row_column(follow.row, "pathFrom"),
                ops.row_column(follow.row, "pathTo"),
                *window,
            ),
        )
    return scan


def _window(condition: Scalar, row: str) -> tuple[Scalar, Scalar] | None:
    """The interval that a condition tests the lifespan of the row or its ancestors against."""
    match condition:
        case Call(function="overlaps", arguments=(begin, end, first, last)):
            if (begin, end) in (
                (ops.row_column(row, "vtFrom"), ops.row_column(row, "vtTo")),
                (ops.row_column(row, "pathFrom"), ops.row_column(row, "pathTo")),
            ):
                return first, last
    return None


def _is_path(condition: Scalar, row: str) -> bool:
    return isinstance(condition, Call) and condition.arguments[0] == ops.row_column(row, "pathFrom")


RULE = Rule(fold_holes, "skip fillers that the query never inspects: find the others by their tag")
