"""What a query reads, and which of it only through windows.

Events that a query reads only through windows need not be read after they have left all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from xcql.analysis.graph import TagGraph
from xcql.analysis.names import PrologNames
from xcql.analysis.types import DOCUMENT
from xcql.analysis.typing import TagTypes, tag_types
from xcql.analysis.walk_values import is_boolean
from xcql.check import Checked
from xcql.continuous.parts import is_stream_call
from xcql.continuous.time_use import TimeWindow, window_of
from xcql.syntax.functions import FunctionCall
from xcql.syntax.literals import Sequence, VariableRef
from xcql.syntax.node import Expr, N, Transformer, walk
from xcql.syntax.operators import Arrow
from xcql.syntax.path import AxisStep, Path
from xcql.syntax.prolog import MainModule
from xcql.syntax.temporal import IntervalProjection

DOWNWARD = ("child", "descendant", "descendant-or-self", "self")


def looked_at(module: MainModule, graphs: Mapping[str, TagGraph]) -> Mapping[str, frozenset[str]]:
    """For each stream, the tags of the fillers that a query reads."""
    return tag_types(module, PrologNames.of(module.declarations), graphs).looked_at


def windowed_events(query: Checked) -> dict[tuple[str, str], tuple[TimeWindow, ...]]:
    """The events that a query reads only through windows, by stream and tag, with the windows."""
    without = _WithoutWindowed(query.types, query.graphs)
    rest = without.transform(query.module)
    if not without.found:
        return {}
    still = looked_at(rest, query.graphs)
    found: dict[tuple[str, str], list[TimeWindow]] = {}
    for stream, tag, window in without.found:
        if tag not in still[stream]:
            found.setdefault((stream, tag), []).append(window)
    return {key: tuple(windows) for key, windows in found.items()}


def is_downward_step(step: Expr, types: TagTypes) -> bool:
    """Whether a step leads down and does not depend on positions."""
    return (
        isinstance(step, AxisStep)
        and step.axis in DOWNWARD
        and all(is_boolean(predicate, types[predicate]) for predicate in step.predicates)
    )


class _WithoutWindowed(Transformer):
    """A query without the events that it reads through a window."""

    def __init__(self, types: TagTypes, graphs: Mapping[str, TagGraph]) -> None:
        self._types = types
        self._graphs = graphs
        self.found: list[tuple[str, str, TimeWindow]] = []

    def transform(self, target: N) -> N:
        if isinstance(target, IntervalProjection):
            window = window_of(target.interval)
            tags = self._events(target.base)
            if window is not None and tags:
                self.found += ((stream, tag, window) for stream, tag in tags)
                return replace(target, base=Sequence((), span=target.base.span))
        return super().transform(target)

    def _events(self, base: Expr) -> list[tuple[str, str]]:
        """The tags of a plain downward path to events; none if it is anything else."""
        type_ = self._types[base]
        if not isinstance(base, Path) or type_.plain or type_.unknown or type_.leaves:
            return []
        first, *steps = base.steps
        if base.absolute or not all(
            is_downward_step(step, self._types) and not reads_other_nodes(step) for step in steps
        ):
            return []
        if isinstance(first, AxisStep):
            if not is_downward_step(first, self._types) or reads_other_nodes(first):
                return []
        elif not isinstance(first, VariableRef) and not is_stream_call(first):
            return []
        found = [(nodes.stream, tag) for nodes in type_.nodes for tag in nodes.tags]
        if any(
            tag == DOCUMENT or self._graphs[stream].tag(tag).kind != "event"
            for stream, tag in found
        ):
            return []
        return found


def reads_other_nodes(step: Expr) -> bool:
    """Whether the predicates of a step read anything but descendants and attributes."""
    return any(
        (isinstance(part, AxisStep) and part.axis not in (*DOWNWARD, "attribute"))
        or isinstance(part, (FunctionCall, Arrow))
        for part in walk(step)
    )
