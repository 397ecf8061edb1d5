"""Repairs a damaged store: writes a new, intact commit from what is left.

The newest readable commit defines what the store should contain. Each of its streams is repaired
in the first way that works:

    kept            all of its files are as they were written
    rebuilt         the fragments in all of its files can be read: all tables are rewritten
    taken back      to the last commit at which all of its files are intact
    rebuilt in part from the files whose fragments can be read

Nothing is deleted. Damaged files, and files that a stream no longer uses after it was taken back,
are moved to `damaged/`.

Tests: tests/runtime/test_damage.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from xcql.diagnostics import XcqlError
from xcql.store.commit import (
    COMMITS,
    COPIES,
    BrokenCommit,
    check_store,
    commit_numbers,
    commit_path,
    last_whole_commit,
    read_commit,
    read_state,
    sync_files,
    write_state,
    writing,
)
from xcql.store.ingest import rebuilt
from xcql.store.processes import Run, run_here
from xcql.store.rows import read_file
from xcql.store.state import DataFile, StoreState, Stream, Table
from xcql.store.stored_fragments import FRAGMENT_COLUMNS, fragment_texts
from xcql.store.verify import broken_commits, broken_derivation, broken_file, verify
from xcql.store.write import Job, working


@dataclass(frozen=True, slots=True)
class _Repaired:
    """A stream after its repair, what was done, and whether data was lost."""

    stream: Stream | None
    done: tuple[str, ...] = ()
    is_loss: bool = False


def repair(store: Path, run: Run = run_here, cores: int = 1) -> list[str]:
    """Repair a damaged store; return what was done as sentences, none if it was intact."""
    check_store(store)
    with writing(store):
        newest = max([*commit_numbers(store), *commit_numbers(store, COPIES)], default=0)
        found = last_whole_commit(store)
        if found is None:
            read_state(store)  # reports what is wrong, unless there is nothing at all
            return []
        state, folder = found
        is_current = state.number == newest
        if is_current and folder == COMMITS and not verify(store):
            return []
        done = list(broken_commits(store))
        if not is_current:
            done.append(f"went back to commit {state.number}: ingest what came after it again")
        elif folder == COPIES:
            done.append(f"restored commit {newest} from its copy; nothing is lost")
        repaired = {}
        for name, stream in state.streams.items():
            with working(store, run, cores) as job:
                repaired[name] = _repaired(job, state, stream)
        after = StoreState(
            newest + 1,
            {name: one.stream for name, one in repaired.items() if one.stream is not None},
        )
        sync_files(store / file.path for file in set(after.files()) - set(state.files()))
        write_state(store, after)
        done += [sentence for one in repaired.values() for sentence in one.done]
        aside = store / "damaged" / f"{after.number:012}"
        lossy = [state.streams[name].folder for name, one in repaired.items() if one.is_loss]
        _put_aside(store, after, ["data"] if not is_current else lossy, aside)
        done.append(f"commit {after.number} is intact")
        if aside.exists():
            done.append(f"damaged or unneeded files are kept in {aside}")
        return done


def _repaired(job: Job, state: StoreState, stream: Stream) -> _Repaired:
    broken = {file: problem for file in stream.files() for problem in broken_file(job.store, file)}
    problems = tuple(broken.values())
    kept = replace(
        stream,
        quarantine=tuple(file for file in stream.quarantine if file not in broken),
        imported=tuple(file for file in stream.imported if file not in broken),
    )
    if not broken.keys() - {*stream.quarantine, *stream.imported}:
        wrong = tuple(broken_derivation(job.store, kept))
        if not wrong:
            return _Repaired(kept, (*problems, *_without_quarantine(stream, kept)))
        problems += wrong
    legible = _legible(job.store, kept)
    if legible == kept:
        done = f"stream '{stream.name}': rebuilt from its fragments; nothing is lost"
        return _Repaired(_rebuilt(job, kept), (*problems, done, *_without_quarantine(stream, kept)))
    if back := _last_whole(job.store, state, stream.name):
        number, earlier = back
        batches = stream.batches - earlier.batches
        done = f"stream '{stream.name}': went back to commit {number}" + (
            f": ingest the files of its last {batches} batches again" if batches else ""
        )
        return _Repaired(earlier, (*problems, done), is_loss=True)
    done = (
        f"stream '{stream.name}': rebuilt from the fragments that can be read, and some are lost:"
        " ingest its files again; fragments that are still there are not added twice"
    )
    if not legible.tables:
        done = f"stream '{stream.name}': it cannot be read: ingest its files again"
        return _Repaired(None, (*problems, done), is_loss=True)
    # no file counts as ingested, because each may contain what is lost
    stream = replace(_rebuilt(job, legible), contents=frozenset(), imported=())
    return _Repaired(stream, (*problems, done), is_loss=True)


def _without_quarantine(stream: Stream, kept: Stream) -> Iterator[str]:
    if stream.imported != kept.imported:
        yield f"stream '{stream.name}': an import cannot continue it; import into another stream"
    lost = sum(file.rows for file in stream.quarantine) - sum(file.rows for file in kept.quarantine)
    if lost:
        yield f"stream '{stream.name}': {lost} fragments in quarantine are lost; they never counted"


def _legible(store: Path, stream: Stream) -> Stream:
    """The stream with only those files whose fragments can be read."""
    tables: Mapping[str, Table] = {
        tsid: replace(table, files=files)
        for tsid, table in stream.tables.items()
        if (files := tuple(file for file in table.files if _is_legible(store, file)))
    }
    removes = tuple(file for file in stream.removes if _is_legible(store, file))
    return replace(stream, tables=tables, removes=removes)


def _is_legible(store: Path, file: DataFile) -> bool:
    """Whether the fragments in a file can be read, regardless of its derived columns."""
    names = None if "/removes/" in file.path else FRAGMENT_COLUMNS
    try:
        return bool(read_file(store, file, names).num_rows == file.rows)
    except XcqlError:
        return False


def _rebuilt(job: Job, stream: Stream) -> Stream:
    file = job.folder / "fragments.xml"
    with file.open("w", encoding="utf-8") as target:
        target.write("<fragments>\n")
        target.writelines(f"{text}\n" for text in fragment_texts(job.store, stream))
        target.write("</fragments>\n")
    return rebuilt(job, stream, file)


def _last_whole(store: Path, state: StoreState, name: str) -> tuple[int, Stream] | None:
    """The stream at the last earlier commit at which all of its files are intact."""
    for number in sorted(commit_numbers(store), reverse=True):
        if number < state.number:
            with suppress(BrokenCommit, FileNotFoundError):
                stream = read_commit(store, number).streams.get(name)
                if stream and _is_whole(store, stream):
                    return number, stream
    return None


def _is_whole(store: Path, stream: Stream) -> bool:
    broken = any(problem for file in stream.files() for problem in broken_file(store, file))
    return not broken and not broken_derivation(store, stream)


def _put_aside(store: Path, state: StoreState, folders: list[str], aside: Path) -> None:
    """Move damaged files, and unused files in the given folders, out of the store."""
    kept = {file.path for file in state.files()}
    for folder in folders:
        for path in sorted((store / folder).rglob("*.parquet")):
            if str(path.relative_to(store)) not in kept:
                _move(store, path, aside)
    for folder in (COMMITS, COPIES):
        for number in sorted({*commit_numbers(store, folder)} - {state.number}):
            try:
                others = list(read_commit(store, number, folder).files())
            except BrokenCommit:
                _move(store, commit_path(store, number, folder), aside)
                continue
            broken = [
                file for file in others if file.path not in kept and any(broken_file(store, file))
            ]
            for file in broken:
                _move(store, store / file.path, aside)
            if broken:
                _move(store, commit_path(store, number, folder), aside)


def _move(store: Path, path: Path, aside: Path) -> None:
    if path.exists():
        target = aside / path.relative_to(store)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
