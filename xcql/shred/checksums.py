"""Parquet files in which every bit is covered by a checksum: writing, reading, comparing.

Parquet has a checksum per page, but none for page headers and none for the footer, and a flipped
bit there can change an answer. So each file has three checksums:

    digest         of the whole file: `xcqlc store verify` compares it
    tail_digest    of the last `tail` bytes, which are the footer
    in the footer  of all bytes outside pages (`xcql.outside`), and where these are
                   (`xcql.lengths`)

The first two are stored in the commit. The last two are compared when a file is opened for the
first time, which reads a few dozen bytes per page. Pages are compared with their own checksums
whenever they are read.

Tests: tests/runtime/test_damage.py
"""

from __future__ import annotations

import base64
import errno
import hashlib
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from xcql.diagnostics import XcqlError, error

# values that seldom repeat, such as ids, are not worth a dictionary: a search for one of them
# would build a set of all
DICTIONARY_BYTES = 1 << 16

_OUTSIDE, _LENGTHS = "xcql.outside", "xcql.lengths"
# the number of bytes to hash at a time
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Checksums:
    """The expected contents of a file: a digest of all of it, and one of its last `tail` bytes."""

    digest: str
    tail: int
    tail_digest: str


def write_parquet(
    path: Path, schema: pa.Schema, parts: Iterable[tuple[pa.Table, int]], **options: Any
) -> Checksums:
    """Write tables, each with its number of rows per row group, to one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        sink = _Sink(file)
        with pq.ParquetWriter(
            pa.PythonFile(sink, mode="w"),
            schema,
            compression="zstd",
            store_schema=False,
            write_page_checksum=True,
            **options,
        ) as writer:
            for table, group in parts:
                writer.write_table(table, row_group_size=group)
            writer.add_key_value_metadata(sink.outside())
        return sink.checksums()


def read_parquet(path: str | Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read columns of a store's file; a page with a wrong checksum is an error."""
    try:
        return pq.read_table(
            path, columns=columns, partitioning=None, page_checksum_verification=True
        )
    except (PermissionError, MemoryError):
        raise
    except (OSError, pa.ArrowException) as problem:
        raise damaged_file(path, _reason(problem)) from None


def check_opening(path: Path, size: int, checksums: Checksums | None) -> None:
    """Raise an error if a file is missing, or if anything outside its pages has changed.

    A file without checksums, written by an earlier version, is checked only for its size.
    """
    try:
        found = path.stat()
        if found.st_size != size:
            raise damaged_file(path, f"it has {found.st_size} bytes, but {size} were written")
        if checksums is not None:
            _check_outside(path, found.st_ino, found.st_mtime_ns, size, checksums)
    except PermissionError:
        raise
    except OSError as problem:
        raise damaged_file(path, _reason(problem)) from None


def check_pages(path: Path, columns: Iterable[str]) -> None:
    """Raise an error if a page of some columns does not match its checksum.

    For engines that do not compare them. The file must have passed `check_opening`.
    """
    found = path.stat()
    for column in columns:
        _check_column(path, found.st_ino, found.st_mtime_ns, column)


def is_whole(path: Path, checksums: Checksums) -> bool:
    """Whether every bit of a file is as it was written."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return _short(digest) == checksums.digest


def damaged_file(path: str | Path, reason: str) -> XcqlError:
    """The error for a file of a store that cannot be used."""
    store = store_of(path)
    return error(
        "XCQL0319",
        f"the store '{store}' is damaged: {path}: {reason}",
        hints=[
            f"xcqlc store verify {store} lists everything that is damaged",
            f"xcqlc store repair {store} rebuilds what it can, and tells what is lost",
        ],
    )


def store_of(path: str | Path) -> Path:
    """The store of a data file: DIR in `DIR/data/STREAM/TABLE/FILE`."""
    parents = Path(path).parents
    return parents[min(3, len(parents) - 1)]


def short_digest(data: bytes) -> str:
    """A digest of some bytes, in the form used in commits."""
    return _short(hashlib.sha256(data))


class _Sink:
    """A file being written, with its digest and a digest of everything outside its pages.

    A page is written after its header, which gives its length. Anything else counts as outside any
    page, so that every byte is covered by a checksum.
    """

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._outside = hashlib.sha256()
        # alternating lengths: outside pages, in a page, outside pages, …
        self._lengths = [0]
        self._page_size = -1
        self._size = 0
        self._tail_begin = 0
        self._tail = hashlib.sha256()

    def write(self, data: bytes) -> int:
        size = len(data)
        self._file.write(data)
        self._digest.update(data)
        self._tail.update(data)
        self._size += size
        if size == self._page_size:
            self._lengths += [size, 0]
            self._page_size = -1
        else:
            self._outside.update(data)
            self._lengths[-1] += size
            self._page_size = _page_size(data)
        return size

    def outside(self) -> dict[str, str]:
        """The footer's metadata about everything written before it."""
        self._tail_begin = self._size
        self._tail = hashlib.sha256()
        lengths = zlib.compress(np.array(self._lengths, "<u4").tobytes())
        return {
            _OUTSIDE: _short(self._outside),
            _LENGTHS: base64.b64encode(lengths).decode("ascii"),
        }

    def checksums(self) -> Checksums:
        return Checksums(_short(self._digest), self._size - self._tail_begin, _short(self._tail))

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.flush()
        self.closed = True


