"""Temporalize: the view of a stream as XML text, rebuilt by Spark from the leaves up.

Fillers at the greatest depth of the view are complete. The texts of one depth are combined with
the pieces of the fillers one level up, whose holes they fill: both carry the key of the parent's
row, and their position in it. The root is never one value: its pieces are returned one by one, in
document order.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import reduce
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import broadcast, expr, regexp_extract, regexp_replace

from xcql.arrays import ranges, taken
from xcql.diagnostics import error
from xcql.history import predicates
from xcql.history.arrivals import gather, microseconds
from xcql.history.bitemporal import BitemporalRow
from xcql.history.places import STEP, VersionColumns, place
from xcql.model.tags import TagKind
from xcql.model.time import START
from xcql.shred.tables import COMMON, REMOVES
from xcql.store.rows import stored_rows
from xcql.store.state import DataFile, Stream
from xcql_runtime.spark.failures import understood
from xcql_runtime.spark.jobs import iterate_rows
from xcql_runtime.tables.frames import counts_at, files_frame, instant

_NAME_OF_TAG = r"^<[^\s/>]+"
_VALUE = r"""(?:"[^"]*"|'[^']*')"""
_NAME_AND_ATTRIBUTES = rf"^<[^\s/>]+(?:\s+[^\s=/>]+\s*=\s*{_VALUE})*"
# a lifespan in the data, after any other attributes
_OLD_LIFESPAN = (
    rf"^(<[^\s/>]+(?:\s+(?!(?:vtFrom|vtTo)[\s=])[^\s=]+\s*=\s*{_VALUE})*)"
    rf"\s+(?:vtFrom|vtTo)\s*=\s*{_VALUE}"
)


# the limit for copies that are computed because the store does not keep them
_MAX_COPIES = 2_000_000


def temporalize(
    spark: SparkSession, store: Path, stream: Stream, now: datetime, at: datetime | None = None
) -> Iterator[str]:
    """The text of the whole temporal view, or of the document `at` an instant.

    It comes in pieces, to be written one after the other.
    """
    with understood():
        ordered = _ordered(spark, store, stream, now, at)
        if ordered is not None:
            for row in iterate_rows(ordered, ahead=True):
                yield row["text"]


def _ordered(
    spark: SparkSession, store: Path, stream: Stream, now: datetime, at: datetime | None
) -> DataFrame | None:
    """The pieces of the text in order; None if there is no root."""
    looked_up: DataFrame | None = None
    deepest = max((depth for table in stream.tables.values() for depth in table.depths), default=-1)
    if not stream.placed:
        looked_up, deepest = places_for(spark, store, stream, now, at)
    if deepest < 0:
        return None
    below: DataFrame | None = None
    for depth in range(deepest, 0, -1):
        below = _complete(_pieces(spark, store, stream, depth, now, at, below, looked_up))
    pieces = _pieces(spark, store, stream, 0, now, at, below, looked_up)
    if at is not None:
        # if the root itself did not exist at that instant, nothing did
        roots = pieces.where("position < 0").select("row")
        pieces = pieces.join(broadcast(roots), "row", "left_semi")
    return pieces.orderBy("row", "position", "part", "number").select("text")


def _pieces(
    spark: SparkSession,
    store: Path,
    stream: Stream,
    depth: int,
    now: datetime,
    at: datetime | None,
    below: DataFrame | None,
    looked_up: DataFrame | None,
) -> DataFrame:
    """The pieces of the fillers at a depth: their text between holes, and what fills the holes.

    Columns: `row`, the key of the filler's row; `position`, the offset of the hole that the piece
    fills or follows (-1: the first piece); `part`, 0 if it fills the hole, 1 if it follows it;
    `number`, which distinguishes the versions that fill a hole; `text`.
    """
    # tables that are handled alike are read together
    alike: dict[tuple[TagKind, bool], list[DataFile]] = {}
    for tsid, table in stream.tables.items():
        tag = stream.tags.by_id(tsid)
        assert tag is not None
        if looked_up is not None or depth in table.depths:
            own = {attribute.name for attribute in table.shape.attributes}
            has_lifespan = not own.isdisjoint({"vtFrom", "vtTo"})
            alike.setdefault((tag.kind, has_lifespan), []).extend(table.files)
    frames = [
        _own_pieces(
            _placed(files_frame(spark, store, files, COMMON), looked_up, now, depth),
            kind,
            has_lifespan,
            at,
        )
        for (kind, has_lifespan), files in alike.items()
    ]
    if below is not None:
        frames.append(below)
    return reduce(DataFrame.unionByName, frames)


def _own_pieces(
    rows: DataFrame, kind: TagKind, has_lifespan: bool, at: datetime | None
) -> DataFrame:
    """The fillers' own text; `has_lifespan` says that the data may contain lifespans of its own."""
    if at is not None:
        rows = rows.withColumn("at", instant(at)).where(stands_at(kind))
    start = expr("string(substring(raw, 1, coalesce(get(holes, 0).start, octet_length(raw))))")
    lifespan = ""
    if at is None and kind != "snapshot":
        lifespan = f", {_lifespan(kind)}"
        if has_lifespan:
            for _ in range(2):
                start = regexp_replace(start, _OLD_LIFESPAN, "$1")
    return (
        rows.withColumn("start", start)
        .withColumn("name", regexp_extract("start", _NAME_OF_TAG, 0))
        .withColumn("head", regexp_extract("start", _NAME_AND_ATTRIBUTES, 0))
        .selectExpr(
            "concat(key, unhex(lpad(hex(number), 8, '0'))) AS row",
            f"""concat(
                  array(named_struct(
                    'position', -1,
                    'text', concat(name, namespaces, substr(head, length(name) + 1){lifespan},
                      substr(start, length(head) + 1)))),
                  transform(holes, (hole, i) -> named_struct(
                    'position', hole.start,
                    'text', string(substring(
                      raw,
                      hole.start + hole.length + 1,
                      coalesce(get(holes, i + 1).start, octet_length(raw))
                        - hole.start - hole.length))))
                ) AS pieces""",
        )
        .selectExpr("row", "explode(pieces) AS piece")
        .selectExpr(
            "row", "piece.position AS position", "1 AS part", "0 AS number", "piece.text AS text"
        )
    )


