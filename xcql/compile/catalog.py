"""What the compiler needs to know of a store and of what the user brings along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xcql.analysis.graph import TagGraph
from xcql.model.tags import TagStructure
from xcql.shred.shape import Slot


@dataclass(frozen=True, slots=True)
class StreamShape:
    """A stream of a store: its tags, and what is known of their tables.

    The mappings are by tsid; a tag without fillers is in none of them. `slots` are the shapes of
    the elements, `rows` the numbers of rows, `depths` the numbers of fillers that a tag's fillers
    stand inside, `max_places` the largest number of places that one of them has. `placed` is
    false where rows have no places, and only hole ids lead to fillers. `graph` is the tags' graph,
    made once for all queries.
    """

    name: str
    tags: TagStructure
    graph: TagGraph
    slots: Mapping[str, Slot]
    rows: Mapping[str, int]
    depths: Mapping[str, tuple[int, ...]]
    max_places: Mapping[str, int]
    placed: bool = True


@dataclass(frozen=True, slots=True)
class Catalog:
    """The streams of a store at one commit."""

    streams: Mapping[str, StreamShape]


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
