"""The first pass of an ingest: a stretch of a fragment file becomes columns on disk.

A file is cut at the borders of its fragments (`plan_chunks`), so that its chunks can be read in
parallel (`stage_chunk`). What a chunk holds is put down in Arrow files, to be read by the second
pass when it is known how everything fits together.
"""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa

from xcql.diagnostics import Diagnostic, XcqlError
from xcql.model.check import fragment_checker
from xcql.model.fragments import EndOfStream, Fragment, Hole, Namespaces, Rejected
from xcql.model.read import fragments_in
from xcql.model.scan import UNDECLARED, FileHead, Slice, file_head, scan
from xcql.model.tags import TagStructure
from xcql.model.time import parse_time
from xcql.shred.columns import stage
from xcql.shred.derive import null_if_start
from xcql.shred.namespaces import declarations
from xcql.shred.shape import Slot, widen
from xcql.shred.shredder import NotShreddable, Shredder
from xcql.shred.tables import ARRIVED, QUARANTINE, REMOVES, write_staged

# where a file's root has begun, if it does; more is never looked at for that
_HEAD_BYTES = 16 << 20

# the start tag of a fragment as nearly all are written; whatever looks otherwise is left to the
# checker, which knows all the rules
_PLAIN_START = re.compile(
    rb"<((?:stream:)?(filler|repeat|replace))"
    rb'((?:[ ]+(?:id|tsid|validTime)="[^"&<>\s]*")+)[ ]*>[ \t\r\n]*'
)
_PLAIN_ATTRIBUTE = re.compile(rb'(id|tsid|validTime)="([^"]*)"')

