"""What the compiler needs to know about a store and about the user's external values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from xcql.analysis.graph import TagGraph
from xcql.compile.node_paths import NodePaths
from xcql.history.arrivals import microseconds
from xcql.history.stability import Stability, joint
from xcql.model.tags import TagStructure
from xcql.shred.shape import Slot, has_lifespan, walk


@dataclass(frozen=True, slots=True)
class StreamShape:
    """A stream of a store: its tags, and what is known about their tables.

    The mappings are by tsid; a tag without fillers is in none of them. `slots` are the shapes of
    the elements, `rows` the numbers of rows, `sizes` the bytes in files, `depths` the numbers of
    ancestor fillers that a tag's fillers have, `stabilities` how their rows relate to `now`.
    `placed` is false if rows have no places, so that fillers can only be reached by hole ids;
    `placed_if_settled` says that they have those that count after the last change.
    `has_lifespans_inside` says that elements other than the fillers' own came with lifespans.
    `declared` are the namespaces in scope at all fillers and holes, as text, or None if they
    differ. `graph` is the graph of the tags, built once for all queries. `paths` are those of the
    nodes, if the store has a table of them.
    """

    name: str
    tags: TagStructure
    graph: TagGraph
    slots: Mapping[str, Slot]
    rows: Mapping[str, int]
    sizes: Mapping[str, int]
    depths: Mapping[str, tuple[int, ...]]
    stabilities: Mapping[str, Stability]
    placed: bool = True
    placed_if_settled: bool = False
    has_lifespans_inside: bool = False
    declared: str | None = None
    paths: NodePaths | None = None


def has_lifespans_inside(tags: TagStructure, slots: Mapping[str, Slot]) -> bool:
    """Whether elements have lifespans that the stream did not give them.

    The stream sets the lifespans of fillers, whatever they came with; but the root has none.
    """
    for tsid, slot in slots.items():
        tag = tags.by_id(tsid)
        is_given = tag is not None and tag.is_fragmented
        for one in walk(slot):
            if one.timed or (has_lifespan(one) and not (one is slot and is_given)):
                return True
    return False


def declared_everywhere(graph: TagGraph, slots: Mapping[str, Slot]) -> str | None:
    """The namespaces in scope at all fillers and holes, as text; None if they differ."""
    texts = {text for slot in slots.values() for text in slot.declared}
    if len(texts) > 1 or any(
        slot.declares and graph.fragmented_below(tsid) for tsid, slot in slots.items()
    ):
        return None
    return next(iter(texts), "")


@dataclass(frozen=True, slots=True)
class Catalog:
    """The streams of a store at one commit."""

    streams: Mapping[str, StreamShape]

    def settled(self, now: datetime) -> frozenset[str]:
        """The streams whose last change is before `now`: any later `now` behaves the same."""
        return frozenset(
            name
            for name, stream in self.streams.items()
            if joint(stream.stabilities.values()).settled < microseconds(now)
        )

    def at(self, now: datetime) -> Catalog:
        """What the compiler needs to know at a `now`: which places are known depends on it."""
        settled = self.settled(now)
        placed = {
            name: replace(stream, placed=True)
            for name, stream in self.streams.items()
            if stream.placed_if_settled and name in settled
        }
        return Catalog({**self.streams, **placed}) if placed else self


@dataclass(frozen=True, slots=True)
class Externals:
    """Values from outside the query: Python values and functions, and DataFrames.

    `values` are external variables with Python scalars and lists; `frames` are those that are
    sequences of `<row>` elements, with the columns' names; `functions` maps the names of registered
    functions to their return types. `context` is the stream whose document is the context item of
    the query.
    """

    values: Mapping[str, object] = field(default_factory=dict)
    frames: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)
    context: str | None = None
