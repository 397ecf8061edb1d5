"""The second pass of a change: decides which files of a stream's tables to write; writes them."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from xcql.arrays import Flags, Ints, column_of, ranges
from xcql.history.stability import Stability, stability_of
from xcql.history.vectorised import Derived
from xcql.model.tags import TagStructure
from xcql.shred.nodes import SOURCE_COLUMNS, nodes_of, write_nodes
from xcql.shred.shape import Slot, is_layout_kept, widen
from xcql.shred.tables import (
    WRITE_PLAN,
    RowSource,
    read_staged,
    table_rows,
    write_rows,
    write_staged,
    write_table,
)
from xcql.store.processes import Run, run_here
from xcql.store.rows import DerivedRows, StreamRows
from xcql.store.state import DataFile, Stream, Table, folder_name

# smaller work is not worth a Spark job
WORTH_A_JOB = 2 << 20
# the approximate number of bytes of fillers per file
_FILE_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Job:
    """The context of a change: the store, a folder for work in progress, and what runs the work."""

    store: Path
    folder: Path
    run: Run
    cores: int


@contextmanager
def working(store: Path, run: Run, cores: int) -> Iterator[Job]:
    """A job with its own folder, which is removed when the block ends."""
    folder = store / "staging" / uuid.uuid4().hex
    folder.mkdir(parents=True)
    try:
        yield Job(store, folder, run, cores)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A file to be written: all rows of some sources of one table."""

    tsid: str
    shape: Slot
    parts: list[int]

    def size(self, rows: StreamRows) -> int:
        """The approximate size in bytes."""
        return sum(rows.parts[part].size for part in self.parts)


@dataclass(frozen=True, slots=True)
class _Write:
    """One file to be written; picklable."""

    structure: TagStructure
    tsid: str
    shape: Slot
    sources: tuple[RowSource, ...]
    plan: str
    path: str
    # the nodes of its rows, if they are already in the store
    nodes: DataFile | None


@dataclass(frozen=True, slots=True)
class _Written:
    """A new file and its nodes; their paths are those of the file system."""

    file: DataFile
    nodes: DataFile | None = None
    node_paths: Mapping[str, bool] | None = None


@dataclass(frozen=True, slots=True)
class PlannedTables:
    """The tables of a stream after a change, with the files that they keep and those to write.

    Writing needs nothing else: the other data about the rows can be freed first.
    """

    tables: Mapping[str, Table]
    writes: Sequence[_Write]
    bytes: int
    # the paths of nodes that are in the store already, by tsid
    known_paths: Mapping[str, Mapping[str, bool] | None]


def plan_tables(
    job: Job,
    stream: Stream,
    rows: StreamRows,
    derived: Derived,
    shapes: Mapping[str, Slot],
    dropped: Flags,
    anew: Collection[str] = (),
) -> PlannedTables:
    """Decide which files to write: for staged rows, and for stored files whose rows have changed.

    `shapes` are those of the staged rows, by tsid; `dropped` marks the rows that are not kept. The
    tables with the tsids in `anew` are rewritten completely.
    """
    derived_rows = DerivedRows(rows, derived)
    tables: dict[str, Table] = {}
    plans: list[_Plan] = []
    for tsid in dict.fromkeys([*stream.tables, *shapes]):
        old = stream.tables.get(tsid)
        if tsid in shapes:
            shape = widen(old.shape if old else None, shapes[tsid])
        else:
            assert old is not None
            shape = old.shape
        is_kept = tsid not in anew and (old is None or is_layout_kept(old.shape, shape))
        kept: list[DataFile] = []
        plan = _Plan(tsid, shape, [])
        parts = [number for number, part in enumerate(rows.parts) if part.tsid == tsid]
        for part in parts:
            source = rows.parts[part]
            if source.file is not None and is_kept and derived_rows.is_unchanged(part):
                kept.append(source.file)
                continue
            if plan.parts and plan.size(rows) + source.size > _FILE_BYTES:
                plans.append(plan)
                plan = _Plan(tsid, shape, [])
            plan.parts.append(part)
        if plan.parts:
            plans.append(plan)
        those = np.flatnonzero(np.isin(rows.sources, parts) & ~dropped)
        paths = (old.paths if old else None) if kept else {}
        tables[tsid] = Table(shape, tuple(kept), *_standing(derived_rows, those), paths)

    # largest first, so that no core is left with it at the end
    plans.sort(key=lambda plan: -plan.size(rows))
    writes = [
        write
        for number, plan in enumerate(plans)
        if (write := _planned(job, stream, number, plan, derived_rows, dropped))
    ]
    known_paths = {tsid: table.paths for tsid, table in stream.tables.items()}
    return PlannedTables(tables, writes, sum(plan.size(rows) for plan in plans), known_paths)


