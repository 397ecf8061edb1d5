"""Maintenance of a store: show its contents, merge files, remove unused files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from xcql.shred.tables import QUARANTINE, REMOVES
from xcql.store.commit import (
    existing_state,
    forget_old_commits,
    read_state,
    sync_files,
    write_state,
    writing,
)
from xcql.store.processes import Run, run_here
from xcql.store.rows import all_rows, derived_as_stored, read_file
from xcql.store.state import DataFile, StoreState, Stream, renumbered
from xcql.store.write import Job, PlannedTables, plan_tables, working, write_small, write_tables


@dataclass(frozen=True, slots=True)
class TableInfo:
    """The information of `store info` about one table."""

    tsid: str
    path: str
    kind: str
    rows: int
    files: int
    bytes: int
    max_places: int


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """The information of `store info` about one stream."""

    name: str
    batches: int
    quarantined: int
    tables: tuple[TableInfo, ...]


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """The contents of a store; prints as a table."""

    commit: int
    streams: tuple[StreamInfo, ...]
    # files written by an earlier version, in which damage may go unnoticed
    without_checksums: int = 0

    def __str__(self) -> str:
        lines = [f"commit {self.commit}, {_counted(len(self.streams), 'stream')}"]
        for stream in self.streams:
            batches = _counted(stream.batches, "batch", "batches")
            lines.append(f"stream '{stream.name}': {batches}, {stream.quarantined:,} quarantined")
            lines += [
                f"  {table.path}  {table.kind}, tsid {table.tsid}: {_counted(table.rows, 'row')},"
                f" {_counted(table.files, 'file')}, {_counted(table.bytes, 'byte')}"
                for table in stream.tables
            ]
        if self.without_checksums:
            files = _counted(self.without_checksums, "file")
            lines.append(f"{files} without checksums, written by an earlier version")
        return "\n".join(lines)


def _counted(count: int, one: str, many: str = "") -> str:
    """A count with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def info(store: Path) -> StoreInfo:
    """The streams of a store and their tables."""
    state = existing_state(store)
    found = []
    for stream in state.streams.values():
        tables = []
        for tsid, table in stream.tables.items():
            tag = stream.tags.by_id(tsid)
            assert tag is not None
            path, places = stream.tags.path_of(tag), table.stability.max_places
            size = sum(file.bytes + (file.nodes.bytes if file.nodes else 0) for file in table.files)
            counts = table.rows, len(table.files), size
            tables.append(TableInfo(tsid, path, tag.kind, *counts, places))
        quarantined = sum(file.rows for file in stream.quarantine)
        found.append(StreamInfo(stream.name, stream.batches, quarantined, tuple(tables)))
    unchecked = sum(file.checksums is None for file in state.files())
    return StoreInfo(state.number, tuple(found), unchecked)


def compact(store: Path, run: Run = run_here, cores: int = 1) -> int:
    """Rewrite every table into few files, with checksums and nodes.

    Return how many files fewer there are, not counting those with nodes.
    """
    existing_state(store)
    with writing(store):
        state = read_state(store)
        new_streams = {}
        for name, stream in state.streams.items():
            with working(store, run, cores) as job:
                new_streams[name] = _compacted(job, stream)
        after = replace(renumbered(state), streams=new_streams)
        old, new = set(state.files()), set(after.files())
        if new != old:
            sync_files(store / file.path for file in new - old)
            write_state(store, after)
        return _count(state) - _count(after)


def _count(state: StoreState) -> int:
    """The number of files, except those with nodes."""
    files = list(state.files())
    return len(files) - sum(file.nodes is not None for file in files)


def vacuum(store: Path) -> int:
    """Remove everything that is not part of the newest commit; return the number of removed files.

    A query that was planned on an older commit may then fail to find its files.
    """
    existing_state(store)
    with writing(store):
        state = read_state(store)
        kept = {file.path for file in state.files()}
        removed = 0
        for folder in ("data", "staging"):
            for path in sorted((store / folder).rglob("*"), reverse=True):
                if path.is_dir():
                    if not any(path.iterdir()):
                        path.rmdir()
                elif str(path.relative_to(store)) not in kept:
                    path.unlink()
                    removed += 1
        forget_old_commits(store, state.number)
        return removed


def _compacted(job: Job, stream: Stream) -> Stream:
    return replace(
        stream,
        tables=write_tables(job, _few_files(job, stream)),
        removes=_joined(job, stream, "removes", stream.removes, REMOVES),
        quarantine=_joined(job, stream, "quarantine", stream.quarantine, QUARANTINE),
    )


def _few_files(job: Job, stream: Stream) -> PlannedTables:
    rows = all_rows(job.store, stream)
    scattered = [
        tsid
        for tsid, table in stream.tables.items()
        if not _is_compact(table.files) or table.paths is None
    ]
    nothing = np.zeros(len(rows.arrivals), np.bool_)
    return plan_tables(
        job, stream, rows, derived_as_stored(rows, stream), {}, nothing, anew=scattered
    )


def _joined(
    job: Job, stream: Stream, folder: str, files: Sequence[DataFile], schema: pa.Schema
) -> tuple[DataFile, ...]:
    if _is_compact(files):
        return tuple(files)
    rows = pa.concat_tables(read_file(job.store, file).cast(schema) for file in files)
    return write_small(job, stream, folder, rows)


def _is_compact(files: Sequence[DataFile]) -> bool:
    """Whether files can stay as they are: there is at most one, and it has checksums."""
    return len(files) < 2 and all(file.checksums for file in files)
