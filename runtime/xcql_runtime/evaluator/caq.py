"""CaQ: Spark builds the views of a query's streams, and the reference evaluator answers it.

One task receives all copies of fillers in the views, in document order, with their bytes. It
assembles them and evaluates the query. CaQ defines every answer, and handles every query that has
no native form.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import arrow_udtf

from xcql.check import Checked
from xcql.shred.tables import COMMON
from xcql.store.state import DataFile, StoreState, Stream
from xcql_runtime.evaluator.rows_as_xml import row_pieces
from xcql_runtime.evaluator.views import Copy
from xcql_runtime.evaluator.worker import Surroundings, Task, answer
from xcql_runtime.tables.frames import counts_at, files_frame, instant
from xcql_runtime.tables.temporalize import places_for

ANSWER_COLUMNS = "item string, vtFrom timestamp_ntz, vtTo timestamp_ntz"


def streams_of(query: Checked, state: StoreState) -> tuple[str, ...]:
    """The streams of a store that a query may read, including that of its context item."""
    named = query.streams
    return tuple(
        name
        for name in sorted(state.streams)
        if named is None or name in named or name == query.context
    )


def caq_frame(
    spark: SparkSession,
    store: Path,
    state: StoreState,
    query: Checked,
    around: Surroundings,
    frames: Mapping[str, DataFrame],
) -> DataFrame:
    """The answer of a query: one row per item, in order."""
    # a prefix for lifespans that cannot occur in the data
    prefix = f"xcql-{secrets.token_hex(8)}"
    task = Task(
        around,
        streams_of(query, state),
        tuple(frames),
        {name: stream.tags for name, stream in state.streams.items()},
        prefix,
    )
    tables: dict[str, DataFrame] = {}
    selects = [_ALWAYS]
    for number, name in enumerate(task.streams):
        for select, parts in _copies(spark, store, state.stream(name), number, around.now):
            selects.append(select)
            tables.update(parts)
    for number, frame in enumerate(frames.values(), len(task.streams)):
        selects.append(_ROWS.format(number=number))
        tables[f"rows{number}"] = row_pieces(frame, around.query)
    copies = spark.sql("\nUNION ALL\n".join(selects), {"now": instant(around.now)}, **tables)
    table = copies.asTable().withSinglePartition().orderBy("source", "key")
    answering: Any = arrow_udtf(_answering(task), returnType=ANSWER_COLUMNS)
    result: DataFrame = answering(table)
    return result


# a row that always exists: without any row, the task would not run
_ALWAYS = """SELECT -1 AS source, X'' AS key, X'' AS raw, array(0) AS starts, array(0) AS lengths,
  '' AS declarations, false AS timed,
  CAST(NULL AS TIMESTAMP_NTZ) AS vtFrom, CAST(NULL AS TIMESTAMP_NTZ) AS vtTo"""

_ROWS = """SELECT {number}, key, binary(text), array(), array(), '', false, NULL, NULL
FROM {{rows{number}}}"""

# the versions valid for this evaluation, once per valid place
_PLACED = """SELECT {number}, concat(place.key, unhex(lpad(hex(number), 8, '0'))), raw,
  holes.start, holes.length, namespaces, {timed}, vtFrom, vtTo
FROM (SELECT *, explode(places) AS place
  FROM (SELECT *, :now AS now FROM {{{table}}}) WHERE {counts}) WHERE {place_counts}"""

# the same for a store that keeps no places
_LOOKED_UP = """SELECT {number}, concat(key, unhex(lpad(hex(number), 8, '0'))), raw,
  holes.start, holes.length, namespaces, {timed}, vtFrom, vtTo
FROM (SELECT *, :now AS now FROM {{{table}}}) JOIN {{places{number}}} USING (seq) WHERE {counts}"""


def _copies(
    spark: SparkSession, store: Path, stream: Stream, number: int, now: datetime
) -> Iterator[tuple[str, dict[str, DataFrame]]]:
    """The copies of a stream's fillers, as SQL texts with the tables they read."""
    files: dict[bool, list[DataFile]] = {}
    for tsid, table in stream.tables.items():
        tag = stream.tags.by_id(tsid)
        assert tag is not None
        files.setdefault(tag.kind != "snapshot", []).extend(table.files)
    places = {}
    if not stream.placed:
        places[f"places{number}"] = places_for(spark, store, stream, now)[0]
    for timed, those in files.items():
        table_name = f"stream{number}_{'timed' if timed else 'snapshots'}"
        select = (_PLACED if stream.placed else _LOOKED_UP).format(
            number=number,
            timed=str(timed).lower(),
            table=table_name,
            counts=counts_at(),
            place_counts=counts_at("place."),
        )
        yield select, {table_name: files_frame(spark, store, those, COMMON), **places}


def _answering(task: Task) -> type:
    """The class that a worker instantiates and feeds with the copies, batch by batch."""

    class Answering:
        def __init__(self) -> None:
            self.copies: dict[int, list[Copy]] = {}

        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            columns = (batch.column(name).to_pylist() for name in batch.schema.names)
            for source, key, raw, starts, lengths, *rest in zip(*columns, strict=True):
                holes = list(zip(starts, lengths, strict=True))
                self.copies.setdefault(source, []).append(Copy(key, raw, holes, *rest))
            yield from ()

        def terminate(self) -> Iterator[pa.RecordBatch]:
            yield from answer(task, self.copies)

    return Answering
