"""Documents that the command line reads as streams, with a progress bar on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from xcql.cli.kinds import unreadable
from xcql.model.documents import Document, read_document


@contextmanager
def open_document(path: str) -> Iterator[Document]:
    """The document in a file, compressed or not, or on standard input (`-`)."""
    if path == "-":
        yield read_document(sys.stdin.buffer, "<stdin>")
        return
    try:
        # the document reader has its own buffer
        file = cast(BinaryIO, open(path, "rb", buffering=0))  # noqa: SIM115 - closed below
    except OSError as problem:
        raise unreadable(path, problem) from None
    with file, _shown(file, path) as watched:
        yield read_document(watched, path)


@contextmanager
def _shown(file: BinaryIO, path: str) -> Iterator[BinaryIO]:
    if not sys.stderr.isatty():
        yield file
        return
    from rich.console import Console
    from rich.progress import wrap_file

    size = Path(path).stat().st_size
    console = Console(stderr=True)
    with wrap_file(file, size, description=path, console=console, transient=True) as watched:
        yield watched
