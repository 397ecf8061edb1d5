"""The tables of compiled SQL: DataFrames over exactly the files and fields that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import create_map, expr, lit, regexp_extract

from xcql.compile.result import TableUse
from xcql.compile.terms.layout import joint_schema, read_schema, widened
from xcql.dialects.slots import SqlText
from xcql.dialects.spark import spark_text
from xcql.dialects.trees import column
from xcql.shred.nodes import node_schema
from xcql.shred.shape import TEXT, Slot
from xcql.sql.conversion import as_type
from xcql.store.state import DataFile, StoreState, folder_name
from xcql_runtime.spark.frames import files_frame, instant
from xcql_runtime.spark.settings import our_settings
from xcql_runtime.store_reader import PinnedStore, files_in_use

# more rows than this are worth a second task
_FEW_ROWS = 1 << 17


def is_little(state: StoreState, uses: Iterable[TableUse]) -> bool:
    """Whether reading some tables is fastest in one task.

    One task needs no shuffle, which costs more than processing a few rows. This does not hold for
    bytes and long text, which may be large.
    """
    rows = 0
    for use in uses:
        tables = state.stream(use.stream).tables
        for table in (tables[tsid] for tsid in use.tags if tsid in tables):
            if use.nodes:
                rows += sum(file.rows for file in files_in_use(table, use))
                continue
            if ("raw",) in use.columns or _reads_long_text(table.shape, ("element",), use.columns):
                return False
            rows += sum(_rows_of(file, use) for file in table.files)
    return rows <= _FEW_ROWS


def _rows_of(file: DataFile, use: TableUse) -> int:
    """How many rows of a file may be needed."""
    return file.present if use.present and file.present is not None else file.rows


def _reads_long_text(slot: Slot, path: tuple[str, ...], columns: Sequence[tuple[str, ...]]) -> bool:
    if slot.opaque:
        text = (*path, TEXT)
        return any(column == text[: len(column)] for column in columns)
    return any(_reads_long_text(child, (*path, child.column), columns) for child in slot.children)


def table_in_use(spark: SparkSession, store: PinnedStore, use: TableUse) -> DataFrame:
    """The rows of several tags' tables as one table, with the columns of `layout.joint_schema`.

    Files with the same layout are read together; only the fields in use are read. Or their nodes,
    with the columns of `nodes.node_schema`.
    """
    if use.nodes:
        return _nodes_in_use(spark, store, use)
    stream = store.state.stream(use.stream)
    tables = {tsid: stream.tables.get(tsid) for tsid in use.tags}
    own = {
        tsid: read_schema(table.shape if table else None, use.columns)
        for tsid, table in tables.items()
    }
    joint = joint_schema(list(own.values()))
    reads: list[tuple[pa.Schema, list[str], list[DataFile]]] = [(joint, [], [])]
    for tsid, table in tables.items():
        if table is None:
            continue
        type = widened(pa.struct(list(own[tsid])), pa.struct(list(joint)))
        schema = pa.schema(list(type))
        same = next((read for read in reads if read[0].equals(schema)), None)
        if same is None:
            same = schema, [], []
            reads.append(same)
        same[1].append(tsid)
        same[2].extend(files_in_use(table, use))
    frames = [
        _read(spark, store.folder, schema, joint, tags, files, ("tag",) in use.columns)
        for schema, tags, files in [read for read in reads if read[2]] or reads[:1]
    ]
    return reduce(DataFrame.unionByName, frames)


def _nodes_in_use(spark: SparkSession, store: PinnedStore, use: TableUse) -> DataFrame:
    tables = store.state.stream(use.stream).tables
    files = [file for tsid in use.tags for file in files_in_use(tables.get(tsid), use)]
    schema = node_schema(use.columns)
    return _read(spark, store.folder, schema, schema, use.tags, files, ("tag",) in use.columns)


def _read(
    spark: SparkSession,
    store: Path,
    schema: pa.Schema,
    joint: pa.Schema,
    tags: Sequence[str],
    files: Sequence[DataFile],
    has_tag: bool,
) -> DataFrame:
    frame = files_frame(spark, store, files, schema)
    pairs = [(schema.field(field.name), field) for field in joint]
    columns = [
        # a name alone spares calls to Java
        own.name
        if own.type == wanted.type
        else expr(spark_text(as_type(column(own.name), own.type, wanted.type))).alias(own.name)
        for own, wanted in pairs
    ]
    return frame.select(*columns, *([_tag(tags).alias("tag")] if has_tag else []))


def _tag(tags: Sequence[str]) -> Column:
    """A row's tsid, which its file's path determines."""
    if len(tags) < 2:
        return lit(tags[0] if tags else "")
    folder = regexp_extract("_metadata.file_path", "([^/]+)/[^/]+$", 1)
    # the path is a URI, so escapes in the folder's name are escaped again
    known = [lit(one) for tag in tags for one in (quote(folder_name(tag)), tag)]
    return create_map(*known)[folder]


def run_sql(
    spark: SparkSession,
    text: SqlText,
    tables: Mapping[str, DataFrame],
    now: datetime,
    functions: Mapping[str, str] = MappingProxyType({}),
) -> DataFrame:
    """The rows of a compiled text with its tables and functions, and `now` if it uses that."""
    # with arguments, Spark parses the text twice
    arguments = {"now": instant(now)} if ":now" in text.slots else None
    sql = text.format_string({**functions, ":now": ":now"})
    with our_settings(spark):
        # Spark substitutes tables only if any are given
        return spark.sql(sql if tables else sql.format(), args=arguments, **tables)
