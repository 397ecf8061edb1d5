"""Reads fragment files: every fragment in order, and a record of everything else.

>>> from xcql.model.tags import parse_tags
>>> tags = parse_tags('<structure><tag type="snapshot" id="1" name="a"/></structure>')
>>> batch = read_all('<filler id="0" tsid="1"><a>x</a></filler> <filler id="1"/>', tags)
>>> [fragment.content for fragment in batch.fragments]
[b'<a>x</a>']
>>> [rejected.reason for rejected in batch.rejected]
['the filler has no tsid']
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from xcql.diagnostics import Diagnostic, XcqlError, error, warning
from xcql.model.check import fragment_checker
from xcql.model.fragments import EndOfStream, Fragment, Namespaces, Rejected
from xcql.model.scan import (
    FRAGMENT_START,
    MEANINGLESS,
    FileHead,
    Slice,
    file_head,
    is_file_end,
    scan,
)
from xcql.model.tags import TagStructure
from xcql.source import Source, Span
from xcql.xdm.encoding import encoding_of
from xcql.xdm.parse import utf8_bytes

Record = Fragment | Rejected | Diagnostic

# XML text as str or bytes, a file, or a folder of files
FragmentSource = str | bytes | Path


@dataclass(frozen=True, slots=True)
class FragmentBatch:
    """The result of reading: the valid fragments in order of arrival, rejections and warnings."""

    fragments: tuple[Fragment, ...]
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()


def read_all(
    source: FragmentSource | Iterable[FragmentSource], tags: TagStructure
) -> FragmentBatch:
    """Read all fragments of a source, or of several sources in order.

    A `str` is XML text if it begins with `<`, else a path; a folder means its files in order of
    name; files that end in `.gz` are unpacked.
    """
    records = list(read(source, tags))
    return FragmentBatch(
        tuple(record for record in records if isinstance(record, Fragment)),
        tuple(record for record in records if isinstance(record, Rejected)),
        tuple(record for record in records if isinstance(record, Diagnostic)),
    )


def read(source: FragmentSource | Iterable[FragmentSource], tags: TagStructure) -> Iterator[Record]:
    """Like `read_all`, but yield one record at a time and keep only one file in memory.

    A file with the same content as an earlier one is skipped.
    """
    seen: set[bytes] = set()
    for file, data in _files(source):
        text = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
        digest = sha256(text).digest()
        if digest not in seen:
            seen.add(digest)
            yield from read_fragments(data, tags, file)


def _files(source: FragmentSource | Iterable[FragmentSource]) -> Iterator[tuple[str, str | bytes]]:
    """The name and content of every file of a source."""
    if isinstance(source, bytes) or (isinstance(source, str) and is_xml_text(source)):
        yield "<fragments>", source
    elif isinstance(source, str | Path):
        for path in fragment_files(source):
            yield str(path), read_bytes(path)
    else:
        for part in source:
            yield from _files(part)


def fragment_files(path: str | Path) -> list[Path]:
    """The file itself, or the files of a folder in order of name, without hidden ones."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.is_file())
    return [file for file in files if not file.name.startswith((".", "_"))]


def read_bytes(path: Path) -> bytes:
    """The content of a file, unpacked if its name ends in `.gz`."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise error("XCQL0300", f"'{path}' is not a complete gzip file: {problem}") from None
    except OSError as problem:
        raise error("XCQL0300", f"'{path}' cannot be read: {problem.strerror}") from None


def read_fragments(data: str | bytes, tags: TagStructure, file: str) -> Iterator[Record]:
    """The fragments of one file in order, with everything that was rejected.

    A `Diagnostic` among them is a warning. Offsets count the bytes of the file or, if it is not
    UTF-8, of its UTF-8 form.
    """
    try:
        skipped = len(encoding_of(data)[1]) if isinstance(data, bytes) else 0
        data = utf8_bytes(data, file)
    except XcqlError as problem:
        raw = data if isinstance(data, bytes) else data.encode("utf-8", "replace")
        yield Rejected(file, 0, "malformed", problem.message, raw)
        return
    head = file_head(data, file, skipped)
    yield from head.rejected
    yield from fragments_in(data, head, fragment_checker(tags), file, skipped)


def fragments_in(
    data: bytes,
    head: FileHead,
    check: Callable[[bytes, Slice, Namespaces, str, int], Fragment | Rejected | EndOfStream | None],
    file: str,
    skipped: int = 0,
    is_last: bool = True,
) -> Iterator[Record]:
    """The fragments in a file's bytes, or in a part of them that starts and ends between fragments.

    `check` is called with every fragment in order; its result is yielded unless it is None. If
    `is_last` is true, the end of the file is expected, too.
    """
    position = head.begin
    slices = scan(data, position)
    while (found := next(slices, None)) is not None:
        gap = data[position : found.start]
        if not MEANINGLESS.fullmatch(gap):
            yield _stray(gap, file, skipped + position)
        position = found.end
        record = check(data, found, head.namespaces, file, skipped)
        if isinstance(record, EndOfStream):
            if not is_file_end(data[position:], head):
                yield _after_the_end(record, data[position:])
            return
        if isinstance(record, Rejected) and record.kind == "malformed":
            # its end may belong to another, valid fragment inside it: continue at that one
            inner = FRAGMENT_START.search(data, found.start + 1, found.end)
            if inner is not None:
                position = inner.start()
                slices = scan(data, position)
                raw = data[found.start : position]
                record = Rejected(file, record.offset, record.kind, record.reason, raw)
        if record is not None:
            yield record
    rest = data[position:]
    if not is_last:
        if not MEANINGLESS.fullmatch(rest):
            yield _stray(rest, file, skipped + position)
    elif not is_file_end(rest, head):
        if MEANINGLESS.fullmatch(rest):
            yield Rejected(file, skipped + len(data), "malformed", "the root is not closed", b"")
        else:
            yield _stray(rest, file, skipped + position)


def is_xml_text(text: str) -> bool:
    """Whether a string is XML text rather than a path."""
    return text.lstrip("\ufeff \t\r\n")[:1] in ("<", "")


def _stray(gap: bytes, file: str, offset: int) -> Rejected:
    meaningless = MEANINGLESS.match(gap)
    lead = meaningless.end() if meaningless else 0
    reason = "this is not a fragment: expected filler, repeat, replace, remove or eos"
    return Rejected(file, offset + lead, "not a fragment", reason, gap[lead:])


def _after_the_end(eos: EndOfStream, rest: bytes) -> Diagnostic:
    count = sum(1 for _ in scan(rest))
    return warning(
        "XCQL0301",
        f"content after <eos/> at byte {eos.offset} of '{eos.file}' is ignored"
        f" ({count} {'fragment' if count == 1 else 'fragments'})",
        Span(Source("", eos.file), 0, 0),
        hints=["put anything after the end of a stream into another file"],
    )