def write_tables(job: Job, planned: PlannedTables) -> dict[str, Table]:
    """Write the planned files and return the resulting tables."""
    tables = dict(planned.tables)
    run = job.run if planned.bytes > WORTH_A_JOB else run_here
    written: Sequence[_Written] = run(_write, planned.writes)
    for write, new in zip(planned.writes, written, strict=True):
        table = tables[write.tsid]
        nodes, paths = write.nodes, planned.known_paths.get(write.tsid)
        if nodes is None:
            nodes, paths = new.nodes and _in_store(job, new.nodes), new.node_paths
        file = replace(_in_store(job, new.file), nodes=nodes)
        tables[write.tsid] = replace(
            table, files=(*table.files, file), paths=_merged(table.paths, paths)
        )
    return {tsid: table for tsid, table in tables.items() if table.files}


def _in_store(job: Job, file: DataFile) -> DataFile:
    return replace(file, path=str(Path(file.path).relative_to(job.store)))


def _merged(
    paths: Mapping[str, bool] | None, others: Mapping[str, bool] | None
) -> Mapping[str, bool] | None:
    """The paths of the nodes in two files; None if those of one are unknown."""
    if paths is None or others is None:
        return None
    joint = {path: paths.get(path, True) and others.get(path, True) for path in {*paths, *others}}
    return dict(sorted(joint.items()))


def _standing(derived_rows: DerivedRows, rows: Ints) -> tuple[Stability, tuple[int, ...]]:
    """How the rows depend on `now`, and the depths of their fillers' places."""
    fillers = np.unique(derived_rows.rows.arrivals.fillers[rows])
    begins = derived_rows.place_borders[fillers]
    ends = derived_rows.place_borders[fillers + 1]
    within = ranges(begins, ends)[1]
    places = derived_rows.places
    versions = derived_rows.entries(rows)[1]
    counting = versions[versions >= 0]
    known = ((derived_rows.versions, counting), (places, within))
    stability = stability_of(known, ends - begins, len(counting) == len(versions))
    return stability, tuple(np.unique(places.depths[within]).tolist())


def _new_path(stream: Stream, folder: str) -> str:
    """A new, unique path in the store."""
    return f"{stream.folder}/{folder_name(folder)}/{uuid.uuid4().hex}.parquet"


def _planned(
    job: Job,
    stream: Stream,
    number: int,
    plan: _Plan,
    derived_rows: DerivedRows,
    dropped: Flags,
) -> _Write | None:
    """The write for a plan, or None if no rows are left."""
    rows = derived_rows.rows
    kept = np.flatnonzero(np.isin(rows.sources, plan.parts) & ~dropped)
    if not len(kept):
        return None
    entries, versions = derived_rows.in_file_order(kept)
    columns = derived_rows.columns(entries, versions)
    place_in_plan = np.zeros(len(rows.parts), np.int32)
    place_in_plan[plan.parts] = np.arange(len(plan.parts))
    columns["source"] = column_of(place_in_plan[rows.sources[entries]])
    columns["row"] = column_of(rows.numbers[entries].astype(np.int32))
    plan_path = job.folder / f"plan{number}"
    table = pa.table([columns[name] for name in WRITE_PLAN.names], schema=WRITE_PLAN)
    write_staged(table, plan_path)
    return _Write(
        stream.tags,
        plan.tsid,
        plan.shape,
        tuple(rows.parts[part].source for part in plan.parts),
        str(plan_path),
        str(job.store / _new_path(stream, plan.tsid)),
        _kept_nodes(stream, plan, rows, dropped),
    )


def _kept_nodes(stream: Stream, plan: _Plan, rows: StreamRows, dropped: Flags) -> DataFile | None:
    """The nodes of the only file that is rewritten, if all of its fragments are kept."""
    part = plan.parts[0]
    file = rows.parts[part].file
    if len(plan.parts) > 1 or file is None or dropped[rows.of_source(part)].any():
        return None
    return file.nodes if stream.tables[plan.tsid].paths is not None else None


def write_small(job: Job, stream: Stream, folder: str, rows: pa.Table) -> tuple[DataFile, ...]:
    """Write removes or quarantined fragments; no file if there are none."""
    if not rows.num_rows:
        return ()
    path = _new_path(stream, folder)
    checksums = write_rows(rows, job.store / path)
    size = (job.store / path).stat().st_size
    return (DataFile(path, rows.num_rows, size, checksums=checksums),)


def _write(file: _Write) -> _Written:
    """Write a file, and the nodes of its rows unless they are in the store already."""
    path = Path(file.path)
    plan = read_staged(file.plan)
    rows = table_rows(file.structure, file.tsid, file.shape, file.sources, plan)
    checksums = write_table(rows, path)
    size, present = path.stat().st_size, plan.column("vtTo").null_count
    written = _Written(DataFile(file.path, rows.num_rows, size, present, checksums))
    if file.nodes is not None:
        return written
    # the other columns are freed
    rows = rows.select(SOURCE_COLUMNS)
    nodes = nodes_of(file.structure, file.tsid, rows)
    if nodes is None:
        return written
    path = path.with_suffix(".nodes.parquet")
    checksums = write_nodes(nodes.table, path)
    size = path.stat().st_size
    companion = DataFile(str(path), nodes.table.num_rows, size, checksums=checksums)
    return replace(written, nodes=companion, node_paths=nodes.paths)
