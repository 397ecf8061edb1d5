"""The command line's outputs: a file that is written completely or not at all, or stdout."""

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

# the error codes for no space: on the disk, in the user's quota, in a file
FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def open_output(path: str | None) -> Iterator[IO[bytes]]:
    """A binary file to write to; None or `-` is standard output.

    The file gets its name once everything is written, so a failed run leaves no partial file.
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
    # the folder's descriptor is ignored, but without one Python would link the symbolic link
    link = partial(os.link, f"/proc/self/fd/{descriptor}", src_dir_fd=descriptor)
    try:
        link(target)
    except FileExistsError:
        hidden = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
        link(hidden)
        os.replace(hidden, target)


def _nameless_file(folder: Path) -> int | None:
    """A file without a name, which vanishes if the process is killed; None if not supported.

    Linux supports them on most file systems.
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
    """A file with a hidden name; a killed process leaves it behind."""
    with _explained(target):
        descriptor, temporary = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=".part"
        )
    try:
        with open(descriptor, "wb", _BUFFER) as output:
            yield output
        # the same permissions as a file created by `open`
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Add the file name to a "no space" error, because a failed write does not know it."""
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
