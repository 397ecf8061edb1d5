"""Ingest against Spark's own XML reader, on XMark factor 1 and 0.1: `python -m bench.ingest`.

Both read the same fragments from disk and write Parquet to disk, in one session, and are run in
turns. Spark's reader makes a row of each filler (`rowTag`), with a schema of the same leaves given,
in one table partitioned by tsid. It knows nothing of versions, lifespans, order or bytes.

The first runs, in which Java is still compiling itself, are not counted. Memory is watched in a run
of its own, since watching costs time.
"""

from __future__ import annotations

import gzip
import lzma
import os
import resource
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from bench import Row, show
from xcql import Session
from xcql.model.documents import read_document
from xcql.model.fragmenter import fragment
from xcql.model.infer import infer_from_document, tag_structure
from xcql.model.tags import TagStructure
from xcql.shred.shape import Slot
from xcql_runtime.spark import local_session
from xcql_runtime.store.commit import read_state

XMARK = Path(__file__).parents[2] / "shared" / "xmark"
TEMPORAL = ["item", "person", "open_auction", "closed_auction", "category"]
WARM_UPS, RUNS = 3, 3


def run() -> list[Row]:
    if not XMARK.is_dir():
        print("ingest: left out, for ../shared/xmark is not there")
        return []
    spark = local_session()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = _measure(spark, folder, "auction-0.1.xml.gz")
        large = _measure(spark, folder, "auction-1.xml.xz")
    factor = large.megabytes / small.megabytes
    growth = large.our_cpu / small.our_cpu / factor
    slowdown = large.ours / small.ours / factor
    return [
        Row("ingest, factor 1", large.ours, "s"),
        Row("ingest, factor 1", large.megabytes / large.ours, "MB/s"),
        Row("Spark's XML reader to Parquet, factor 1", large.theirs, "s"),
        Row("ingest / Spark's XML reader, factor 1", large.ours / large.theirs, "x", "at most 1.0"),
        Row("the same in processor time", large.our_cpu / large.their_cpu, "x"),
        Row("ingest, factor 1, processor time", large.our_cpu, "s"),
        Row("Spark's XML reader, factor 1, processor time", large.their_cpu, "s"),
        Row("ingest / Spark's XML reader, factor 0.1", small.ours / small.theirs, "x"),
        Row("time per byte, factor 1 / factor 0.1", slowdown, "x", "at most about 1"),
        Row("processor time per byte, factor 1 / factor 0.1", growth, "x", "at most about 1"),
        Row("store / XML, bytes", large.size, "x", "at most 1.2"),
        Row("peak memory of all Python processes", large.memory, "MB", "at most 1000"),
    ]


@dataclass(frozen=True)
class Figures:
    """What one document gave: seconds, processor seconds, store size by XML size, megabytes."""

    megabytes: float
    ours: float
    our_cpu: float
    theirs: float
    their_cpu: float
    size: float
    memory: float


def _measure(spark: SparkSession, folder: Path, archive: str) -> Figures:
    document = folder / archive.rpartition(".")[0]
    fragments = document.with_suffix(".fragments.xml")
    opener = lzma.open if archive.endswith(".xz") else gzip.open
    with opener(XMARK / archive, "rb") as source, open(document, "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
    with open(document, "rb") as source:
        tree = infer_from_document(read_document(source, document.name))
    tags = tag_structure(tree, temporal=[f"//{name}" for name in TEMPORAL])
    with open(document, "rb") as source, open(fragments, "wb", 1 << 20) as target:
        fragment(read_document(source, document.name), tags, "2003-10-23T00:00:00", target)

    store = folder / "store"

    def ingest() -> None:
        shutil.rmtree(store, ignore_errors=True)
        Session(store, spark).ingest(fragments, stream="auction", tags=tags)

    with _PeakMemory() as memory:
        ingest()
    bytes_stored = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
    schema = _peer_schema(store, tags)

    def read() -> None:
        reader = spark.read.schema(schema).option("rowTag", "filler")
        rows = reader.xml(str(fragments))
        rows.write.mode("overwrite").partitionBy("_tsid").parquet(str(folder / "peer"))

    (ours, our_cpu), (theirs, their_cpu) = _best_of_each(ingest, read)
    assert spark.read.parquet(str(folder / "peer")).count() == _rows(store)
    size = document.stat().st_size
    return Figures(size / 1e6, ours, our_cpu, theirs, their_cpu, bytes_stored / size, memory.peak)


def _best_of_each(*functions: Callable[[], None]) -> list[tuple[float, float]]:
    """The seconds and the processor seconds (Java's, and the workers', too) of the best runs."""
    results: list[list[tuple[float, float]]] = [[] for _ in functions]
    for number in range(WARM_UPS + RUNS):
        for function, found in zip(functions, results, strict=True):
            before, cpu_before = time.perf_counter(), _processor_seconds()
            function()
            if number >= WARM_UPS:
                found.append((time.perf_counter() - before, _processor_seconds() - cpu_before))
    return [(min(s for s, _ in found), min(cpu for _, cpu in found)) for found in results]


# processes come and go: what each has used, as far as it was last seen
_used: dict[int, int] = {}


def _processor_seconds() -> float:
    """The processor time that this process and all below it have used so far."""
    for process in _descendants():
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        _used[process] = int(fields[11]) + int(fields[12])
    return sum(_used.values()) / os.sysconf("SC_CLK_TCK")


def _rows(store: Path) -> int:
    return sum(table.rows for table in read_state(store).stream("auction").tables.values())


def _peer_schema(store: Path, tags: TagStructure) -> StructType:
    """A filler's attributes, and for each element a struct with the leaves of our tables."""
    types: dict[str, DataType] = {}
    for tsid, table in read_state(store).stream("auction").tables.items():
        tag = tags.by_id(tsid)
        assert tag is not None
        type, known = _peer_type(table.shape), types.get(tag.name.local)
        if known is None or len(str(type)) > len(str(known)):
            types[tag.name.local] = type
    attributes = [StructField(name, StringType()) for name in ("_id", "_tsid", "_validTime")]
    return StructType([*attributes, *(StructField(name, type) for name, type in types.items())])


def _peer_type(slot: Slot) -> DataType:
    columns = ["_" + attribute.column.removeprefix("@") for attribute in slot.attributes]
    fields = [StructField(column, StringType()) for column in columns]
    if slot.has_text and not fields:
        return StringType()
    if slot.has_text:
        fields.append(StructField("_VALUE", StringType()))
    for child in slot.children:
        type = _peer_type(child)
        fields.append(StructField(child.column, ArrayType(type) if child.repeats else type))
    return StructType(fields) if fields else StringType()


class _PeakMemory:
    """The most memory that this process and its Python workers have at once, in megabytes."""

    def __init__(self) -> None:
        self.peak = 0.0
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> _PeakMemory:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            self.peak = max(self.peak, sum(map(_resident, _python_processes())))


def _python_processes() -> list[int]:
    """This process, and those of the Python workers that Spark has started for it."""
    return [process for process, name in _descendants().items() if name != "java"]


def _descendants() -> dict[int, str]:
    """This process and all below it, with their names."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                name = Path(f"/proc/{entry}/comm").read_text().strip()
            except OSError:
                continue
            parents[int(entry)] = int(fields[1]), name
    found = {}
    for process, (_, name) in parents.items():
        above = process
        while above in parents and above != os.getpid():
            above = parents[above][0]
        if above == os.getpid():
            found[process] = name
    return found


def _resident(process: int) -> float:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * resource.getpagesize() / 1e6


if __name__ == "__main__":
    show("ingest", run())
