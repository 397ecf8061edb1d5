"""Table (c): fragmenting, ingest and temporalize, in megabytes of XML per second; peak memory.

Ingest against Spark's own XML reader: both read the same fragments from disk and write Parquet to
disk, in one session, in turns. Spark's reader makes a row of each filler (`rowTag`), with a schema
of the same leaves given, in one table partitioned by tsid. It knows nothing about versions,
lifespans, order or bytes. First runs, in which Java is still compiling, do not count. Memory is
measured in separate runs, since that takes time; Java's does not count, because it is a setting.
Fragmenting and ingest are the same for both of our engines; temporalize is not.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from bench.answers import digest
from bench.data import VALID, Auction, inferred_tags
from bench.measure import PeakMemory, Timing, clocked, own_peak, processor_time
from bench.own import ENGINES, NAME, Own
from bench.peers.process import Failed, TooLong, Worker, serve
from bench.rows import Goal, Row
from bench.settings import Settings
from xcql.model.tags import TagStructure
from xcql.shred.shape import Slot

TABLE = "c"
READER = "Spark's XML reader"
TEMPORALIZE = "temporalize"
# the time limit for each of these
_PATIENCE = 1800.0


def run(settings: Settings) -> Iterator[Row]:
    costs: dict[str, float] = {}
    for factor in settings.factors:
        auction = settings.data.auction(factor)
        settings.tell(f"fragment, ingest, temporalize at {factor}")
        folder, runs = settings.scratch("loading"), settings.loading_runs
        for name, measure in (("fragment, one core", _fragmenting), ("ingest", _ingesting)):
            worker = Worker("bench.loading", folder / "loading.log")
            rows = measure(worker, auction, folder, runs, costs)
            yield from _or_void(rows, Row(TABLE, name, NAME, None, "MB/s", factor))
            worker.stop()
        for way in ENGINES:
            # over the store of the last ingest
            engine = Own(way, folder)
            rows = _temporalizing(engine, auction, folder / "view.xml", runs)
            yield from _or_void(rows, Row(TABLE, TEMPORALIZE, way, None, "MB/s", factor))
            engine.stop()
    for small, large in zip(settings.factors, settings.factors[1:], strict=False):
        origins = {settings.data.auction(factor).origin for factor in (small, large)}
        if small in costs and large in costs and len(origins) == 1:
            name = "ingest, processor time a byte"
            growth = costs[large] / costs[small]
            yield Row(TABLE, name, NAME, growth, "x", f"{small} to {large}", goal=Goal(1.1))


def _or_void(rows: Iterator[Row], row: Row) -> Iterator[Row]:
    """The rows; if they cannot be measured, a row that says why."""
    try:
        yield from rows
    except (Failed, TooLong) as problem:
        yield replace(row, voided=f"failed: {problem}")


def _fragmenting(
    worker: Worker, auction: Auction, folder: Path, runs: int, costs: dict[str, float]
) -> Iterator[Row]:
    size, at = auction.megabytes, auction.factor
    reply = worker.ask(
        "fragment",
        _PATIENCE,
        document=str(auction.document),
        output=str(folder / "fragments.xml"),
        runs=runs,
    )
    goal = Goal(30, least=True)
    yield _rate("fragment, one core", Timing.of(reply["seconds"]), size, at, goal)
    yield Row(TABLE, "fragment, peak memory", NAME, reply["peak"], "MB", at, goal=Goal(1000))
    yield _rate("infer-tags, one core", Timing(reply["inferring"]), size, at)


def _ingesting(
    worker: Worker, auction: Auction, folder: Path, runs: int, costs: dict[str, float]
) -> Iterator[Row]:
    size, at = auction.megabytes, auction.factor
    reply = worker.ask(
        "ingest",
        _PATIENCE,
        fragments=str(auction.fragments),
        tags=str(auction.tags_file),
        folder=str(folder),
        runs=runs,
    )
    ours, theirs = Timing.of(reply["ours"]), Timing.of(reply["theirs"])
    costs[at] = min(reply["our_cpu"]) / size
    voided = "" if reply["rows"] == reply["their_rows"] else "the numbers of rows differ"
    goal = Goal(1.0) if at == "1" else None
    spread = ours.spread + theirs.spread
    yield _rate("ingest", ours, size, at)
    yield Row(TABLE, "ingest", READER, size / theirs.seconds, "MB/s", at, theirs.spread)
    times = ours.seconds / theirs.seconds
    yield Row(TABLE, "ingest", f"{NAME} / {READER}", times, "x", at, spread, goal, "", voided)
    cpu = min(reply["our_cpu"]) / min(reply["their_cpu"])
    yield Row(TABLE, "ingest, processor time", f"{NAME} / {READER}", cpu, "x", at)
    yield Row(TABLE, "ingest, peak memory", NAME, reply["peak"], "MB", at, goal=Goal(1000))
    stored = reply["bytes"] / 1e6 / size
    yield Row(TABLE, "ingest, size of the store / XML", NAME, stored, "x", at, goal=Goal(1.2))


def _temporalizing(engine: Own, auction: Auction, output: Path, runs: int) -> Iterator[Row]:
    at = auction.factor
    seconds, peak = engine.temporalize(output, runs, _PATIENCE)
    same = digest(output).says_the_same(digest(auction.document))
    voided = "" if same else "the view is not the document"
    row = _rate(TEMPORALIZE, Timing.of(seconds), auction.megabytes, at)
    yield replace(row, way=engine.name, voided=voided)
    yield Row(TABLE, f"{TEMPORALIZE}, peak memory", engine.name, peak, "MB", at)


def _rate(name: str, timing: Timing, size: float, at: str, goal: Goal | None = None) -> Row:
    return Row(TABLE, name, NAME, size / timing.seconds, "MB/s", at, timing.spread, goal)


def _fragment(document: str, output: str, runs: int) -> dict[str, Any]:
    """Speed in processor time, not wall time: it is for one core."""
    from xcql.model.documents import read_document
    from xcql.model.fragmenter import fragment

    before = time.process_time()
    tags = inferred_tags(Path(document))
    inferring = time.process_time() - before
    seconds = []
    for _ in range(runs):
        before = time.process_time()
        with open(document, "rb") as source, open(output, "wb", 1 << 20) as target:
            fragment(read_document(source, document), tags, VALID, target)
        seconds.append(time.process_time() - before)
    return {"inferring": inferring, "seconds": seconds, "peak": own_peak()}


def _ingest(fragments: str, tags: str, folder: str, runs: int) -> dict[str, Any]:
    from xcql import Session
    from xcql.model.tags import read_tags
    from xcql_runtime.spark.start import local_session

    spark, store, peer = local_session(), Path(folder) / "store", str(Path(folder) / "peer")
    structure = read_tags(tags)

    def ingest() -> None:
        shutil.rmtree(store, ignore_errors=True)
        Session(store, spark).ingest(fragments, stream="auction", tags=structure)

    with PeakMemory() as memory:
        ingest()
    schema = _peer_schema(store, structure)

    def read() -> None:
        rows = spark.read.schema(schema).option("rowTag", "filler").xml(fragments)
        rows.write.mode("overwrite").partitionBy("_tsid").parquet(peer)

    read()
    (ours, our_cpu), (theirs, their_cpu) = _in_turns(runs, ingest, read)
    return {
        "ours": ours,
        "our_cpu": our_cpu,
        "theirs": theirs,
        "their_cpu": their_cpu,
        "rows": _rows(store),
        "their_rows": spark.read.parquet(peer).count(),
        "bytes": sum(path.stat().st_size for path in store.rglob("*") if path.is_file()),
        "peak": memory.peak,
    }


def _in_turns(runs: int, *functions: Callable[[], None]) -> list[tuple[list[float], list[float]]]:
    """The seconds, and the processor seconds (including Java and workers), of all runs."""
    results: list[tuple[list[float], list[float]]] = [([], []) for _ in functions]
    for _ in range(runs):
        for function, (seconds, cpu) in zip(functions, results, strict=True):
            before = processor_time()
            seconds.append(clocked(function))
            cpu.append(processor_time() - before)
    return results


def _rows(store: Path) -> int:
    from xcql.store.commit import read_state

    return sum(table.rows for table in read_state(store).stream("auction").tables.values())


def _peer_schema(store: Path, tags: TagStructure) -> StructType:
    """A filler's attributes, and for each element a struct with the leaves of our tables."""
    from xcql.store.commit import read_state

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


if __name__ == "__main__":
    serve(fragment=_fragment, ingest=_ingest)
