"""Lines on disk, numbered from 0: data received by TCP stays there until Spark has processed it.

    FOLDER/00000000000000000000.lines    each file is named after the number of its first line
    FOLDER/lock                          held by the writer

A broadcast is sent only once. Lines that Spark has numbered must be readable again, also after a
crash, so they are on disk before their numbers are reported.
"""

from __future__ import annotations

import fcntl
import os
import re
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO

from xcql.durable import sync

# a file has about this many lines, or bytes
_LINES = 10_000
_BYTES = 1 << 22

_NAME = re.compile(r"(\d{20})\.lines")


class Spool:
    """The only writer of a spool; it is thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Continue after the last complete line; wait while another process is writing."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._lock_file = (folder / "lock").open("a")
        fcntl.flock(self._lock_file, fcntl.LOCK_EX)
        self._guard = threading.Lock()
        self._file: IO[bytes] | None = None
        self._written = 0
        self._end = self._repaired_end()
        self._begin = self._end
        self._synced = self._end

    def append(self, lines: Sequence[bytes]) -> None:
        """Add lines, given without line feeds."""
        data = b"".join(line + b"\n" for line in lines)
        with self._guard:
            if self._file is None:
                self._begin, self._written = self._end, 0
                self._file = (self._folder / _file_name(self._begin)).open("wb", buffering=0)
            self._file.write(data)
            self._written += len(data)
            self._end += len(lines)
            if self._end - self._begin >= _LINES or self._written >= _BYTES:
                self._sync()
                self._file.close()
                self._file = None

    def synced_end(self) -> int:
        """The number after the last line; all lines before it are on disk."""
        with self._guard:
            if self._synced < self._end:
                self._sync()
            return self._end

    def forget(self, before: int) -> None:
        """Remove files that only have lines before this one; the last file keeps the number."""
        begins = _begins(self._folder)
        for begin, following in pairwise(begins):
            if following <= before:
                (self._folder / _file_name(begin)).unlink(missing_ok=True)

    @property
    def size(self) -> int:
        """The number of bytes on disk."""
        return sum(
            (self._folder / _file_name(begin)).stat().st_size for begin in _begins(self._folder)
        )

    def close(self) -> None:
        with self._guard:
            if self._file is not None:
                self._sync()
                self._file.close()
                self._file = None
            self._lock_file.close()

    def _sync(self) -> None:
        assert self._file is not None
        os.fsync(self._file.fileno())
        if self._synced <= self._begin:
            sync(self._folder)
        self._synced = self._end

    def _repaired_end(self) -> int:
        """Cut off an incomplete line that a killed process left; return the end."""
        begins = _begins(self._folder)
        if not begins:
            return 0
        path = self._folder / _file_name(begins[-1])
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(path, whole)
        if not whole:
            path.unlink()
        return begins[-1] + data.count(b"\n")


def spooled(folder: Path, start: int, end: int) -> list[bytes]:
    """The lines from number `start` up to, but not including, `end`; any process may call this.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     spool = Spool(Path(folder))
    ...     spool.append([b"a", b"b", b"c"])
    ...     spool.close()
    ...     spooled(Path(folder), 1, 3)
    [b'b', b'c']
    """
    lines: list[bytes] = []
    begins = _begins(folder)
    for number, begin in enumerate(begins):
        following = begins[number + 1] if number + 1 < len(begins) else end
        if begin < end and following > start:
            data = (folder / _file_name(begin)).read_bytes()
            # the text after the last line feed is empty, or incomplete
            lines += data.split(b"\n")[:-1][max(0, start - begin) : end - begin]
    return lines


def _file_name(begin: int) -> str:
    return f"{begin:020}.lines"


def _begins(folder: Path) -> list[int]:
    names = (_NAME.fullmatch(name) for name in os.listdir(folder))
    return sorted(int(name[1]) for name in names if name)
