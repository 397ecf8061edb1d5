"""Where the command line's results go: a file that appears whole or not at all, or stdout."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from xcql.diagnostics import error

_BUFFER = 1 << 20


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
    if target.exists() and not target.is_file():
        # a pipe or a device such as /dev/null
        with _explained(path), open(target, "wb", _BUFFER) as output:
            yield output
        return
    with _explained(path):
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
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise error("XCQL0102", f"'{path}' cannot be written: {problem.strerror}") from None
