"""Commits: a store changes from one state to the next atomically.

A writer holds the lock, writes its data files under unique names, syncs them to disk, and then
adds one small file to `commits/`. Adding it is a single operation of the file system, so a process
killed at any point leaves either the old or the new state. A reader takes the newest commit and
never looks at anything else.

The file ends with a checksum of everything before it. Afterwards a copy is written to `copies/`:
it tells readers that a commit is missing, and a repair restores the commit from it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from xcql.diagnostics import XcqlError, error
from xcql.durable import sync, write_synced
from xcql.shred.checksums import short_digest
from xcql.store.state import FORMAT, StoreState, state_from_json, state_to_json

COMMITS, COPIES = "commits", "copies"

_COMMIT = re.compile(r"(\d{12})\.json")
_CHECKSUM = re.compile(rb', "checksum": "([0-9a-f]{32})"}\Z')


class BrokenCommit(Exception):
    """A commit that cannot be used, and the reason."""


def read_state(store: Path) -> StoreState:
    """The current state of the store; a folder without commits is an empty store."""
    while True:
        # a commit is written before its copy, so this cannot be newer than the newest found next
        copied = max(commit_numbers(store, COPIES), default=0)
        newest = newest_commit(store)
        if newest < copied:
            raise _damaged(store, copied, "the file is missing")
        if newest == 0:
            return StoreState()
        try:
            return read_commit(store, newest)
        except FileNotFoundError:  # there was a newer commit and a vacuum since we looked
            continue
        except BrokenCommit as problem:
            raise _damaged(store, newest, str(problem)) from None


def existing_state(store: Path) -> StoreState:
    """The current state of a store; an error if the folder is not a store."""
    check_store(store)
    return read_state(store)


def check_store(store: Path) -> None:
    """Raise an error if the folder is not a store."""
    if not is_store(store):
        raise error("XCQL0313", f"there is no store '{store}'")


def read_commit(store: Path, number: int, folder: str = COMMITS) -> StoreState:
    """The state in a commit, or in the copy of one."""
    data = commit_path(store, number, folder).read_bytes()
    state = _state(data, store)
    if state.number != number:
        raise BrokenCommit(f"it is the commit {state.number}")
    return state


def newest_commit(store: Path) -> int:
    """The number of the newest commit, 0 if there is none."""
    return max(commit_numbers(store), default=0)


def is_store(store: Path) -> bool:
    """Whether a folder is a store, even a damaged one."""
    return (store / "lock").exists() or any((store / one).is_dir() for one in (COMMITS, COPIES))


def stamp_of(store: Path) -> tuple[int, ...]:
    """A value that changes whenever the newest commit changes, even if the store was recreated."""
    newest = newest_commit(store)
    try:
        file = commit_path(store, newest).stat()
    except FileNotFoundError:  # there is none, or a newer one
        return (newest,)
    return newest, file.st_ino, file.st_mtime_ns


def write_state(store: Path, state: StoreState) -> None:
    """Make the state the newest of the store; its data files must be on disk."""
    data = _content(state)
    try:
        _add(commit_path(store, state.number), data)
    except FileExistsError:
        raise error(
            "XCQL0312",
            f"another writer has already written commit {state.number} of the store '{store}'",
            hints=["nothing was changed; try again"],
        ) from None
    _add(commit_path(store, state.number, COPIES), data)


def _add(target: Path, data: bytes) -> None:
    """Add a file in one step and make sure that it is on disk."""
    target.parent.mkdir(exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    write_synced(draft, data)
    try:
        os.link(draft, target)  # fails if the file exists, where a rename would overwrite it
    finally:
        draft.unlink()
    sync(target.parent)


@contextmanager
def writing(store: Path) -> Iterator[None]:
    """Be the store's only writer; the system releases the lock when the process dies."""
    if store.exists() and not store.is_dir():
        raise error("XCQL0313", f"'{store}' is a file; a store is a folder")
    if store.is_dir() and any(store.iterdir()) and not is_store(store):
        raise error(
            "XCQL0313",
            f"the folder '{store}' is not empty and is not a store",
            hints=["give a new folder: it is created when the first fragments are ingested"],
        )
    store.mkdir(parents=True, exist_ok=True)
    with (store / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise error(
                "XCQL0312",
                f"another process is writing to the store '{store}'",
                hints=["wait until it has finished, and try again"],
            ) from None
        yield


def sync_files(paths: Iterable[Path]) -> None:
    """Make sure that files, and the folders that list them, are on disk."""
    folders = set()
    for path in paths:
        sync(path)
        folders |= {path.parent, path.parent.parent, path.parent.parent.parent}
    for folder in folders:
        sync(folder)


def forget_old_commits(store: Path, newest: int) -> None:
    """Remove every commit except the newest, and every copy except its copy."""
    for folder in (COMMITS, COPIES):
        for number in commit_numbers(store, folder):
            if number < newest:
                commit_path(store, number, folder).unlink(missing_ok=True)
        for draft in (store / folder).glob(".*.json.*"):
            draft.unlink(missing_ok=True)


def commit_numbers(store: Path, folder: str = COMMITS) -> list[int]:
    """The numbers of the existing commits, or copies."""
    try:
        entries = os.listdir(store / folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [int(match[1]) for entry in entries if (match := _COMMIT.fullmatch(entry))]


def commit_path(store: Path, number: int, folder: str = COMMITS) -> Path:
    return store / folder / f"{number:012}.json"


def last_whole_commit(store: Path) -> tuple[StoreState, str] | None:
    """The newest commit that can be read, and its folder: the commits' or the copies'."""
    numbers = {*commit_numbers(store), *commit_numbers(store, COPIES)}
    for number in sorted(numbers, reverse=True):
        for folder in (COMMITS, COPIES):
            try:
                return read_commit(store, number, folder), folder
            except (BrokenCommit, FileNotFoundError):
                continue
    return None


def _content(state: StoreState) -> bytes:
    """The bytes of a commit, which end with a checksum of everything before it."""
    text = json.dumps(state_to_json(state), ensure_ascii=False).encode("utf-8")[:-1]
    return text + f', "checksum": "{short_digest(text)}"}}'.encode("ascii")


def _state(data: bytes, store: Path) -> StoreState:
    if not data:
        raise BrokenCommit("it is empty")
    checksum = _CHECKSUM.search(data)
    if checksum and short_digest(data[: checksum.start()]) != checksum[1].decode("ascii"):
        raise BrokenCommit("it does not match its checksum")
    try:
        content = json.loads(data)
        format = content["format"]
        if format > FORMAT:
            raise _too_new(store, format)
        if format > 1 and not checksum:
            raise BrokenCommit("its checksum is missing")
        return state_from_json(content)
    except UnicodeDecodeError:
        raise BrokenCommit("it is not UTF-8") from None
    except json.JSONDecodeError as problem:
        raise BrokenCommit(f"it is not JSON: {problem}") from None
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError, RecursionError):
        raise BrokenCommit("it is JSON, but not a commit") from None
    except XcqlError as problem:
        if problem.code == "XCQL0314":
            raise
        raise BrokenCommit(f"its tag structure cannot be read: {problem.message}") from None


def _too_new(store: Path, format: int) -> XcqlError:
    return error(
        "XCQL0314",
        f"the store '{store}' has format {format}; this XCQL supports formats up to {FORMAT}",
        hints=["upgrade XCQL: pip install --upgrade xcql"],
    )


def _damaged(store: Path, number: int, reason: str) -> XcqlError:
    """The error for an unusable newest commit: what is left, and how to fix it."""
    whole = last_whole_commit(store)
    path = commit_path(store, number)
    if whole is None:
        left = "no other commit can be read either"
        hints = [
            "the data files are unchanged; ingest the fragments into a new store, or restore a"
            f" backup of '{store / COMMITS}'"
        ]
    else:
        left = (
            f"the copy of commit {number} is intact: nothing is lost"
            if whole[0].number == number
            else f"the last commit that can be read is {whole[0].number}"
        )
        hints = [f"xcqlc store repair {store} continues from there, and deletes nothing"]
    return error(
        "XCQL0319",
        f"the store '{store}' is damaged: {path}: {reason}",
        notes=[left],
        hints=hints,
    )
