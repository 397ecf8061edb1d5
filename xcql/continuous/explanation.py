"""What a continuous query stores, how that is bounded, and what it must compute as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xcql.analysis.graph import TagGraph
from xcql.check import Checked
from xcql.continuous.parts import Access
from xcql.continuous.plan import UnitPlan, Whole
from xcql.continuous.state_file import to_instant
from xcql.continuous.time_use import Bound, TimeUse
from xcql.diagnostics import Diagnostic, warning
from xcql.model.time import format_begin


@dataclass(frozen=True, slots=True)
class ContinuousExplanation:
    """How a query is kept up to date.

    `unit` names the elements by which the answer is maintained, None if it is computed as a whole;
    `state` lists what is stored; `time` says when the answer changes without an arrival. `whole`
    has a note with a position in the query for each part that needs a whole stream; `warnings`
    report unbounded state.
    """

    unit: str | None
    state: tuple[str, ...]
    time: str
    whole: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def is_incremental(self) -> bool:
        """Whether the work of a trigger grows with the changes, not with the history."""
        return self.unit is not None and not self.whole

    def __str__(self) -> str:
        lines = [f"kept by: {self.unit or 'the whole answer, recomputed when anything changes'}"]
        lines += [f"state: {line}" for line in self.state]
        lines.append(f"time: {self.time}")
        lines += [f"whole: {_told(note)}" for note in self.whole]
        lines += [f"warning: {_told(note)}" for note in self.warnings]
        return "\n".join(lines)


def _told(note: Diagnostic) -> str:
    if note.span is None or not note.span.source.text:
        return note.message
    return f"{note.message} (line {note.span.line}, column {note.span.column})"


def explained(plan: UnitPlan | Whole, query: Checked) -> ContinuousExplanation:
    """The explanation of a plan."""
    graphs = query.graphs
    if isinstance(plan, Whole):
        state = ("every fragment", "the answer")
        unbounded = _unbounded(query.types.looked_at, {}, query)
        whole = (plan.reason.diagnostic(),)
        return ContinuousExplanation(None, state, _time(plan.time), whole, unbounded)
    state_lines = [f"the result for each {_paths(plan.main, graphs)}, with its position"]
    for (stream, tag), windows in sorted(plan.windowed.items()):
        oldest = min(windows, key=lambda window: window.begin.at(0))
        path = graphs[stream].structure.path_of(graphs[stream].tag(tag))
        since = _bound(oldest.begin)
        state_lines.append(f"events {path} of '{stream}': those before {since} are not read again")
    if plan.tallied is not None:
        stream = plan.main.stream
        events = frozenset().union(*(tally.events for tally in plan.tallied.tallies))
        graph = graphs[stream]
        told = " or ".join(sorted(graph.structure.path_of(graph.tag(tag)) for tag in events))
        state_lines.append(
            f"the share of events {told} in counts and sums: they are not read again"
        )
    for side in plan.sides:
        state_lines.append(f"the join keys of {_paths(side.access, graphs)}")
    if plan.group is not None:
        state_lines.append("the groups of each; a group is computed from all its members")
    if plan.aggregate is not None:
        name = plan.aggregate.name.local
        if name in ("min", "max"):
            state_lines.append(f"all values of {name}(), which are all compared when one changes")
        elif name in ("sum", "avg"):
            state_lines.append(
                f"all values of {name}(), which are added up again unless they are integers"
            )
        else:
            state_lines.append("the number of items")
    return ContinuousExplanation(
        _paths(plan.main, graphs),
        tuple(state_lines),
        _time(plan.time),
        (),
        _unbounded(plan.looked_at, plan.windowed, query),
    )


def _paths(access: Access, graphs: Mapping[str, TagGraph]) -> str:
    structure = graphs[access.stream].structure
    paths = sorted(structure.path_of(graphs[access.stream].tag(tag)) for tag in access.units)
    return f"{' or '.join(paths)} of '{access.stream}'"


def _unbounded(
    looked: Mapping[str, frozenset[str]], windowed: Mapping[tuple[str, str], object], query: Checked
) -> tuple[Diagnostic, ...]:
    """A warning for each kind of event that the query reads regardless of age."""
    graphs, found = query.graphs, []
    for stream, tags in sorted(looked.items()):
        for id in sorted(tags):
            tag = graphs[stream].tag(id)
            if tag.kind == "event" and (stream, id) not in windowed:
                path = graphs[stream].structure.path_of(tag)
                found.append(
                    warning(
                        "XCQL0611",
                        f"unbounded state: events {path} of '{stream}' count forever",
                        query.module.body.span,
                        hints=["restrict them to a window such as ?[now-P1D, now]"],
                    )
                )
    return tuple(found)


def _time(use: TimeUse) -> str:
    if use.always is not None:
        place = f"line {use.always.line}, column {use.always.column}"
        return f"the answer changes at every instant ({place}), and is recomputed at each trigger"
    if use.windows:
        told = ", ".join(f"[{_bound(w.begin)}, {_bound(w.end)}]" for w in use.windows)
        return f"parts of the answer change when a lifespan meets an edge of {told}"
    if use.open_ends:
        return "results that depend on lifespans that end at `now` change at every instant"
    return "the answer changes when fillers arrive, or become valid"


def _bound(bound: Bound) -> str:
    if not bound.moves:
        return format_begin(to_instant(bound.microseconds))
    if not bound.microseconds:
        return "now"
    sign = "-" if bound.microseconds < 0 else "+"
    return f"now {sign} {abs(bound.microseconds) / 1_000_000:g} s"
