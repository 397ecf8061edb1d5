"""What a store holds, kept in mind from one query to the next, and as the compiler sees it."""

from __future__ import annotations

from pathlib import Path

from xcql.analysis.graph import TagGraph
from xcql.compile.catalog import Catalog, StreamShape
from xcql_runtime.store.commit import newest_commit, read_state
from xcql_runtime.store.state import State, Stream


class StoreReader:
    """Reads what a store holds, and reads it again only when there is a new commit."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._read: tuple[State, Catalog] | None = None

    def read(self) -> tuple[State, Catalog]:
        """The state of the store, and what the compiler needs to know of it."""
        if self._read is None or self._read[0].number != newest_commit(self._store):
            state = read_state(self._store)
            self._read = state, catalog_of(state)
        return self._read


def catalog_of(state: State) -> Catalog:
    """What the compiler needs to know of a store."""
    return Catalog({name: _shape(stream) for name, stream in state.streams.items()})


def _shape(stream: Stream) -> StreamShape:
    tables = stream.tables
    return StreamShape(
        stream.name,
        stream.tags,
        TagGraph(stream.tags),
        {tsid: table.shape for tsid, table in tables.items()},
        {tsid: table.rows for tsid, table in tables.items()},
        {tsid: table.depths for tsid, table in tables.items()},
        {tsid: table.standing for tsid, table in tables.items()},
        stream.placed,
    )
