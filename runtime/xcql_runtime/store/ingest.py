"""Ingest: fragment files in, one more commit out, or nothing at all.

First pass, in parallel: chunks of the files are checked and shredded, and put down beside the
store. Then, here: arrival order, repetitions, versions, lifespans and places, of metadata only.
Second pass, in parallel: Parquet files, the new rows' and those in which an old row has changed.
Last: the commit.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from xcql.diagnostics import Diagnostic, XcqlError, error, warning
from xcql.model.tags import TagStructure
from xcql.shred.derive import Derived, Row, derive, null_if_start
from xcql.shred.shape import Slot, widen
from xcql.shred.staging import Chunk, StagedChunk, plan_chunks, plan_with_care, stage_chunk
from xcql.shred.tables import QUARANTINE, REMOVES, read_staged, write_rows
from xcql_runtime.store.commit import read_state, sync_files, write_state, writing
from xcql_runtime.store.inputs import Input, content_digest, find_files, make_ready
from xcql_runtime.store.rows import (
    SourceRows,
    canonical_bodies,
    remove_row,
    staged_rows,
    stored_removes,
    stored_rows,
)
from xcql_runtime.store.state import DataFile, State, Stream
from xcql_runtime.store.write import WORTH_A_JOB, Job, new_path, write_tables
from xcql_runtime.workers import Run, run_here

# chunks are cut so that every core gets some, within these bounds
_SMALLEST_CHUNK, _LARGEST_CHUNK = 1 << 20, 8 << 20


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """What an ingest did; `commit` is None if there was nothing new."""

    stream: str
    commit: int | None
    accepted: dict[str, int] = field(default_factory=dict)
    repetitions: int = 0
    quarantined: dict[str, int] = field(default_factory=dict)
    skipped_files: tuple[str, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()

    def __str__(self) -> str:
        parts = [f"{count} {operation}" for operation, count in self.accepted.items()]
        text = f"stream '{self.stream}': " + (", ".join(parts) or "nothing new")
        if self.repetitions:
            text += f", {self.repetitions} of them repetitions"
        if self.commit is not None:
            text += f"; commit {self.commit}"
        lines = [text]
        lines += [f"quarantined: {count} ({reason})" for reason, count in self.quarantined.items()]
        lines += [f"skipped, ingested before: {file}" for file in self.skipped_files]
        return "\n".join(lines)


def ingest(
    store: Path,
    paths: str | Path | Iterable[str | Path],
    stream_name: str,
    tags: TagStructure | None,
    run: Run,
    cores: int,
    strict: bool = False,
) -> IngestSummary:
    """Add the fragments of files to a stream of the store, which is made if there is none."""
    files = find_files(paths)
    with writing(store):
        state = read_state(store)
        stream = _stream_for(state, stream_name, tags)
        folder = store / "staging" / uuid.uuid4().hex
        folder.mkdir(parents=True)
        try:
            return _ingest(Job(store, folder, run, cores), state, stream, files, strict)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _stream_for(state: State, name: str, tags: TagStructure | None) -> Stream:
    stream = state.streams.get(name)
    if stream is None:
        if tags is None:
            raise error(
                "XCQL0315",
                f"the stream '{name}' is new, and has no tag structure",
                hints=["give its tag structure: --tags TAGS.xml"],
            )
        return Stream(name, tags)
    if tags is not None and tags != stream.tags:
        raise error(
            "XCQL0315",
            f"the stream '{name}' has another tag structure than the one given",
            hints=["use the one it began with, or another name for the stream"],
        )
    return stream


def _ingest(
    job: Job, state: State, stream: Stream, files: Sequence[Path], strict: bool
) -> IngestSummary:
    inputs: list[Input] = []
    rejected: list[dict[str, Any]] = []
    known = set(stream.contents)
    skipped = []
    for file in files:
        digest = content_digest(file)
        if digest in known:
            skipped.append(str(file))
            continue
        known.add(digest)
        try:
            inputs.append(make_ready(file, digest, job.folder))
        except XcqlError as problem:
            if problem.code != "FODC0006":
                raise
            rejected.append(_rejection(str(file), 0, f"malformed: {problem.message}", b""))
    if known == stream.contents:
        return IngestSummary(stream.name, None, skipped_files=tuple(skipped))

    batch = _first_pass(job, stream, inputs)
    rejected += batch.rejected
    stored = list(stored_rows(job.store, stream))
    sources = [*stored, *batch.sources]
    rows = {row.seq: row for source in sources for row in source.rows if row is not None}
    rows |= {row.seq: row for row in stored_removes(job.store, stream)}
    rows |= {row.seq: row for row in batch.removes}
    in_order = [rows[seq] for seq in sorted(rows)]
    derived = derive(stream.tags, in_order, canonical_bodies(sources))
    rejected += _clashes(batch, derived)
    removes = [row for row in batch.removes if row.seq not in derived.clashes]
    rejected += _cycles(batch, derived)
    if strict and rejected:
        raise _strict_error(rejected)
    for source in batch.sources:
        source.rows[:] = [
            None
            if row is None or row.seq in derived.clashes or row.seq in derived.repetitions
            else row
            for row in source.rows
        ]

    tables = write_tables(job, stream, stored, batch.sources, batch.shapes, derived)
    after = replace(
        stream,
        tables=tables,
        removes=stream.removes + _write_removes(job, stream, removes),
        quarantine=stream.quarantine
        + _write_small(job, stream, "quarantine", QUARANTINE, rejected),
        contents=frozenset(known),
        batches=stream.batches + 1,
        placed=derived.placement.complete,
    )
    new_files = set(after.files()) - set(stream.files())
    sync_files(job.store / file.path for file in new_files)
    new_state = state.with_stream(after)
    write_state(job.store, new_state)

    new_rows = [row for source in batch.sources for row in source.rows if row is not None]
    fresh = {seq for seq in derived.repetitions if seq >= batch.first_seq}
    accepted = Counter(row.operation for row in [*new_rows, *removes])
    accepted += Counter(rows[seq].operation for seq in fresh if rows[seq].operation != "remove")
    warnings = list(batch.warnings)
    if not derived.placement.complete:
        warnings.append(_too_many_places(stream))
    return IngestSummary(
        stream.name,
        new_state.number,
        dict(sorted(accepted.items())),
        len(fresh),
        dict(sorted(Counter(one["reason"].partition(":")[0] for one in rejected).items())),
        tuple(skipped),
        tuple(warnings),
    )


@dataclass(frozen=True, slots=True)
class _Batch:
    """What the first pass found; `places` says where a row stands: file and offset."""

    first_seq: int
    sources: list[SourceRows]
    removes: list[Row]
    rejected: list[dict[str, Any]]
    warnings: list[Diagnostic]
    shapes: dict[str, Slot]
    places: dict[int, tuple[str, int]]


def _stage(piece: tuple[Chunk, TagStructure, str]) -> StagedChunk | None:
    chunk, structure, folder = piece
    # Spark may try a piece again, or twice at once
    return stage_chunk(chunk, structure, Path(folder) / uuid.uuid4().hex)


def _first_pass(job: Job, stream: Stream, inputs: Sequence[Input]) -> _Batch:
    total = sum(one.bytes for one in inputs)
    size = min(max(total // (2 * job.cores), _SMALLEST_CHUNK), _LARGEST_CHUNK)
    chunks: list[Chunk] = []
    rejected: list[dict[str, Any]] = []
    for one in inputs:
        found, refused = plan_chunks(one.path, one.name, one.mark, size)
        chunks += found
        rejected += [
            _rejection(bad.file, bad.offset, f"{bad.kind}: {bad.reason}", bad.raw)
            for bad in refused
        ]
    staged: list[tuple[Chunk, StagedChunk]] = []
    run = job.run if total > WORTH_A_JOB else run_here
    while chunks:
        pieces = [(chunk, stream.tags, str(job.folder)) for chunk in chunks]
        results: list[StagedChunk | None] = run(_stage, pieces)
        again: dict[str, Chunk] = {}
        for chunk, result in zip(chunks, results, strict=True):
            if result is None:
                again.setdefault(chunk.file, chunk)
            elif chunk.file not in again:
                staged.append((chunk, result))
        chunks = [one for rest in again.values() for one in plan_with_care(rest, size)]

    ends: dict[str, int] = {}
    ignored: Counter[str] = Counter()
    for chunk, found_in in staged:
        if found_in.eos is not None and chunk.file not in ends:
            ends[chunk.file] = found_in.eos
            ignored[chunk.file] = found_in.ignored

    def counts(file: str, offset: int) -> bool:
        if file in ends and offset > ends[file]:
            ignored[file] += 1
            return False
        return True

    # every fragment by where it stands: (file's number, offset), which is the order of arrival
    order = {one.name: number for number, one in enumerate(inputs)}
    found_rows: list[tuple[int, int, int, Any]] = []
    sources: list[SourceRows] = []
    shapes: dict[str, Slot] = {}
    for chunk, found_in in staged:
        number = order[chunk.file]
        for table in found_in.tables:
            source = table.source
            found_here = staged_rows(table.tsid, source)
            rows: list[Row | None] = [None] * len(found_here)
            size = os.path.getsize(source.rows)
            sources.append(SourceRows(table.tsid, source, rows, None, None, size))
            shapes[table.tsid] = widen(shapes.get(table.tsid), source.shape)
            found_rows += [
                (number, offset, index, (rows, row))
                for index, (offset, row) in enumerate(found_here)
                if counts(chunk.file, offset)
            ]
        for index, row in enumerate(read_staged(found_in.removes).to_pylist()):
            if counts(chunk.file, row["offset"]):
                found_rows.append((number, row["offset"], index, row))
        rejected += [
            row
            for row in read_staged(found_in.rejected).to_pylist()
            if counts(row["file"], row["offset"])
        ]
    found_rows.sort(key=lambda found: found[:2])

    first_seq = (stream.batches + 1) << 40
    removes = []
    places = {}
    for seq, (number, offset, index, found) in enumerate(found_rows, first_seq):
        places[seq] = inputs[number].name, offset
        if isinstance(found, dict):
            removes.append(remove_row(seq, found))
        else:
            rows, row = found
            rows[index] = row._replace(seq=seq)
    warnings = [
        warning(
            "XCQL0301",
            f"what follows <eos/> at byte {ends[file]} of '{file}' is ignored ({count} fragments)",
            hints=["put what comes after the end of a stream into another file"],
        )
        for file, count in ignored.items()
        if count
    ]
    return _Batch(first_seq, sources, removes, rejected, warnings, shapes, places)


def _clashes(batch: _Batch, derived: Derived) -> list[dict[str, Any]]:
    """The new rows whose id belongs to another tag, as rejections."""
    result = []
    for source in batch.sources:
        for index, row in enumerate(source.rows):
            if row is not None and row.seq in derived.clashes:
                raw = read_staged(source.source.rows).column("raw")[index].as_py()
                result.append(_clash(batch, derived, row, raw))
    result += [_clash(batch, derived, row) for row in batch.removes if row.seq in derived.clashes]
    return result


def _clash(batch: _Batch, derived: Derived, row: Row, raw: bytes = b"") -> dict[str, Any]:
    reason = (
        f"tag conflict: the id '{row.filler}' belongs to tag {derived.clashes[row.seq]}, and this"
        f" {row.operation} is of tag {row.tsid}"
    )
    return _rejection(*batch.places[row.seq], reason, raw)


def _cycles(batch: _Batch, derived: Derived) -> list[dict[str, Any]]:
    """The new rows with a hole that leads back into them; they are kept, and the hole is empty."""
    result = []
    if derived.placement.cycles:
        for source in batch.sources:
            for row in source.rows:
                if row is None:
                    continue
                for hole in row.holes:
                    if (row.filler, hole.id) in derived.placement.cycles:
                        reason = (
                            f"cycle: the hole {hole.id} in filler {row.filler} names a filler that"
                            " it stands inside; the filler is kept, and the hole is empty"
                        )
                        result.append(_rejection(*batch.places[row.seq], reason, b""))
    return result


def _rejection(file: str, offset: int, reason: str, raw: bytes) -> dict[str, Any]:
    return {"file": file, "offset": offset, "reason": reason, "raw": raw}


def _strict_error(rejected: Sequence[dict[str, Any]]) -> XcqlError:
    first = min(rejected, key=lambda one: (one["file"], one["offset"]))
    kinds = Counter(one["reason"].partition(":")[0] for one in rejected)
    return error(
        "XCQL0317",
        f"{len(rejected)} fragments are not accepted, and the store is left as it was",
        notes=[
            f"the first, at byte {first['offset']} of '{first['file']}': {first['reason']}",
            "in all: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())),
        ],
        hints=["without --strict they are put aside in quarantine, and the rest is ingested"],
    )


def _too_many_places(stream: Stream) -> Diagnostic:
    return warning(
        "XCQL0318",
        f"the view of '{stream.name}' has so many copies of fillers that they are not counted out",
        hints=["look for holes that many versions share; queries go from hole to hole instead"],
    )


def _write_removes(job: Job, stream: Stream, removes: Sequence[Row]) -> tuple[DataFile, ...]:
    rows = [
        {
            "filler": row.filler,
            "seq": row.seq,
            "tsid": row.tsid,
            "isTimed": row.valid_time is not None,
            "validTime": null_if_start(row.valid_time) if row.valid_time is not None else None,
        }
        for row in removes
    ]
    return _write_small(job, stream, "removes", REMOVES, rows)


def _write_small(
    job: Job, stream: Stream, folder: str, schema: pa.Schema, rows: Sequence[dict[str, Any]]
) -> tuple[DataFile, ...]:
    if not rows:
        return ()
    path = new_path(stream, folder)
    write_rows(schema, rows, job.store / path)
    return (DataFile(path, len(rows), (job.store / path).stat().st_size),)
