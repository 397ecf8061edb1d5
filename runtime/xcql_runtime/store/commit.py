"""Commits: how a store goes from one state to the next, all at once or not at all.

A writer holds the lock, writes its data files under names that nobody else uses, makes sure that
they are on disk, and then adds one small file to `commits/`. Adding it is a single step of the
file system, so a process killed at any point leaves the state before or the state after. A
reader takes the newest commit and never looks at anything else.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from xcql.diagnostics import error
from xcql_runtime.store.state import FORMAT, State, state_from_json, state_to_json

_COMMIT = re.compile(r"(\d{12})\.json")


def read_state(store: Path) -> State:
    """What the store holds now; a folder without commits is an empty store."""
    while True:
        newest = newest_commit(store)
        if newest == 0:
            return State()
        try:
            text = _path(store, newest).read_text(encoding="utf-8")
        except FileNotFoundError:  # a newer commit came, and a vacuum, since we looked
            continue
        return _state(text, store)


def newest_commit(store: Path) -> int:
    """The number of the newest commit, 0 if there is none."""
    return max(_commits(store), default=0)


def stamp_of(store: Path) -> tuple[int, ...]:
    """What is another whenever the newest commit is, be it that of a store that was made anew."""
    newest = newest_commit(store)
    try:
        file = _path(store, newest).stat()
    except FileNotFoundError:  # there is none, or a newer one
        return (newest,)
    return newest, file.st_ino, file.st_mtime_ns


def write_state(store: Path, state: State) -> None:
    """Make the state the store's newest; its data files must be on disk."""
    target = _path(store, state.number)
    target.parent.mkdir(exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(state_to_json(state), file, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, target)  # fails if somebody was faster, where a rename would overwrite
    except FileExistsError:
        raise error(
            "XCQL0312",
            f"another writer has made commit {state.number} of the store '{store}'",
            hints=["nothing was changed; try again"],
        ) from None
    finally:
        draft.unlink()
    _sync_folder(target.parent)


@contextmanager
def writing(store: Path) -> Iterator[None]:
    """Be the store's only writer; the system takes the lock back from a process that dies."""
    if store.exists() and not store.is_dir():
        raise error("XCQL0313", f"'{store}' is a file; a store is a folder")
    if store.is_dir() and any(store.iterdir()) and not (store / "lock").exists():
        raise error(
            "XCQL0313",
            f"the folder '{store}' is not empty, and not a store",
            hints=["name a new folder: it is made when the first fragments are ingested"],
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
    """Make sure that files, and the folders that name them, are on disk."""
    folders = set()
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        folders |= {path.parent, path.parent.parent, path.parent.parent.parent}
    for folder in folders:
        _sync_folder(folder)


def forget_old_commits(store: Path, newest: int) -> None:
    """Remove every commit but the newest one."""
    for number in _commits(store):
        if number < newest:
            _path(store, number).unlink(missing_ok=True)
    for draft in (store / "commits").glob(".*.json.*"):
        draft.unlink(missing_ok=True)


def _state(text: str, store: Path) -> State:
    data = json.loads(text)
    if data["format"] > FORMAT:
        raise error(
            "XCQL0314",
            f"the store '{store}' has format {data['format']}; this XCQL knows formats up to"
            f" {FORMAT}",
            hints=["use a newer XCQL: pip install --upgrade xcql"],
        )
    return state_from_json(data)


def _commits(store: Path) -> Iterator[int]:
    folder = store / "commits"
    if folder.is_dir():
        for entry in os.listdir(folder):
            if match := _COMMIT.fullmatch(entry):
                yield int(match[1])


def _path(store: Path, number: int) -> Path:
    return store / "commits" / f"{number:012}.json"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