def _page_size(header: bytes) -> int:
    """The length of the page after a header, its third number; -1 if this is not a header."""
    numbers = _header_numbers(header)
    return numbers[2] if len(numbers) > 2 else -1


def _header_numbers(header: bytes) -> list[int]:
    """The numbers that a page header begins with: kind, two lengths, and the checksum."""
    numbers: list[int] = []
    position = 0
    # the marker of a number in the next header field
    while len(numbers) < 4 and header[position : position + 1] == b"\x15":
        number = shift = 0
        position += 1
        while position < len(header):
            byte = header[position]
            number |= (byte & 127) << shift
            position += 1
            shift += 7
            if byte < 128:
                break
        numbers.append(number >> 1 ^ -(number & 1))
    return numbers


@lru_cache(maxsize=100_000)
def _check_outside(path: Path, inode: int, changed: int, size: int, checksums: Checksums) -> None:
    """Compare footer and headers, once per process while the file seems unchanged."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        begin = size - checksums.tail
        tail = os.pread(descriptor, checksums.tail, begin)
        if short_digest(tail) != checksums.tail_digest:
            raise damaged_file(path, "its footer is not as it was written")
        metadata = pq.read_metadata(pa.BufferReader(tail))
        lengths = _lengths(metadata)
        digest = hashlib.sha256()
        position = 0
        for number, length in enumerate(lengths):
            if number % 2 == 0:
                digest.update(os.pread(descriptor, length, position))
            position += length
        if _short(digest) != metadata.metadata[_OUTSIDE.encode()].decode("ascii"):
            raise damaged_file(path, "the headers of its pages are not as they were written")
    finally:
        os.close(descriptor)


@lru_cache(maxsize=100_000)
def _check_column(path: Path, inode: int, changed: int, column: str) -> None:
    """Compare the pages of a column, once per process while the file seems unchanged."""
    layout = _layout(path, inode, changed)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        for begin, end in layout.chunks[column]:
            first = int(np.searchsorted(layout.pages, begin))
            header = begin
            for page, size in zip(layout.pages[first:], layout.sizes[first:], strict=True):
                if page >= end:
                    break
                numbers = _header_numbers(os.pread(descriptor, page - header, header))
                data = os.pread(descriptor, size, page)
                if len(numbers) < 4 or numbers[3] != _signed(zlib.crc32(data)):
                    raise damaged_file(path, "a page does not match its checksum")
                header = page + size
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where a file has its pages, with their sizes, and the chunks of each column: from, to."""

    pages: list[int]
    sizes: list[int]
    chunks: Mapping[str, list[tuple[int, int]]]


@lru_cache(maxsize=1000)
def _layout(path: Path, inode: int, changed: int) -> _Layout:
    metadata = pq.read_metadata(path)
    ends = np.cumsum(_lengths(metadata))
    chunks: dict[str, list[tuple[int, int]]] = {}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for index in range(group.num_columns):
            column = group.column(index)
            begin = column.dictionary_page_offset or column.data_page_offset
            end = begin + column.total_compressed_size
            chunks.setdefault(column.path_in_schema, []).append((begin, end))
    sizes = np.diff(ends)[::2]
    return _Layout((ends[1::2] - sizes).tolist(), sizes.tolist(), chunks)


def _lengths(metadata: pq.FileMetaData) -> list[int]:
    """The numbers of bytes outside pages, in a page, outside pages, and so on."""
    packed = base64.b64decode(metadata.metadata[_LENGTHS.encode()])
    lengths: list[int] = np.frombuffer(zlib.decompress(packed), "<u4").tolist()
    return lengths


def _signed(number: int) -> int:
    return number - (1 << 32) if number >> 31 else number


def _short(digest: hashlib._Hash) -> str:
    return digest.hexdigest()[:32]


def _reason(problem: Exception) -> str:
    if isinstance(problem, FileNotFoundError):
        return "the file is missing"
    if isinstance(problem, OSError) and problem.errno not in (None, errno.EINVAL):
        return f"it cannot be read: {os.strerror(problem.errno or 0).lower()}"
    return f"it cannot be read: {problem}".strip().splitlines()[0]
