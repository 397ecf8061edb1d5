"""The first pass of an ingest: a part of a fragment file becomes columns on disk.

A file is cut between fragments, so that its chunks can be read in parallel (`stage_chunk`). The
contents of a chunk are written to Arrow files. The second pass reads them once it is known how
everything fits together.

The start of a fragment can be determined only by reading everything before it. So a file is first
cut where fragments seem to begin (`plan_chunks`). If all chunks up to such a position are
well-formed, it is a border; if one is not, the rest is cut exactly (`plan_exact_chunks`).
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

import pyarrow as pa
import pyarrow.compute as pc

from xcql.diagnostics import Diagnostic
from xcql.history.arrivals import null_if_start
from xcql.model.check import fragment_checker
from xcql.model.fragments import EndOfStream, Fragment, Hole, Namespaces, Rejected
from xcql.model.read import fragments_in
from xcql.model.scan import (
    FRAGMENT_START,
    UNDECLARED,
    FileHead,
    Slice,
    file_head,
    is_file_end,
    scan,
)
from xcql.model.tags import TagStructure
from xcql.shred.columns import flat, nest
from xcql.shred.flatten import digest_of, plain_tables
from xcql.shred.namespaces import context, declarations, namespaces_of
from xcql.shred.normal import element_text
from xcql.shred.plain import read_in_bulk, read_time
from xcql.shred.shape import Slot, widen
from xcql.shred.shredder import NotShreddable, Shredder
from xcql.shred.tables import (
    ARRIVED,
    OFFSET,
    QUARANTINE,
    REMOVES,
    RowSource,
    staged_rows,
    write_staged,
)
from xcql.shred.tokens import is_well_formed

# the root, if there is one, must start within this many bytes
_HEAD_BYTES = 16 << 20

# the start tag of a fragment as nearly always written; anything else is left to the checker, which
# knows all the rules
_PLAIN_START = re.compile(
    rb"<((?:stream:)?(filler|repeat|replace))"
    rb'((?:[ ]+(?:id|tsid|validTime)="[^"&<>\s]*")+)[ ]*>[ \t\r\n]*'
)
_PLAIN_ATTRIBUTE = re.compile(rb'(id|tsid|validTime)="([^"]*)"')
_HOLE_THAT_DECLARES = "<(?:stream:)?hole [^<>]*xmlns"

STAGED_REMOVES = pa.schema([*(f for f in REMOVES if f.name != "seq"), OFFSET])


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a fragment file, from one border between fragments to another.

    `path` is the location of its bytes, `file` the name that the user knows. `is_certain` is true
    if its borders are known to be between fragments.
    """

    path: str
    file: str
    begin: int
    end: int
    namespaces: Namespaces
    root_end: bytes
    is_last: bool
    is_certain: bool


@dataclass(frozen=True, slots=True)
class StagedTable:
    """Fillers of one tsid in one chunk."""

    tsid: str
    source: RowSource


@dataclass(frozen=True, slots=True)
class StagedChunk:
    """The contents of a chunk; the paths are those of Arrow files."""

    tables: tuple[StagedTable, ...]
    removes: str
    rejected: str
    eos: int | None  # the offset of an <eos/> in the file
    ignored: int  # the number of fragments after it in this chunk


def plan_chunks(
    path: str, file: str, mark: int, size: int
) -> tuple[list[Chunk], tuple[Rejected, ...]]:
    """Cut a UTF-8 file into chunks of about the given size, where fragments seem to begin.

    `mark` is the length of its byte order mark.
    """
    with _mapped(path) as data:
        if not data:
            return [], ()
        head = file_head(data[mark:_HEAD_BYTES], file, mark)
        borders = [mark + head.begin]
        while following := FRAGMENT_START.search(data, borders[-1] + size):
            borders.append(following.start())
        whole = Chunk(
            path, file, borders[0], len(data), head.namespaces, head.root_end, True, False
        )
    return _cut(whole, borders), head.rejected


