"""Temporary folders that are always cleaned up.

Each process has one folder in the system's temporary folder, and everything temporary goes into
it. The folder is removed when the process ends. A process that is killed cannot do that, so the
next one removes the folders of dead processes: each folder contains a file that its process keeps
locked, and the system releases the lock whenever the process dies, for whatever reason.

The temporary folder may be shared with other users. Folders are accessible to their owner only.
Cleaning up removes only real folders (no links) of this user whose process is dead.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "xcql-"
# a folder has this prefix until its lock is held; see `_locked_folder`
_NEW_PREFIX = ".xcql-new-"
_LOCK = "lock"
# normally a folder gets its final name within a moment
_OLD_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class _LockedFolder:
    path: Path
    lock: int
    owner: int

    def remove(self) -> None:
        # a forked child shares the lock, but the folder belongs to its parent
        if self.owner == os.getpid():
            _remove(self.path)
            os.close(self.lock)


class _ProcessFolder:
    """The folder of this process, if it exists already."""

    guard = threading.Lock()
    folder: _LockedFolder | None = None


def process_folder() -> Path:
    """The temporary folder of this process; it is removed when the process ends."""
    with _ProcessFolder.guard:
        known = _ProcessFolder.folder
        if known is None or known.owner != os.getpid() or not known.path.is_dir():
            parent = Path(tempfile.gettempdir())
            remove_abandoned(parent)
            known = _ProcessFolder.folder = _locked_folder(parent)
            atexit.register(_remove_at_exit, known)
        return known.path


def new_temporary_folder() -> Path:
    """A new folder inside the one of this process; the caller removes it."""
    return Path(tempfile.mkdtemp(dir=process_folder()))


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """A folder that is removed when the block ends.

    It is inside the folder of this process, or in `parent`. Folders that killed processes left
    in `parent` are removed by the next call.
    """
    if parent is None:
        folder = new_temporary_folder()
        try:
            yield folder
        finally:
            _remove(folder)
        return
    remove_abandoned(parent)
    locked = _locked_folder(parent)
    try:
        yield locked.path
    finally:
        locked.remove()


def remove_abandoned(parent: Path) -> None:
    """Remove the folders in `parent` whose processes have died."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and _is_ours(entry):
                _remove_if_abandoned(Path(entry.path))
            elif entry.name.startswith(_NEW_PREFIX) and _is_ours(entry) and _is_old(entry):
                _remove(Path(entry.path))


def _is_ours(entry: os.DirEntry[str]) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:  # it has just been removed
        return False
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.geteuid()
        and stat.S_IMODE(found.st_mode) == 0o700
    )


def _is_old(entry: os.DirEntry[str]) -> bool:
    try:
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > _OLD_SECONDS
    except OSError:
        return False


def _remove_if_abandoned(folder: Path) -> None:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # without a lock file it is not one of these folders
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(folder)
    except OSError:  # its process is alive, or another one is removing it
        pass
    finally:
        os.close(lock)


def _locked_folder(parent: Path) -> _LockedFolder:
    """A new folder whose lock this process holds.

    It gets its name only when the lock is held, so no process sees it without its lock.
    """
    new = Path(tempfile.mkdtemp(prefix=_NEW_PREFIX, dir=parent))
    try:
        lock = os.open(new / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path = new.rename(parent / f"{_PREFIX}{new.name.removeprefix(_NEW_PREFIX)}")
    except BaseException:
        _remove(new)
        raise
    return _LockedFolder(path, lock, os.getpid())


def _remove(folder: Path) -> None:
    """Remove a folder, its lock file last: a later cleanup recognises the folder by that file."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != _LOCK:
                os.unlink(entry.path)
    shutil.rmtree(folder, ignore_errors=True)


def _remove_at_exit(folder: _LockedFolder) -> None:
    # a second Ctrl-C must not interrupt this
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    folder.remove()
