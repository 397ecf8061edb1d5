"""The input files of an ingest: found, identified by content, and prepared for chunking."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from xcql.diagnostics import error
from xcql.model.read import fragment_files
from xcql.xdm.encoding import encoding_of
from xcql.xdm.parse import utf8_bytes


@dataclass(frozen=True, slots=True)
class Input:
    """A fragment file: its name, a digest of its content, and the path of its bytes in UTF-8.

    `mark` is the length of the byte order mark, which is not part of the text.
    """

    name: str
    digest: str
    path: str
    mark: int
    bytes: int


def find_files(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """The files at the given paths, in that order; those of a folder in order of name."""
    if isinstance(paths, str | Path):
        paths = [paths]
    files = [file for path in paths for file in fragment_files(path)]
    for file in files:
        if not file.is_file():
            raise error("XCQL0300", f"the file '{file}' does not exist")
    return files


def content_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]


def prepared_input(path: Path, digest: str, folder: Path) -> Input:
    """Unpack the file or convert it to UTF-8 if necessary; such copies go to the folder."""
    name = str(path)
    try:
        if path.suffix == ".gz":
            unpacked = folder / f"{digest}.xml"
            with gzip.open(path, "rb") as source, unpacked.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            path = unpacked
        with path.open("rb") as opened:
            encoding, mark = encoding_of(opened.read(1024))
        if encoding not in ("utf-8", "ascii"):
            text = utf8_bytes(path.read_bytes(), name)
            path = folder / f"{digest}.utf8.xml"
            path.write_bytes(text)
            mark = b""
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise error("XCQL0300", f"'{name}' is not a complete gzip file: {problem}") from None
    except OSError as problem:
        raise error("XCQL0300", f"'{name}' cannot be read: {problem.strerror}") from None
    return Input(name, digest, str(path), len(mark), path.stat().st_size)