def _placed(frame: DataFrame, looked_up: DataFrame | None, now: datetime, depth: int) -> DataFrame:
    """The valid rows, once for each of their places at a depth, with the place's `key`."""
    rows = frame.withColumn("now", instant(now)).where(counts_at())
    if looked_up is not None:
        rows = rows.join(looked_up, "seq")
    else:
        rows = rows.selectExpr("*", "explode(places) AS place").where(counts_at("place."))
        rows = rows.withColumn("key", expr("place.key"))
    return rows.where(f"length(key) = {depth * STEP}")


def places_for(
    spark: SparkSession, store: Path, stream: Stream, now: datetime, at: datetime | None = None
) -> tuple[DataFrame, int]:
    """Compute the places of what is shown, for a store that keeps none; and the greatest depth.

    A view with too many copies to be stored may have only few at any instant.
    """
    parts = list(stored_rows(store, stream))
    arrivals = gather(
        stream.tags, [(part.tsid, part.light) for part in parts], REMOVES.empty_table()
    )
    row_of = {seq: row for row, seq in enumerate(arrivals.seqs.tolist())}
    shown: list[tuple[int, ...]] = []
    for part in parts:
        tag = stream.tags.by_id(part.tsid)
        assert tag is not None
        assert part.derived is not None
        for values in part.derived.to_pylist():
            version = BitemporalRow(
                values["seq"],
                values["number"],
                values["vtFrom"] or START,
                values["vtTo"],
                values["since"] or START,
                values["until"],
            )
            end = predicates.known_end(version.vt_to, now)
            if version.counts_at(now) and (
                at is None or predicates.stands_at(tag.kind, version.vt_from, end, at)
            ):
                row = row_of[version.seq]
                times = map(microseconds, version[2:])
                shown.append((int(arrivals.fillers[row]), row, version.number, *times))
    shown.sort()
    versions = VersionColumns(*np.array(shown, np.int64).reshape(-1, 7).T)
    filler_tags = np.full(len(arrivals.ids), -1)
    filler_tags[versions.fillers] = arrivals.tags[versions.rows]
    placement = place(stream.tags, arrivals.ids, filler_tags, versions, arrivals.holes, _MAX_COPIES)
    if not placement.complete:
        raise error(
            "XCQL0318",
            f"the view of '{stream.name}' has more than {_MAX_COPIES:,} copies of fillers",
            hints=["request the document at an instant, or query the stream"],
        )
    borders = np.searchsorted(versions.fillers, np.arange(len(arrivals.ids) + 1))
    fillers = placement.places.fillers
    place_numbers, version_numbers = ranges(borders[fillers], borders[fillers + 1])
    rows = list(
        zip(
            arrivals.seqs[versions.rows[version_numbers]].tolist(),
            taken(placement.places.keys, place_numbers).to_pylist(),
            strict=True,
        )
    )
    deepest = max((len(key) // STEP for _, key in rows), default=-1)
    return spark.createDataFrame(rows, "seq long, key binary"), deepest


def _complete(pieces: DataFrame) -> DataFrame:
    """Assemble fillers from their pieces; the results are pieces of the enclosing fillers."""
    parts = (
        "array_sort(collect_list(named_struct('p', position, 'q', part, 'n', number, 't', text)))"
    )
    # without its first piece the row itself is not valid, whatever fills its holes
    whole = pieces.groupBy("row").agg(expr(parts).alias("parts")).where("parts[0].p = -1")
    return whole.selectExpr(
        "substring(row, 1, length(row) - 8) AS row",
        "int(conv(hex(substring(row, length(row) - 7, 4)), 16, 10)) AS position",
        "0 AS part",
        "int(conv(hex(substring(row, length(row) - 3, 4)), 16, 10)) AS number",
        "array_join(transform(parts, part -> part.t), '') AS text",
    )


def stands_at(kind: TagKind) -> str:
    """The SQL condition that a version is in the document at the instant in the column `at`.

    It is the SQL form of `stands_at` in `xcql.history.predicates`.
    """
    begun = "(vtFrom IS NULL OR vtFrom <= at)"
    if kind == "event":
        return begun
    return f"{begun} AND (vtTo IS NULL OR vtTo > at OR vtTo > now)"


def _lifespan(kind: TagKind) -> str:
    """The attributes `vtFrom` and `vtTo` as text."""
    begin = "coalesce(replace(string(vtFrom), ' ', 'T'), 'start')"
    end = "if(vtTo IS NULL OR vtTo > now, 'now', replace(string(vtTo), ' ', 'T'))"
    if kind == "event":
        end = begin
    return f"""' vtFrom="', {begin}, '" vtTo="', {end}, '"'"""
