"""Extract fragments from the rows of sources; see `sources.source` for their columns."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

import pyarrow as pa

from xcql.continuous import Arrival
from xcql.model.scan import FRAGMENT_START
from xcql.publish.cut import as_text, cut
from xcql_runtime.streaming.journal import SeenFiles


def arrivals_of(rows: pa.Table, batch: int, seen: Mapping[str, SeenFiles]) -> list[Arrival]:
    """The fragments of a batch; those of one stream are in order of arrival."""
    columns = [rows.column(name).to_pylist() for name in ("stream", "place", "position")]
    order = sorted(range(rows.num_rows), key=lambda row: [column[row] for column in columns])
    data, is_file = rows.column("data"), rows.column("is_file").to_pylist()
    files = [row for row in order if is_file[row]]
    digests: dict[str, list[str]] = {}
    for row in files:
        digest = hashlib.blake2b(data[row].as_buffer()).hexdigest()[:32]
        digests.setdefault(columns[0][row], []).append(digest)
    is_new = {name: iter(seen[name].new(batch, those)) for name, those in digests.items()}
    arrivals: list[Arrival] = []
    for row in order:
        stream = columns[0][row]
        if not is_file[row]:
            fragments = _of_line(data[row].as_py() or b"")
        elif next(is_new[stream]):
            fragments = _of_file(columns[1][row], data[row].as_py())
        else:
            continue
        arrivals += [Arrival(stream, as_text(fragment)) for fragment in fragments]
    return arrivals


def _of_line(line: bytes) -> Iterator[bytes]:
    """The fragment in a message; if it contains several, all of them."""
    line = line.strip()
    if FRAGMENT_START.match(line) and not FRAGMENT_START.search(line, 1):
        yield line
    else:
        yield from (one for one in cut(line, "<line>") if isinstance(one, bytes))


def _of_file(path: str, data: bytes) -> Iterator[bytes]:
    """The fragments of a file, without `<eos/>`, which here only ends the file."""
    name = unquote(path.removeprefix("file:"))
    if name.endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (EOFError, zlib.error, OSError):
            yield data
            return
    for one in cut(data, name):
        if isinstance(one, bytes) and not _is_end(one):
            yield one


def _is_end(fragment: bytes) -> bool:
    return fragment.startswith((b"<eos", b"<stream:eos"))
