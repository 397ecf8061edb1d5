"""Files that survive a crash of the machine."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Make sure that a file, or the list of entries of a folder, is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and make sure that its data is on disk."""
    path.write_bytes(data)
    sync(path)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file atomically: after a crash it has all of the new data or all of the old."""
    draft = path.with_name(f".{path.name}.draft")
    write_synced(draft, data)
    draft.rename(path)
    sync(path.parent)
