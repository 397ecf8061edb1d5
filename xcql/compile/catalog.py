"""What the compiler needs to know of a store and of what the user brings along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from xcql.analysis.graph import TagGraph
from xcql.history.arrivals import microseconds
from xcql.history.standing import Standing, joint
from xcql.model.tags import TagStructure
from xcql.shred.shape import Slot, has_lifespan, walk


@dataclass(frozen=True, slots=True)
class StreamShape:
    """A stream of a store: its tags, and what is known of their tables.

    The mappings are by tsid; a tag without fillers is in none of them. `slots` are the shapes of
    the elements, `rows` the numbers of rows, `sizes` those of bytes in files, `depths` the numbers
    of fillers that a tag's fillers stand inside, `standings` how their rows stand to `now`.
    `placed` is false where rows have no places, and only hole ids lead to fillers.
    `has_lifespans_inside` says that elements which are no fillers' own came with lifespans.
    `declared` are the namespaces in scope at all fillers and holes, as text, or None if they
    differ. `graph` is the tags' graph, made once for all queries.
    """

    name: str
    tags: TagStructure
    graph: TagGraph
    slots: Mapping[str, Slot]
    rows: Mapping[str, int]
    sizes: Mapping[str, int]
    depths: Mapping[str, tuple[int, ...]]
    standings: Mapping[str, Standing]
    placed: bool = True
    has_lifespans_inside: bool = False
    declared: str | None = None


def has_lifespans_inside(tags: TagStructure, slots: Mapping[str, Slot]) -> bool:
    """Whether elements have lifespans that the stream has not given them.

    Those of fillers are the stream's own, whatever they came with; but the root has none.
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
        """The streams whose last change is before `now`: for them, all later values are alike."""
        return frozenset(
            name
            for name, stream in self.streams.items()
            if joint(stream.standings.values()).settled < microseconds(now)
        )


@dataclass(frozen=True, slots=True)
class Externals:
    """What comes from outside the query: values and functions of Python's, and DataFrames.

    `values` are external variables with Python scalars and lists; `frames` are those that are
    sequences of `<row>` elements, with the columns' names; `functions` map the names of registered
    functions to the types that they return. `context` is the stream whose document is the context
    item of the query.
    """

    values: Mapping[str, object] = field(default_factory=dict)
    frames: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)
    context: str | None = None