def plan_exact_chunks(rest: Chunk, size: int) -> list[Chunk]:
    """Cut the rest of a file into chunks of about the given size, between fragments."""
    borders = [rest.begin]
    with _mapped(rest.path) as data:
        for found in scan(data, rest.begin):  # type: ignore[arg-type]
            if found.start - borders[-1] >= size:
                borders.append(found.start)
        rest = replace(rest, end=len(data), is_last=True, is_certain=True)
    return _cut(rest, borders)


def _cut(whole: Chunk, borders: list[int]) -> list[Chunk]:
    return [
        replace(whole, begin=begin, end=end, is_last=end == whole.end)
        for begin, end in pairwise([*borders, whole.end])
    ]


@contextmanager
def _mapped(path: str) -> Iterator[mmap.mmap | bytes]:
    with open(path, "rb") as opened:
        if opened.seek(0, 2) == 0:
            yield b""
            return
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data


def stage_chunk(chunk: Chunk, structure: TagStructure, folder: Path) -> StagedChunk | None:
    """Read a chunk, shred its fillers, and write the columns to the (new) folder.

    Return None if it is not well-formed and may therefore not be a chunk at all.
    """
    folder.mkdir(parents=True)
    with open(chunk.path, "rb") as opened:
        opened.seek(chunk.begin)
        data = opened.read(chunk.end - chunk.begin)
    head = FileHead(0, chunk.namespaces, chunk.root_end)
    end = _content_end(data, head) if chunk.is_last else len(data)
    is_sound = end is not None and is_well_formed(data[:end], chunk.namespaces)
    if not is_sound and not chunk.is_certain:
        return None
    staging = _Staging(structure, chunk, folder)
    if not is_sound or not staging.take_in_bulk(data[:end]):
        for record in fragments_in(
            data, head, staging.check, chunk.file, chunk.begin, is_last=chunk.is_last
        ):
            staging.take(record)
    return staging.put_down()


def _content_end(data: bytes, head: FileHead) -> int | None:
    """The position of the root's end tag in the last bytes of a file."""
    end = data.rfind(head.root_end)
    return end if end >= 0 and is_file_end(data[end:], head) else None


