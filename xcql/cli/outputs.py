"""Where the command line's results go: a file that appears whole or not at all, or stdout."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from xcql.diagnostics import error

_BUFFER = 1 << 20

# what a write says when there is no more room: on the disk, for the user, for a file
FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def open_output(path: str | None) -> Iterator[IO[bytes]]:
    """A binary file to write to; none or `-` is standard output.

    The file gets its name when all is written, so a failed run leaves no half of one.
    """
    if path is None or path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    if target.is_dir():
        raise error("XCQL0102", f"'{path}' is a folder; give a file in it")
    with naming(path), _opened(target) as output:
        yield output


@contextmanager
def _opened(target: Path) -> Iterator[IO[bytes]]:
    if target.exists() and not target.is_file():
        # a pipe or a device such as /dev/null
        with _explained(target), open(target, "wb", _BUFFER) as output:
            yield output
        return
    with _explained(target):
        nameless = _nameless_file(target.parent)
    if nameless is None:
        with _hidden_until_whole(target) as output:
            yield output
        return
    with open(nameless, "wb", _BUFFER) as output:
        yield output
        output.flush()
        _name(nameless, target)


def _name(descriptor: int, target: Path) -> None:
    """Give an open file its name."""
    # the number of a folder is not looked at, but without one Python links the link itself
    link = partial(os.link, f"/proc/self/fd/{descriptor}", src_dir_fd=descriptor)
    try:
        link(target)
    except FileExistsError:
        hidden = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
        link(hidden)
        os.replace(hidden, target)


def _nameless_file(folder: Path) -> int | None:
    """A file that has no name yet, and goes if the process is killed; None if there are none here.

    Linux has them, on most file systems.
    """
    if not hasattr(os, "O_TMPFILE") or not os.path.exists("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    except OSError as problem:
        if problem.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            return None
        raise


@contextmanager
def _hidden_until_whole(target: Path) -> Iterator[IO[bytes]]:
    """A file with a hidden name, which a process that is killed leaves behind."""
    with _explained(target):
        descriptor, temporary = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=".part"
        )
    try:
        with open(descriptor, "wb", _BUFFER) as output:
            yield output
        # as `open` would have made it
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Say which file it is that the disk has no room for: what fails in a write does not know."""
    try:
        yield
    except OSError as problem:
        if problem.errno in FULL_DISK and problem.filename is None:
            problem.filename = path
        raise


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if problem.errno in FULL_DISK:
            raise
        reason = (problem.strerror or str(problem)).lower()
        hints = ["choose another place, or ask the owner of the folder for write permission"]
        if isinstance(problem, FileNotFoundError):
            hints = [f"create the folder first: mkdir -p {path.parent}"]
        raise error("XCQL0102", f"'{path}' cannot be written: {reason}", hints=hints) from None
