"""Where fragments come from: folders, TCP, Kafka, and any streaming DataFrame with a text column.

All sources of a query are one streaming frame, so that there is one sequence of batches:

    stream    the stream's name
    place     what orders the rows of a stream: a file's path, a partition
    position  and where in it a row is
    data      bytes: a fragment, or a whole file
    is_file   which of the two
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit
from pyspark.sql.types import StringType

from xcql.continuous import Arrival
from xcql.diagnostics import XcqlError, error
from xcql.model.scan import FRAGMENT_START
from xcql.publish.addresses import FolderAddress, KafkaAddress, TcpAddress, parse_address
from xcql.publish.cut import as_text, cut
from xcql.store.state import folder_name
from xcql_runtime.streaming.journal import SeenFiles
from xcql_runtime.streaming.kafka import kafka_rows
from xcql_runtime.streaming.tcp_source import BroadcastLines

Source = str | Path | DataFrame

# so many bytes of files are in one batch, or one file
_MAX_BYTES = 1 << 25
# what Spark would take for a pattern in the path of a folder
_PATTERN = re.compile(r"[][{}*?\\]")
_FILES = "path string, modificationTime timestamp, length long, content binary"


def source_rows(
    spark: SparkSession, sources: Mapping[str, Source], spool: Path, max_fragments: int
) -> DataFrame:
    """The rows of all sources of a query, by the names of their streams."""
    frames = [
        _rows(spark, name, source, spool / folder_name(name), max_fragments)
        for name, source in sources.items()
    ]
    return reduce(DataFrame.unionAll, frames)


def _rows(
    spark: SparkSession, name: str, source: Source, spool: Path, max_fragments: int
) -> DataFrame:
    if isinstance(source, DataFrame):
        frame = _text_column(source, name)
        # rows come in the order of the frame, and are left in it
        return _columns(frame, name, lit(""), lit(0), col("data"))
    match parse_address(str(source)):
        case FolderAddress(path=path):
            if not path.exists():
                raise error(
                    "XCQL0725",
                    f"there is no folder '{path}' to watch",
                    hints=[f"make it first: mkdir -p {path}"],
                )
            frame = (
                spark.readStream.format("binaryFile")
                .schema(_FILES)
                .option("maxBytesPerTrigger", _MAX_BYTES)
                # Spark would pass over files that are older than others by more than a week
                .option("maxFileAge", "36500d")
                .load(_PATTERN.sub(r"\\\g<0>", str(path.absolute())))
            )
            return _columns(frame, name, col("path"), lit(0), col("content"), is_file=True)
        case TcpAddress() as address:
            spark.dataSource.register(BroadcastLines)
            frame = (
                spark.readStream.format("xcql-tcp")
                .option("host", address.host)
                .option("port", address.port)
                .option("spool", str(spool.absolute()))
                .option("maxLines", max_fragments)
                .load()
            )
            return _columns(frame, name, lit(""), col("number"), col("data"))
        case KafkaAddress() as address:
            frame = kafka_rows(spark, address, max_fragments)
            partition = col("partition").cast("string")
            return _columns(frame, name, partition, col("offset"), col("value"))


def _columns(
    frame: DataFrame,
    name: str,
    place: object,
    position: object,
    data: object,
    is_file: bool = False,
) -> DataFrame:
    return frame.select(
        lit(name).alias("stream"),
        place.alias("place"),  # type: ignore[attr-defined]
        position.cast("long").alias("position"),  # type: ignore[attr-defined]
        data.cast("binary").alias("data"),  # type: ignore[attr-defined]
        lit(is_file).alias("is_file"),
    )


def _text_column(frame: DataFrame, name: str) -> DataFrame:
    if not frame.isStreaming:
        raise error(
            "XCQL0726",
            f"the DataFrame for the stream '{name}' is no streaming one",
            hints=["make it with spark.readStream", "what is complete is asked with session.query"],
        )
    texts = [field.name for field in frame.schema if isinstance(field.dataType, StringType)]
    if "value" in texts:
        texts = ["value"]
    if len(texts) != 1:
        found = ", ".join(texts) or "none"
        raise error(
            "XCQL0726",
            f"the DataFrame for the stream '{name}' needs one text column; it has {found}",
            hints=["select the column with the fragments, or call it 'value'"],
        )
    return frame.select(col(f"`{texts[0]}`").alias("data"))


def arrivals_of(rows: pa.Table, batch: int, seen: Mapping[str, SeenFiles]) -> list[Arrival]:
    """The fragments of a batch, those of a stream in the order in which they came."""
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
    """The fragment that a message is; should it be several, all of them."""
    line = line.strip()
    if FRAGMENT_START.match(line) and not FRAGMENT_START.search(line, 1):
        yield line
    else:
        yield from (one for one in cut(line, "<line>") if isinstance(one, bytes))


def _of_file(path: str, data: bytes) -> Iterator[bytes]:
    """The fragments of a file; an `<eos/>` ends only the file, and so is not passed on."""
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


def resolved(
    source: Source | Mapping[str, Source], named: frozenset[str] | None, known: list[str]
) -> dict[str, Source]:
    """The sources by the names of their streams; one alone is that of the query's only stream."""
    if isinstance(source, Mapping):
        if not source:
            raise _no_source("there is no source")
        return dict(source)
    names = known if named is None else sorted(named)
    if len(names) == 1:
        return {names[0]: source}
    if not names:
        raise _no_source("it is not clear which stream the source is for")
    raise _no_source(f"the query looks at {len(names)} streams: {', '.join(names)}")


def _no_source(reason: str) -> XcqlError:
    return error(
        "XCQL0727",
        reason,
        hints=[
            'name the streams: source={"name": "tcp://host:port"}',
            "on the command line: --source NAME=ADDRESS",
        ],
    )
