"""The state of a store at one commit: an immutable value, and its JSON form.

    DIR/commits/000000000007.json   the state after the seventh commit; the newest one counts
    DIR/copies/000000000007.json    a copy, in case the commit is damaged or lost
    DIR/data/STREAM/TSID/*.parquet  the fillers with that tsid (see `xcql.shred.columns`), and for
                                    each file FILE.nodes.parquet with its nodes
    DIR/data/STREAM/removes/        `<remove>`s, which have no element
    DIR/data/STREAM/quarantine/     rejected input, with the reason
    DIR/data/STREAM/imported/       what an import needs to continue
    DIR/staging/                    work in progress; readers ignore it
    DIR/damaged/                    what a repair moved out of the store
    DIR/lock                        held by the only writer

Files are never changed, only added. Files that the newest commit does not list are not part of
the store, and `vacuum` removes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from urllib.parse import quote

from xcql.diagnostics import error
from xcql.history.stability import Stability
from xcql.model.tags import TagStructure, parse_tags, tags_to_xml
from xcql.shred.checksums import Checksums
from xcql.shred.shape import Slot, slot_from_json, slot_to_json

# 2: commits and data files have checksums
# 3: data files have companions with their nodes
FORMAT = 3


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of the store; its path is relative to the store's folder.

    `present` is the number of rows that have not ended, None if unknown. A file written by an
    earlier version has no checksums. `nodes` is the file with the nodes of its rows
    (`xcql.shred.nodes`): only files of tables have one, and none that an earlier version wrote.
    """

    path: str
    rows: int
    bytes: int
    present: int | None = None
    checksums: Checksums | None = None
    nodes: DataFile | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """The fillers with one tsid: the shape of their elements, and the files with their rows.

    `stability` describes how the rows depend on `now`; `depths` are the nesting depths of the
    places of its fillers, counted in fillers. `paths` has the paths of all nodes in its files, and
    whether every node on a path has its value there; None if some file has no nodes. Like the
    shape, it only widens, until all files are rewritten.
    """

    shape: Slot
    files: tuple[DataFile, ...]
    stability: Stability = field(default_factory=Stability)
    depths: tuple[int, ...] = ()
    paths: Mapping[str, bool] | None = None

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream of a store.

    `placed` is false if the view has too many places to store them: then no row has places, and
    fillers can be reached only by looking up hole ids. With `placed_if_settled`, rows have the
    places that count after the last change. `imported` is what `xcqlc import` needs to continue.
    """

    name: str
    tags: TagStructure
    tables: Mapping[str, Table] = field(default_factory=dict)
    removes: tuple[DataFile, ...] = ()
    quarantine: tuple[DataFile, ...] = ()
    contents: frozenset[str] = frozenset()
    batches: int = 0
    placed: bool = True
    placed_if_settled: bool = False
    imported: tuple[DataFile, ...] = ()

    @property
    def folder(self) -> str:
        return f"data/{folder_name(self.name)}"

    def files(self) -> Iterator[DataFile]:
        for table in self.tables.values():
            for file in table.files:
                yield file
                if file.nodes is not None:
                    yield file.nodes
        yield from self.removes
        yield from self.quarantine
        yield from self.imported


@dataclass(frozen=True, slots=True)
class StoreState:
    """The contents of a store; `number` is the number of its commit, 0 before the first."""

    number: int = 0
    streams: Mapping[str, Stream] = field(default_factory=dict)

    def stream(self, name: str) -> Stream:
        """The stream with that name, or an error that lists the existing ones."""
        if name not in self.streams:
            known = ", ".join(sorted(self.streams)) or "none yet"
            raise error(
                "XCQL0311",
                f"the store has no stream '{name}'",
                notes=[f"its streams: {known}"],
                hints=["ingest fragments first: xcqlc ingest FRAGMENTS --tags TAGS --stream NAME"],
            )
        return self.streams[name]

    def files(self) -> Iterator[DataFile]:
        """The files of all streams."""
        for stream in self.streams.values():
            yield from stream.files()

    def with_stream(self, stream: Stream) -> StoreState:
        return StoreState(self.number + 1, {**self.streams, stream.name: stream})


def folder_name(name: str) -> str:
    """A name as the name of a folder, whatever characters it has."""
    return quote(name, safe="").replace(".", "%2E") or "%"


def state_to_json(state: StoreState) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "number": state.number,
        "streams": [_stream_to_json(stream) for stream in state.streams.values()],
    }


def state_from_json(data: dict[str, Any]) -> StoreState:
    streams = [_stream_from_json(stream) for stream in data["streams"]]
    return StoreState(data["number"], {stream.name: stream for stream in streams})


def _stream_to_json(stream: Stream) -> dict[str, Any]:
    return {
        "name": stream.name,
        "tags": tags_to_xml(stream.tags),
        "tables": {
            tsid: {
                "shape": slot_to_json(table.shape),
                "files": [asdict(file) for file in table.files],
                "standing": asdict(table.stability),
                "depths": table.depths,
                "paths": None if table.paths is None else dict(table.paths),
            }
            for tsid, table in stream.tables.items()
        },
        "removes": [asdict(file) for file in stream.removes],
        "quarantine": [asdict(file) for file in stream.quarantine],
        "contents": sorted(stream.contents),
        "batches": stream.batches,
        "placed": stream.placed,
        "placed_if_settled": stream.placed_if_settled,
        "imported": [asdict(file) for file in stream.imported],
    }


def _stream_from_json(data: dict[str, Any]) -> Stream:
    tables = {
        tsid: Table(
            slot_from_json(table["shape"]),
            _files(table["files"]),
            # commits of earlier versions have only `max_places`
            Stability(**table.get("standing", {"max_places": table.get("max_places", 0)})),
            tuple(table["depths"]),
            # commits of earlier versions have none
            table.get("paths"),
        )
        for tsid, table in data["tables"].items()
    }
    return Stream(
        data["name"],
        parse_tags(data["tags"], "<store>"),
        tables,
        _files(data["removes"]),
        _files(data["quarantine"]),
        frozenset(data["contents"]),
        data["batches"],
        data["placed"],
        # commits of earlier versions do not say
        data.get("placed_if_settled", False),
        _files(data.get("imported", [])),
    )


def _files(data: list[dict[str, Any]]) -> tuple[DataFile, ...]:
    return tuple(map(_file, data))


def _file(data: dict[str, Any]) -> DataFile:
    # commits of earlier versions have neither checksums nor nodes
    sums, nodes = data.get("checksums"), data.get("nodes")
    return DataFile(
        **{
            **data,
            "checksums": Checksums(**sums) if sums else None,
            "nodes": _file(nodes) if nodes else None,
        }
    )


def renumbered(state: StoreState) -> StoreState:
    """The same content as the next commit."""
    return replace(state, number=state.number + 1)
