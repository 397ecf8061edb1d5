"""The contents of a store, cached between queries, and as the compiler sees them.

Tests: tests/runtime/test_session.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from xcql.analysis.graph import TagGraph
from xcql.compile.catalog import Catalog, StreamShape, declared_everywhere, has_lifespans_inside
from xcql.compile.node_paths import NodePaths
from xcql.compile.result import TableUse
from xcql.store.commit import read_state, stamp_of
from xcql.store.state import DataFile, StoreState, Stream, Table


@dataclass(frozen=True, slots=True)
class PinnedStore:
    """A store at one commit: its folder, its contents, and its catalog for the compiler."""

    folder: Path
    state: StoreState = field(default_factory=StoreState)
    catalog: Catalog = field(default_factory=lambda: Catalog({}))


class StoreReader:
    """Reads the newest commit of a store, and reads it again only after a new commit."""

    def __init__(self, folder: Path) -> None:
        self._stamp: tuple[int, ...] | None = None
        self._read = PinnedStore(folder)

    def read(self) -> PinnedStore:
        folder = self._read.folder
        stamp = stamp_of(folder)
        if self._stamp != stamp:
            state = read_state(folder)
            self._stamp, self._read = stamp, PinnedStore(folder, state, catalog_of(state))
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
        stream.placed_if_settled,
        has_lifespans_inside(stream.tags, slots),
        declared_everywhere(graph, slots),
        _paths(stream),
    )


def _paths(stream: Stream) -> NodePaths | None:
    """The paths of the stream's nodes; None if nodes of some files are not in the store."""
    found = {tsid: table.paths for tsid, table in stream.tables.items()}
    known = {tsid: paths for tsid, paths in found.items() if paths is not None}
    return NodePaths(stream.tags, known) if len(known) == len(found) else None


def files_in_use(table: Table | None, use: TableUse) -> list[DataFile]:
    """The files of a tag's table that a query needs: those with rows, or those with nodes."""
    files = [file for file in table.files if not use.present or file.present != 0] if table else []
    if not use.nodes:
        return files
    nodes = [file.nodes for file in files if file.nodes is not None]
    assert len(nodes) == len(files), "the compiler knows which tables have nodes"
    return nodes