OFFSET = pa.field("offset", pa.int64())
STAGED_ROWS = pa.schema([*ARRIVED, OFFSET])
STAGED_REMOVES = pa.schema([*(f for f in REMOVES if f.name != "seq"), OFFSET])


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a fragment file, from the border of one fragment to that of another.

    `path` is where its bytes are, `file` the name that the user knows it by.
    """

    path: str
    file: str
    begin: int
    end: int
    namespaces: Namespaces
    root_end: bytes
    is_last: bool


@dataclass(frozen=True, slots=True)
class StagedTable:
    """The fillers of one tsid in one chunk."""

    tsid: str
    shape: Slot
    rows: str
    slots: str


@dataclass(frozen=True, slots=True)
class StagedChunk:
    """What was found in a chunk; the paths are of Arrow files."""

    tables: tuple[StagedTable, ...]
    removes: str
    rejected: str
    eos: int | None  # where an <eos/> stands in the file
    ignored: int  # the fragments after it in this chunk


def plan_chunks(
    path: str, file: str, mark: int, size: int
) -> tuple[list[Chunk], tuple[Rejected, ...]]:
    """Cut a file in UTF-8 into chunks of about the given size, at the borders of fragments.

    `mark` is the length of its byte order mark.
    """
    with open(path, "rb") as opened:
        length = opened.seek(0, 2)
        if length == 0:
            return [], ()
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            head = file_head(data[mark:_HEAD_BYTES], file, mark)
            borders = [mark + head.begin]
            for found in scan(data, borders[0]):  # type: ignore[arg-type]
                if found.start - borders[-1] >= size:
                    borders.append(found.start)
            ends = [*borders[1:], length]
    chunks = [
        Chunk(path, file, begin, end, head.namespaces, head.root_end, is_last=end == length)
        for begin, end in zip(borders, ends, strict=True)
    ]
    return chunks, head.rejected


def stage_chunk(chunk: Chunk, structure: TagStructure, folder: Path) -> StagedChunk:
    """Read a chunk, shred its fillers, and put the columns down in the (new) folder."""
    folder.mkdir(parents=True)
    with open(chunk.path, "rb") as opened:
        opened.seek(chunk.begin)
        data = opened.read(chunk.end - chunk.begin)
    staging = _Staging(structure, chunk.namespaces)
    head = FileHead(0, chunk.namespaces, chunk.root_end)
    records = fragments_in(
        data,
        head,
        staging.check,
        chunk.file,
        chunk.begin,
        is_last=chunk.is_last,
    )
    for record in records:
        staging.take(record)
    return staging.put_down(folder)


class _Staging:
    """Collects what a chunk holds."""

    def __init__(self, structure: TagStructure, namespaces: Namespaces) -> None:
        self._structure = structure
        self._check = fragment_checker(structure)
        # an unprefixed <filler> in a default namespace is no filler, and prefixes may be odd
        self._is_plain = not dict(namespaces).get("")
        self._is_default_used = any(tag.name.uri for tag in structure)
        self._shredders: dict[str, Shredder] = {}
        self._rows: dict[str, list[tuple[Any, ...]]] = {}
        self._removes: list[dict[str, Any]] = []
        self._rejected: list[dict[str, Any]] = []
        self._eos: int | None = None
        self._ignored = 0

    def check(
        self, data: bytes, where: Slice, namespaces: Namespaces, file: str, skipped: int
    ) -> Fragment | Rejected | EndOfStream | None:
        """The fragment, or what is wrong with it; None if it has been taken in already."""
        if self._is_plain and where.closed and self._take_plain(data, where, namespaces, skipped):
            return None
        record = self._check(data, where, namespaces, file, skipped)
        if isinstance(record, EndOfStream):
            self._eos = record.offset
            self._ignored = sum(1 for _ in scan(data, where.end))
        return record

    def take(self, record: Fragment | Rejected | Diagnostic) -> None:
        """Take in what the checker has said."""
        if isinstance(record, Rejected):
            reason = f"{record.kind}: {record.reason}"
            self._reject(record.file, record.offset, reason, record.raw)
        elif isinstance(record, Fragment):
            if record.op == "remove":
                time = record.valid_time
                self._removes.append(
                    {
                        "filler": record.id,
                        "tsid": record.tsid,
                        "isTimed": time is not None,
                        "validTime": null_if_start(time) if time is not None else None,
                        "offset": record.offset,
                    }
                )
                return
            assert record.tsid is not None
            assert record.valid_time is not None
            try:
                self._take(
                    record.tsid,
                    record.op,
                    record.id,
                    record.valid_time,
                    record.content,
                    record.namespaces,
                    record.offset,
                )
            except NotShreddable as problem:
                reason = f"malformed: {problem}"
                self._reject(record.file, record.offset, reason, record.content)

    def put_down(self, folder: Path) -> StagedChunk:
        tables = []
        for number, (tsid, shredder) in enumerate(self._shredders.items()):
            rows = self._rows[tsid]
            if not rows:
                continue
            rows_path, slots_path = folder / f"{number}.rows", folder / f"{number}.slots"
            columns = list(zip(*rows, strict=True))
            arrays = [
                pa.array(column, field.type)
                for column, field in zip(columns, STAGED_ROWS, strict=True)
            ]
            write_staged(pa.RecordBatch.from_arrays(arrays, schema=STAGED_ROWS), rows_path)
            write_staged(stage(shredder.root), slots_path)
            shape = widen(None, shredder.root.shape())
            tables.append(StagedTable(tsid, shape, str(rows_path), str(slots_path)))
        removes, rejected = folder / "removes", folder / "rejected"
        write_staged(pa.Table.from_pylist(self._removes, STAGED_REMOVES), removes)
        write_staged(pa.Table.from_pylist(self._rejected, QUARANTINE), rejected)
        return StagedChunk(tuple(tables), str(removes), str(rejected), self._eos, self._ignored)

    def _take_plain(self, data: bytes, where: Slice, namespaces: Namespaces, skipped: int) -> bool:
        """Take in a fragment that is written as nearly all are, in one pass over its bytes."""
        start = _PLAIN_START.match(data, where.start)
        if start is None:
            return False
        attributes = dict(_PLAIN_ATTRIBUTE.findall(start[3]))
        if len(attributes) != start[3].count(b"="):
            return False
        closing = b"</" + start[1] + b">"
        if not data.endswith(closing, where.start, where.end):
            return False
        try:
            id = attributes.get(b"id", b"").decode()
            tag = self._structure.by_id(attributes.get(b"tsid", b"").decode())
            valid_time = _time(attributes.get(b"validTime", b"start").decode())
        except UnicodeDecodeError:
            return False
        if tag is None or not id or valid_time is None:
            return False
        if id == "0" and tag.id != self._structure.root.id:
            return False
        if tag.kind == "event" and b"validTime" not in attributes:
            return False
        content = data[start.end() : where.end - len(closing)].rstrip(b" \t\r\n")
        try:
            self._take(
                tag.id,
                start[2].decode(),
                id,
                valid_time,
                content,
                namespaces,
                skipped + where.start,
            )
        except NotShreddable:
            return False
        return True

    def _take(
        self,
        tsid: str,
        operation: str,
        id: str,
        valid_time: datetime,
        content: bytes,
        namespaces: Namespaces,
        offset: int,
    ) -> None:
        shredder = self._shredders.get(tsid)
        if shredder is None:
            tag = self._structure.by_id(tsid)
            assert tag is not None
            shredder = self._shredders[tsid] = Shredder(self._structure, tag)
            self._rows[tsid] = []
        declared = ""
        if self._is_default_used or namespaces != UNDECLARED:
            declared = declarations(namespaces, content, self._is_default_used)
        holes = shredder.add(content, declared)
        digest = blake2b(content, digest_size=16)
        if declared:
            digest.update(declared.encode())
        self._rows[tsid].append(
            (
                id,
                operation,
                null_if_start(valid_time),
                digest.digest(),
                [_hole(hole) for hole in holes],
                declared,
                content,
                offset,
            )
        )

    def _reject(self, file: str, offset: int, reason: str, raw: bytes) -> None:
        self._rejected.append({"file": file, "offset": offset, "reason": reason, "raw": raw})


def _hole(hole: Hole) -> dict[str, Any]:
    return {
        "filler": hole.id,
        "start": hole.start,
        "length": hole.end - hole.start,
        "tag": hole.parent,
    }


@lru_cache(maxsize=4096)
def _time(text: str) -> datetime | None:
    """A validTime, or None if it cannot be read."""
    try:
        return parse_time(text)
    except XcqlError:
        return None