class _Staging:
    """Collects the contents of a chunk."""

    def __init__(self, structure: TagStructure, chunk: Chunk, folder: Path) -> None:
        self._structure = structure
        self._chunk = chunk
        self._folder = folder
        self._check = fragment_checker(structure)
        # an unprefixed <filler> in a default namespace is not a filler, and prefixes may be unusual
        self._is_plain = not dict(chunk.namespaces).get("")
        self._is_default_used = any(tag.name.uri for tag in structure)
        self._shredders: dict[str, Shredder] = {}
        self._rows: dict[str, list[tuple[Any, ...]]] = {}
        self._tables: list[StagedTable] = []
        self._removes: list[dict[str, Any]] = []
        self._rejected: list[dict[str, Any]] = []
        self._eos: int | None = None
        self._ignored = 0

    def take_in_bulk(self, data: bytes) -> bool:
        """Take in all fragments of well-formed content, plain ones in bulk; False if impossible."""
        chunk = self._chunk
        text = read_in_bulk(data, self._structure) if self._is_plain else None
        if text is None:
            return False
        declared = self._declared(chunk.namespaces, b"")
        for table in plain_tables(text, self._structure, declared, chunk.begin):
            self._put(table.tsid, table.shape, table.rows)
        spans = zip(
            text.begins[text.needs_slow_path].tolist(),
            text.ends[text.needs_slow_path].tolist(),
            strict=True,
        )
        for begin, end in spans:
            where = Slice(begin, end, closed=True)
            record = self.check(data, where, chunk.namespaces, chunk.file, chunk.begin)
            if record is not None:
                assert not isinstance(record, EndOfStream), "a plain text holds none"
                self.take(record)
        return True

    def check(
        self, data: bytes, where: Slice, namespaces: Namespaces, file: str, skipped: int
    ) -> Fragment | Rejected | EndOfStream | None:
        """The fragment, or why it is rejected; None if it has already been taken in."""
        if self._is_plain and where.closed and self._take_plain(data, where, namespaces, skipped):
            return None
        record = self._check(data, where, namespaces, file, skipped)
        if isinstance(record, EndOfStream):
            self._eos = record.offset
            self._ignored = sum(1 for _ in scan(data, where.end))
        return record

    def take(self, record: Fragment | Rejected | Diagnostic) -> None:
        """Take in a result of the checker."""
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

    def put_down(self) -> StagedChunk:
        for tsid, shredder in self._shredders.items():
            rows = self._rows[tsid]
            if not rows:
                continue
            names = [field.name for field in (*ARRIVED, OFFSET)]
            columns = dict(zip(names, zip(*rows, strict=True), strict=True))
            arrays = {one.name: pa.array(columns[one.name], one.type) for one in (*ARRIVED, OFFSET)}
            shape = widen(None, shredder.root.shape())
            bodies = list(zip(columns["raw"], columns["namespaces"], strict=True))
            element = nest(shape, flat(shredder.root), bodies)
            self._put(tsid, shape, staged_rows(element=element, **arrays))
        removes, rejected = self._folder / "removes", self._folder / "rejected"
        write_staged(pa.Table.from_pylist(self._removes, STAGED_REMOVES), removes)
        write_staged(pa.Table.from_pylist(self._rejected, QUARANTINE), rejected)
        return StagedChunk(
            tuple(self._tables), str(removes), str(rejected), self._eos, self._ignored
        )

    def _put(self, tsid: str, shape: Slot, rows: pa.RecordBatch) -> None:
        declared = pc.unique(rows.column("namespaces")).to_pylist()[:2]
        shape = replace(shape, declared=tuple(declared), declares=_declares(rows.column("raw")))
        path = self._folder / f"{len(self._tables)}.rows"
        write_staged(rows, path)
        self._tables.append(StagedTable(tsid, RowSource(str(path), shape, is_staged=True)))

    def _declared(self, namespaces: Namespaces, content: bytes) -> str:
        """The text of the declarations around an element."""
        if self._is_default_used or namespaces != UNDECLARED:
            return declarations(namespaces, content, self._is_default_used)
        return ""

    def _take_plain(self, data: bytes, where: Slice, namespaces: Namespaces, skipped: int) -> bool:
        """Take in a fragment written in the usual form, in one pass over its bytes."""
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
            valid_time = read_time(attributes.get(b"validTime", b"start").decode())
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
        declared = self._declared(namespaces, content)
        try:
            content = element_text(content, namespaces_of(declared), context(declared)[0])
        except ExpatError as problem:
            raise NotShreddable(str(problem)) from None
        holes = shredder.add(content, declared)
        self._rows[tsid].append(
            (
                id,
                operation,
                null_if_start(valid_time),
                digest_of(content, declared.encode()),
                [_hole(hole) for hole in holes],
                declared,
                content,
                offset,
            )
        )

    def _reject(self, file: str, offset: int, reason: str, raw: bytes) -> None:
        self._rejected.append({"file": file, "offset": offset, "reason": reason, "raw": raw})


def _declares(raw: pa.BinaryArray) -> bool:
    """Whether anything other than holes may declare namespaces in the fillers' elements."""
    count = pc.sum(pc.count_substring(raw, " xmlns")).as_py()
    if not count:
        return False
    return bool(pc.sum(pc.count_substring_regex(raw, _HOLE_THAT_DECLARES)).as_py() < count)


def _hole(hole: Hole) -> dict[str, Any]:
    return {
        "filler": hole.id,
        "start": hole.start,
        "length": hole.end - hole.start,
        "tag": hole.parent,
    }
