"""The second pass of a change: which files of a stream's tables to write anew, and writing them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from xcql.model.tags import TagStructure
from xcql.shred.derive import Derived
from xcql.shred.shape import Slot, is_layout_kept, widen
from xcql.shred.tables import RowSource, read_staged, write_staged, write_table
from xcql_runtime.store.rows import SourceRows, WritePlan, is_unchanged
from xcql_runtime.store.state import DataFile, Stream, Table, folder_name
from xcql_runtime.workers import Run, run_here

# what is smaller than this is not worth a Spark job
WORTH_A_JOB = 2 << 20
# about how many bytes of fillers go into one file
_FILE_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Job:
    """Where a change is made: the store, a folder for what is under way, and what runs it."""

    store: Path
    folder: Path
    run: Run
    cores: int


@dataclass(frozen=True, slots=True)
class _Write:
    """One file to be written; picklable."""

    structure: TagStructure
    tsid: str
    shape: Slot
    sources: tuple[RowSource, ...]
    plan: str
    path: str


def write_tables(
    job: Job,
    stream: Stream,
    stored: Sequence[SourceRows],
    staged: Sequence[SourceRows],
    shapes: Mapping[str, Slot],
    derived: Derived,
    all_anew: bool = False,
) -> dict[str, Table]:
    """Write the staged rows, and the stored files whose rows have changed; the tables after that.

    `shapes` are those of the staged rows, by tsid.
    """
    fillers = {row.seq: row.filler for source in (*stored, *staged) for row in source.rows if row}
    tables: dict[str, Table] = {}
    plans: list[WritePlan] = []
    for tsid in dict.fromkeys([*stream.tables, *shapes]):
        old = stream.tables.get(tsid)
        if tsid in shapes:
            shape = widen(old.shape if old else None, shapes[tsid])
        else:
            assert old is not None
            shape = old.shape
        is_kept = old is None or (not all_anew and is_layout_kept(old.shape, shape))
        kept: list[DataFile] = []
        plan = WritePlan(tsid, shape)
        most_places, depths = 0, set[int]()
        for source in (*stored, *staged):
            if source.tsid != tsid:
                continue
            for row in source.rows:
                if row is not None and (places := derived.placement.places.get(row.filler)):
                    most_places = max(most_places, len(places))
                    depths.update(place.depth for place in places)
            if source.file is not None and is_kept and is_unchanged(source, fillers, derived):
                kept.append(source.file)
                continue
            if plan.entries and plan.size + source.size > _FILE_BYTES:
                plans.append(plan)
                plan = WritePlan(tsid, shape)
            plan.add(source, derived)
        if plan.entries:
            plans.append(plan)
        tables[tsid] = Table(shape, tuple(kept), most_places, tuple(sorted(depths)))

    # the largest first, so that no core is left with it at the end
    plans.sort(key=lambda plan: -plan.size)
    pieces = [
        _piece(job, stream, number, plan, fillers, derived) for number, plan in enumerate(plans)
    ]
    run = job.run if sum(plan.size for plan in plans) > WORTH_A_JOB else run_here
    for piece, (rows, size) in zip(pieces, run(_write, pieces), strict=True):
        file = DataFile(str(Path(piece.path).relative_to(job.store)), rows, size)
        table = tables[piece.tsid]
        tables[piece.tsid] = replace(table, files=(*table.files, file))
    return {tsid: table for tsid, table in tables.items() if table.files}


def new_path(stream: Stream, folder: str) -> str:
    """A path in the store that no file has had."""
    return f"{stream.folder}/{folder_name(folder)}/{uuid.uuid4().hex}.parquet"


def _piece(
    job: Job,
    stream: Stream,
    number: int,
    plan: WritePlan,
    fillers: Mapping[int, str],
    derived: Derived,
) -> _Write:
    plan_path = job.folder / f"plan{number}"
    write_staged(plan.table(fillers, derived), plan_path)
    return _Write(
        stream.tags,
        plan.tsid,
        plan.shape,
        tuple(plan.sources),
        str(plan_path),
        str(job.store / new_path(stream, plan.tsid)),
    )


def _write(piece: _Write) -> tuple[int, int]:
    path = Path(piece.path)
    plan = read_staged(piece.plan)
    write_table(piece.structure, piece.tsid, piece.shape, piece.sources, plan, path)
    return plan.num_rows, path.stat().st_size
