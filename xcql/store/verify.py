"""Checks that a store and its files are as they were written; reports problems as sentences.

Tests: tests/runtime/test_damage.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from xcql.diagnostics import XcqlError
from xcql.shred.checksums import is_whole, read_parquet
from xcql.shred.nodes import NODES, SOURCE_COLUMNS, nodes_of
from xcql.store.commit import (
    COMMITS,
    COPIES,
    BrokenCommit,
    commit_numbers,
    commit_path,
    existing_state,
    read_commit,
)
from xcql.store.rows import DerivedRows, all_rows, derived_as_stored, read_file
from xcql.store.state import DataFile, Stream


def verify(store: Path) -> list[str]:
    """The problems of a store, one sentence each; an empty list means that it is intact.

    It is intact if every file exists, every bit is as it was written, and all derived columns match
    the fragments. Files of earlier commits are checked, too, as long as they exist.
    """
    state = existing_state(store)
    problems = list(broken_commits(store))
    for stream in state.streams.values():
        broken = [problem for file in stream.files() for problem in broken_file(store, file)]
        problems += broken or broken_derivation(store, stream)
    known = set(state.files())
    for number in sorted({*commit_numbers(store)} - {state.number}):
        with suppress(BrokenCommit, FileNotFoundError):
            earlier = set(read_commit(store, number).files()) - known
            problems += [
                f"{problem} (only needed by commit {number}, which is not the newest)"
                for file in sorted(earlier, key=lambda file: file.path)
                for problem in broken_file(store, file)
            ]
            known |= earlier
    return problems


def broken_commits(store: Path) -> Iterator[str]:
    """The commits and copies that cannot be read."""
    for folder in (COMMITS, COPIES):
        for number in sorted(commit_numbers(store, folder)):
            try:
                read_commit(store, number, folder)
            except BrokenCommit as problem:
                yield f"{commit_path(store, number, folder)}: {problem}"


def broken_file(store: Path, file: DataFile) -> Iterator[str]:
    """The problem of a data file, if it has one; with checksums, any changed bit is found."""
    path = store / file.path
    if not path.is_file():
        yield f"{path}: the file is missing"
    elif path.stat().st_size != file.bytes:
        yield f"{path}: it has {path.stat().st_size} bytes, but {file.bytes} were written"
    elif file.checksums is None:
        yield from _unreadable(path, file.rows)
    else:
        try:
            if not is_whole(path, file.checksums):
                yield f"{path}: it has changed since it was written"
        except OSError as problem:
            yield f"{path}: it cannot be read: {problem.strerror}"


def broken_derivation(store: Path, stream: Stream) -> list[str]:
    """The files whose derived columns do not match the stream's fragments."""
    unknown = [
        f"the stream '{stream.name}' has a table for the unknown tag {tsid}"
        for tsid in stream.tables
        if stream.tags.by_id(tsid) is None
    ]
    if unknown:
        return unknown
    try:
        rows = all_rows(store, stream)
        derived_rows = DerivedRows(rows, derived_as_stored(rows, stream))
        problems = [
            f"{part.source.rows}: its versions and places do not match the fragments"
            for number, part in enumerate(rows.parts)
            if not derived_rows.is_unchanged(number)
        ]
        return [*problems, *_wrong_nodes(store, stream)]
    except (XcqlError, pa.ArrowException, LookupError, ValueError) as problem:
        # a file without checksums may be readable and still contain impossible values
        return [f"the stream '{stream.name}' cannot be read: {problem}".splitlines()[0]]


def _wrong_nodes(store: Path, stream: Stream) -> Iterator[str]:
    """The problems of files with nodes: they do not match the fragments, or the commit."""
    for tsid, table in stream.tables.items():
        for file in table.files:
            if file.nodes is None:
                continue
            nodes = nodes_of(stream.tags, tsid, read_file(store, file, SOURCE_COLUMNS))
            stored = read_file(store, file.nodes)
            path = store / file.nodes.path
            if nodes is None or not stored.cast(NODES).equals(nodes.table.cast(NODES)):
                yield f"{path}: its nodes do not match the fragments"
            elif table.paths is not None and not _includes(table.paths, nodes.paths):
                yield f"{path}: its paths do not match the commit"


def _includes(known: Mapping[str, bool], paths: Mapping[str, bool]) -> bool:
    """Whether all paths are known, and all values that should be there are."""
    return all(path in known and known[path] <= complete for path, complete in paths.items())


def _unreadable(path: Path, rows: int) -> Iterator[str]:
    """The problem of a file without checksums, as far as it can be detected."""
    try:
        found = read_parquet(path).num_rows
    except XcqlError as problem:
        yield f"{path}: {problem.message.rpartition(f'{path}: ')[2]}"
    else:
        if found != rows:
            yield f"{path}: it has {found} rows, but {rows} were written"
