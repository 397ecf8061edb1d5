"""The contents of a store, cached between queries, and as the compiler sees them."""

from __future__ import annotations

from pathlib import Path

from xcql.analysis.graph import TagGraph
from xcql.compile.catalog import Catalog, StreamShape, declared_everywhere, has_lifespans_inside
from xcql.store.commit import read_state, stamp_of
from xcql.store.state import StoreState, Stream


class StoreReader:
    """Reads the state of a store, and reads it again only after a new commit."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._stamp: tuple[int, ...] | None = None
        self._read: tuple[StoreState, Catalog] = StoreState(), Catalog({})

    def read(self) -> tuple[StoreState, Catalog]:
        """The state of the store, and its catalog for the compiler."""
        stamp = stamp_of(self._store)
        if self._stamp != stamp:
            state = read_state(self._store)
            self._stamp, self._read = stamp, (state, catalog_of(state))
        return self._read


def catalog_of(state: StoreState) -> Catalog:
    """What the compiler needs to know about a store."""
    return Catalog({name: _shape(stream) for name, stream in state.streams.items()})


def _shape(stream: Stream) -> StreamShape:
    tables = stream.tables
    slots = {tsid: table.shape for tsid, table in tables.items()}
    graph = TagGraph(stream.tags)
    return StreamShape(
        stream.name,
        stream.tags,
        graph,
        slots,
        {tsid: table.rows for tsid, table in tables.items()},
        {tsid: sum(file.bytes for file in table.files) for tsid, table in tables.items()},
        {tsid: table.depths for tsid, table in tables.items()},
        {tsid: table.stability for tsid, table in tables.items()},
        stream.placed,
        has_lifespans_inside(stream.tags, slots),
        declared_everywhere(graph, slots),
    )
