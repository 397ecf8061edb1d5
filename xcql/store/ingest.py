"""Ingest: adds fragment files to a store in one commit, or changes nothing.

First pass, in parallel: chunks of the files are checked, shredded and written beside the store.
Then, in this process: arrival order, repetitions, versions, lifespans and places, from metadata
only. Second pass, in parallel: the Parquet files for new rows, and those in which an old row has
changed. Last: the commit.
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

import numpy as np
import pyarrow as pa

from xcql.arrays import Flags, Ints, column_of, numbers_of, taken
from xcql.diagnostics import Diagnostic, XcqlError, error, warning
from xcql.history.arrivals import FOREVER, OPERATIONS
from xcql.history.vectorised import Derived
from xcql.model.tags import TagStructure
from xcql.shred.shape import Slot, widen
from xcql.shred.staging import (
    STAGED_REMOVES,
    Chunk,
    StagedChunk,
    plan_chunks,
    plan_exact_chunks,
    stage_chunk,
)
from xcql.shred.tables import QUARANTINE, REMOVES, read_staged
from xcql.store.commit import read_state, sync_files, write_state, writing
from xcql.store.input_files import Input, content_digest, find_files, prepared_input
from xcql.store.processes import Run, run_here
from xcql.store.rows import (
    LIGHT,
    RowPart,
    StreamRows,
    derive_rows,
    stored_removes,
    stored_rows,
    stream_rows,
)
from xcql.store.state import StoreState, Stream
from xcql.store.write import (
    WORTH_A_JOB,
    Job,
    PlannedTables,
    plan_tables,
    working,
    write_small,
    write_tables,
)

# chunks are cut so that every core gets some, within these limits
_SMALLEST_CHUNK, _LARGEST_CHUNK = 1 << 20, 8 << 20


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """The result of an ingest; `commit` is None if there was nothing new."""

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
    """Add the fragments of files to a stream of the store, which is created if missing."""
    files = find_files(paths)
    with writing(store):
        state = read_state(store)
        stream = _stream_for(state, stream_name, tags)
        # this is the only writer: anything in there was left by a process that was killed
        shutil.rmtree(store / "staging", ignore_errors=True)
        with working(store, run, cores) as job:
            return _ingest(job, state, stream, files, strict)


def add_imported(
    store: Path,
    file: Path,
    stream_name: str,
    tags: TagStructure,
    imported: pa.Table,
    run: Run,
    cores: int,
) -> IngestSummary:
    """Add the fragments of an import, and what the next one needs to continue, in one commit.

    The tags may have more tags than those of the stream. The caller is the store's only writer.
    """
    state = read_state(store)
    stream = replace(state.streams.get(stream_name, Stream(stream_name, tags)), tags=tags)
    with working(store, run, cores) as job:
        stream = replace(stream, imported=write_small(job, stream, "imported", imported))
        sync_files(store / one.path for one in stream.imported)
        return _ingest(job, state, stream, [file], strict=True)


def _stream_for(state: StoreState, name: str, tags: TagStructure | None) -> Stream:
    stream = state.streams.get(name)
    if stream is None:
        if tags is None:
            raise error(
                "XCQL0315",
                f"the stream '{name}' is new and has no tag structure",
                hints=["give its tag structure: --tags TAGS.xml"],
            )
        return Stream(name, tags)
    if tags is not None and tags != stream.tags:
        raise error(
            "XCQL0315",
            f"the stream '{name}' has a different tag structure",
            hints=["use its original tag structure, or another stream name"],
        )
    return stream


def _ingest(
    job: Job, state: StoreState, stream: Stream, files: Sequence[Path], strict: bool
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
            inputs.append(prepared_input(file, digest, job.folder))
        except XcqlError as problem:
            if problem.code != "FODC0006":
                raise
            rejected.append(_rejection(str(file), 0, f"malformed: {problem.message}", b""))
    if known == stream.contents:
        return IngestSummary(stream.name, None, skipped_files=tuple(skipped))

    change = _change(job, stream, inputs, rejected)
    if strict and change.rejected:
        raise _strict_error(change.rejected)
    written = _written(job, stream, change, change.rejected)
    after = replace(written, contents=frozenset(known), batches=stream.batches + 1)
    sync_files(job.store / file.path for file in {*after.files()} - {*stream.files()})
    new_state = state.with_stream(after)
    write_state(job.store, new_state)
    reasons = Counter(one["reason"].partition(":")[0] for one in change.rejected)
    return IngestSummary(
        stream.name,
        new_state.number,
        change.accepted,
        change.repetitions,
        dict(sorted(reasons.items())),
        tuple(skipped),
        tuple(change.warnings),
    )


def rebuilt(job: Job, stream: Stream, fragments: Path) -> Stream:
    """The stream with its tables rebuilt from a file with the fragments that are left of it."""
    inputs = [prepared_input(fragments, "fragments", job.folder)]
    change = _change(job, Stream(stream.name, stream.tags), inputs, [])
    # fragments in a cycle were kept, and recorded as quarantined, when they arrived
    refused = [one for one in change.rejected if not one["reason"].startswith("cycle:")]
    emptied = replace(stream, removes=(), batches=max(stream.batches, 1))
    return _written(job, emptied, change, refused)


@dataclass(frozen=True, slots=True)
class _Change:
    """The effect of a batch on a stream; the rows can be freed before anything is written."""

    tables: PlannedTables
    removes: pa.Table
    rejected: list[dict[str, Any]]
    warnings: list[Diagnostic]
    accepted: dict[str, int]
    repetitions: int
    placed: bool
    placed_if_settled: bool


def _written(
    job: Job, stream: Stream, change: _Change, rejected: Sequence[dict[str, Any]]
) -> Stream:
    """Write the files of a change and return the new stream."""
    quarantine = pa.Table.from_pylist(rejected, schema=QUARANTINE)
    return replace(
        stream,
        tables=write_tables(job, change.tables),
        removes=stream.removes + write_small(job, stream, "removes", change.removes),
        quarantine=stream.quarantine + write_small(job, stream, "quarantine", quarantine),
        placed=change.placed,
        placed_if_settled=change.placed_if_settled,
    )


def _change(
    job: Job, stream: Stream, inputs: Sequence[Input], rejected: list[dict[str, Any]]
) -> _Change:
    batch = _first_pass(job, stream, inputs)
    parts = [*stored_rows(job.store, stream), *batch.sources]
    all_removes = pa.concat_tables([stored_removes(job.store, stream), batch.removes])
    rows = stream_rows(stream.tags, parts, all_removes)
    arrivals = rows.arrivals
    derived = derive_rows(rows)
    placed, if_settled = derived.placement.complete, derived.placement.is_lasting
    is_new = arrivals.seqs >= batch.first_seq
    is_clash = np.zeros(len(arrivals), np.bool_)
    is_clash[list(derived.clashes)] = True
    is_fresh_repetition = is_new & derived.repetitions
    dropped = (is_clash & is_new) | is_fresh_repetition
    clashing_removes = is_clash[len(arrivals) - batch.removes.num_rows :]
    accepted = Counter(OPERATIONS[one] for one in arrivals.operations[is_new & ~is_clash].tolist())
    clashes, cycles = _clashes(batch, rows, derived), _cycles(batch, rows, derived, is_new)
    return _Change(
        plan_tables(job, stream, rows, derived, batch.shapes, dropped),
        taken(batch.removes, np.flatnonzero(~clashing_removes)),
        [*rejected, *batch.rejected, *clashes, *cycles],
        [*batch.warnings, *([] if placed or if_settled else [_too_many_places(stream)])],
        dict(sorted(accepted.items())),
        int(is_fresh_repetition.sum()),
        placed,
        if_settled,
    )


@dataclass(frozen=True, slots=True)
class _Batch:
    """The result of the first pass; `files` and `offsets` locate the rows by their seqs."""

    first_seq: int
    sources: list[RowPart]
    removes: pa.Table
    rejected: list[dict[str, Any]]
    warnings: list[Diagnostic]
    shapes: dict[str, Slot]
    names: list[str]
    files: Ints
    offsets: Ints

    def place_of(self, seq: int) -> tuple[str, int]:
        """The file of a fragment, and its offset there."""
        number = seq - self.first_seq
        return self.names[self.files[number]], int(self.offsets[number])


def _stage(piece: tuple[Chunk, TagStructure, str]) -> StagedChunk | None:
    chunk, structure, folder = piece
    # Spark may retry a piece, or run it twice at once
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
        chunks = [one for rest in again.values() for one in plan_exact_chunks(rest, size)]

    ends: dict[str, int] = {}
    ignored: Counter[str] = Counter()
    for chunk, found_in in staged:
        if found_in.eos is not None and chunk.file not in ends:
            ends[chunk.file] = found_in.eos
            ignored[chunk.file] = found_in.ignored

    def that_count(file: str, found: pa.Table) -> Ints:
        """The numbers of the rows that are not after the end of the stream."""
        counts = numbers_of(found.column("offset")) <= ends.get(file, FOREVER)
        ignored[file] += int((~counts).sum())
        return np.flatnonzero(counts)

    # order all fragments by file and offset, which is the order of arrival
    order = {one.name: number for number, one in enumerate(inputs)}
    sources: list[RowPart] = []
    shapes: dict[str, Slot] = {}
    removes: list[pa.Table] = [STAGED_REMOVES.empty_table()]
    file_numbers: list[Ints] = []
    for chunk, found_in in staged:
        for table in found_in.tables:
            light = read_staged(table.source.rows).select([*LIGHT, "offset"])
            numbers = that_count(chunk.file, light)
            if len(numbers) < light.num_rows:
                light = taken(light, numbers)
            size = os.path.getsize(table.source.rows)
            sources.append(RowPart(table.tsid, table.source, numbers, light, size))
            shapes[table.tsid] = widen(shapes.get(table.tsid), table.source.shape)
            file_numbers.append(np.full(len(numbers), order[chunk.file]))
    for chunk, found_in in staged:
        found = read_staged(found_in.removes)
        removes.append(taken(found, that_count(chunk.file, found)))
        file_numbers.append(np.full(removes[-1].num_rows, order[chunk.file]))
        refused = read_staged(found_in.rejected)
        rejected += taken(refused, that_count(chunk.file, refused)).to_pylist()

    all_removes = pa.concat_tables(removes)
    first_seq = (stream.batches + 1) << 40
    tables = [*(source.light for source in sources), all_removes]
    offsets = np.concatenate([numbers_of(table.column("offset")) for table in tables])
    files = np.concatenate([*file_numbers, np.empty(0, np.int64)])
    by_place = np.lexsort([offsets, files])
    seqs = np.empty(len(offsets), np.int64)
    seqs[by_place] = np.arange(first_seq, first_seq + len(offsets))
    numbered = [
        table.drop_columns("offset").append_column("seq", column_of(part))
        for table, part in zip(
            tables,
            np.split(seqs, np.cumsum([table.num_rows for table in tables])[:-1]),
            strict=True,
        )
    ]
    sources = [
        replace(source, light=light) for source, light in zip(sources, numbered[:-1], strict=True)
    ]
    warnings = [
        warning(
            "XCQL0301",
            f"content after <eos/> at byte {ends[file]} of '{file}' is ignored ({count} fragments)",
            hints=["put anything after the end of a stream into another file"],
        )
        for file, count in ignored.items()
        if count
    ]
    return _Batch(
        first_seq,
        sources,
        numbered[-1].select(REMOVES.names),
        rejected,
        warnings,
        shapes,
        [one.name for one in inputs],
        files[by_place],
        offsets[by_place],
    )


def _clashes(batch: _Batch, rows: StreamRows, derived: Derived) -> list[dict[str, Any]]:
    """The new rows whose id belongs to another tag, as rejections."""
    result = []
    tags = list(rows.structure)
    arrivals = rows.arrivals
    for row, tag in derived.clashes.items():
        seq = int(arrivals.seqs[row])
        if seq < batch.first_seq:
            continue
        raw, part = b"", rows.sources[row]
        if part >= 0:
            bodies = read_staged(rows.parts[part].source.rows).column("raw")
            raw = bodies[int(rows.numbers[row])].as_py()
        reason = (
            f"tag conflict: the id '{arrivals.ids[arrivals.fillers[row]]}' belongs to tag"
            f" {tags[tag].id}, but this {OPERATIONS[arrivals.operations[row]]} has tag"
            f" {tags[arrivals.tags[row]].id}"
        )
        result.append(_rejection(*batch.place_of(seq), reason, raw))
    return result


def _cycles(
    batch: _Batch, rows: StreamRows, derived: Derived, is_new: Flags
) -> list[dict[str, Any]]:
    """Report new rows with a hole that leads back into them; the row is kept, the hole empty."""
    result = []
    arrivals = rows.arrivals
    holes = arrivals.holes
    if derived.placement.cycles:
        for hole in np.flatnonzero(is_new[holes.rows]).tolist():
            row = holes.rows[hole]
            pair = int(arrivals.fillers[row]), int(holes.fillers[hole])
            if pair in derived.placement.cycles:
                outer, inner = (arrivals.ids[number] for number in pair)
                reason = (
                    f"cycle: the hole {inner} in filler {outer} refers to a filler that"
                    " contains it; the filler is kept, and the hole is empty"
                )
                place = batch.place_of(int(arrivals.seqs[row]))
                result.append(_rejection(*place, reason, b""))
    return result


def _rejection(file: str, offset: int, reason: str, raw: bytes) -> dict[str, Any]:
    return {"file": file, "offset": offset, "reason": reason, "raw": raw}


def _strict_error(rejected: Sequence[dict[str, Any]]) -> XcqlError:
    first = min(rejected, key=lambda one: (one["file"], one["offset"]))
    kinds = Counter(one["reason"].partition(":")[0] for one in rejected)
    return error(
        "XCQL0317",
        f"{len(rejected)} fragments were rejected; the store is unchanged",
        notes=[
            f"the first, at byte {first['offset']} of '{first['file']}': {first['reason']}",
            "in all: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())),
        ],
        hints=["xcqlc ingest without --strict quarantines them and ingests the rest"],
    )


def _too_many_places(stream: Stream) -> Diagnostic:
    return warning(
        "XCQL0318",
        f"the view of '{stream.name}' has too many copies of fillers to store their places",
        hints=["check for holes that many versions share; queries go from hole to filler instead"],
    )
