"""Upkeep of a store: what it holds, whether it is sound, fewer files, no leftovers."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from xcql.diagnostics import error
from xcql.shred.tables import QUARANTINE, REMOVES, table_schema
from xcql_runtime.store.commit import (
    forget_old_commits,
    read_state,
    sync_files,
    write_state,
    writing,
)
from xcql_runtime.store.rows import (
    DerivedRows,
    StreamRows,
    derive_rows,
    stored_removes,
    stored_rows,
    stream_rows,
)
from xcql_runtime.store.state import DataFile, State, Stream, renumbered
from xcql_runtime.store.write import Job, TablesToBe, new_path, plan_tables, write_tables
from xcql_runtime.workers import Run, run_here


@dataclass(frozen=True, slots=True)
class TableInfo:
    """What `store info` tells of one table."""

    tsid: str
    path: str
    kind: str
    rows: int
    files: int
    bytes: int
    max_places: int


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """What `store info` tells of one stream."""

    name: str
    batches: int
    quarantined: int
    tables: tuple[TableInfo, ...]


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """What a store holds; prints as a table."""

    commit: int
    streams: tuple[StreamInfo, ...]

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
        return "\n".join(lines)


def _counted(count: int, one: str, many: str = "") -> str:
    """A number of things in words."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def info(store: Path) -> StoreInfo:
    """The streams of a store and their tables."""
    state = _state_of(store)
    found = []
    for stream in state.streams.values():
        tables = []
        for tsid, table in stream.tables.items():
            tag = stream.tags.by_id(tsid)
            assert tag is not None
            size = sum(file.bytes for file in table.files)
            path = stream.tags.path_of(tag)
            tables.append(
                TableInfo(
                    tsid,
                    path,
                    tag.kind,
                    table.rows,
                    len(table.files),
                    size,
                    table.standing.max_places,
                )
            )
        quarantined = sum(file.rows for file in stream.quarantine)
        found.append(StreamInfo(stream.name, stream.batches, quarantined, tuple(tables)))
    return StoreInfo(state.number, tuple(found))


def verify(store: Path) -> list[str]:
    """What is wrong with a store, one sentence each; an empty list says that it is sound.

    Every file is there and whole, and all that is derived is what the fragments say.
    """
    problems = []
    for stream in _state_of(store).streams.values():
        broken = list(_broken_files(store, stream))
        problems += broken
        if not broken:
            rows = _all_rows(store, stream)
            derived_rows = DerivedRows(rows, derive_rows(rows))
            problems += [
                f"{part.source.rows}: its versions and places are not what the fragments say"
                for number, part in enumerate(rows.parts)
                if not derived_rows.is_unchanged(number)
            ]
    return problems


def compact(store: Path, run: Run = run_here, cores: int = 1) -> int:
    """Write every table anew into few files; the number of files that went."""
    _state_of(store)
    with writing(store):
        state = read_state(store)
        before = sum(1 for stream in state.streams.values() for _ in stream.files())
        folder = store / "staging" / uuid.uuid4().hex
        new_streams = {}
        try:
            for number, stream in enumerate(state.streams.values()):
                job = Job(store, folder / str(number), run, cores)
                job.folder.mkdir(parents=True)
                new_streams[stream.name] = _compacted(job, stream)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        after = replace(renumbered(state), streams=new_streams)
        old = {file for stream in state.streams.values() for file in stream.files()}
        new = {file for stream in new_streams.values() for file in stream.files()}
        if new != old:
            sync_files(store / file.path for file in new - old)
            write_state(store, after)
        return before - len(new)


def vacuum(store: Path) -> int:
    """Remove what is no part of the store's newest commit; the number of files that went.

    A query that was planned over an older commit may then find its files gone.
    """
    _state_of(store)
    with writing(store):
        state = read_state(store)
        kept = {file.path for stream in state.streams.values() for file in stream.files()}
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


def _state_of(store: Path) -> State:
    if not (store / "lock").is_file():
        raise error("XCQL0313", f"there is no store '{store}'")
    return read_state(store)


def _compacted(job: Job, stream: Stream) -> Stream:
    return replace(
        stream,
        tables=write_tables(job, _few_files(job, stream)),
        removes=_joined(job, stream, "removes", stream.removes, REMOVES),
        quarantine=_joined(job, stream, "quarantine", stream.quarantine, QUARANTINE),
    )


def _few_files(job: Job, stream: Stream) -> TablesToBe:
    rows = _all_rows(job.store, stream)
    scattered = [tsid for tsid, table in stream.tables.items() if len(table.files) > 1]
    nothing = np.zeros(len(rows.arrivals), np.bool_)
    return plan_tables(job, stream, rows, derive_rows(rows), {}, nothing, anew=scattered)


def _joined(
    job: Job, stream: Stream, folder: str, files: Sequence[DataFile], schema: pa.Schema
) -> tuple[DataFile, ...]:
    if len(files) < 2:
        return tuple(files)
    rows = pa.concat_tables(
        pq.read_table(job.store / file.path, partitioning=None).cast(schema) for file in files
    )
    path = new_path(stream, folder)
    pq.write_table(rows, job.store / path, compression="zstd", store_schema=False)
    return (DataFile(path, rows.num_rows, os.path.getsize(job.store / path)),)


def _all_rows(store: Path, stream: Stream) -> StreamRows:
    parts = list(stored_rows(store, stream))
    return stream_rows(stream.tags, parts, stored_removes(store, stream))


def _broken_files(store: Path, stream: Stream) -> Iterator[str]:
    for tsid, table in stream.tables.items():
        for file in table.files:
            yield from _broken(store, file, table_schema(table.shape))
        if stream.tags.by_id(tsid) is None:
            yield f"the stream '{stream.name}' has a table for the unknown tag {tsid}"
    for file in stream.removes:
        yield from _broken(store, file, REMOVES)
    for file in stream.quarantine:
        yield from _broken(store, file, QUARANTINE)


def _broken(store: Path, file: DataFile, schema: pa.Schema) -> Iterator[str]:
    path = store / file.path
    if not path.is_file():
        yield f"{path}: the file is missing"
    elif path.stat().st_size != file.bytes:
        yield f"{path}: it has {path.stat().st_size} bytes, and {file.bytes} were written"
    else:
        try:
            table = pq.read_table(path, partitioning=None)
        except (OSError, pa.ArrowException) as problem:
            yield f"{path}: it cannot be read: {problem}"
            return
        if table.num_rows != file.rows:
            yield f"{path}: it has {table.num_rows} rows, and {file.rows} were written"
        unknown = set(table.column_names) - set(schema.names)
        if unknown:
            yield f"{path}: it has columns that its table has not: {', '.join(sorted(unknown))}"
