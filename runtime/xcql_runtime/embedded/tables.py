"""The tables of compiled SQL, as queries over exactly the files and fields that it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from xcql.compile.result import TableUse
from xcql.compile.terms.layout import joint_schema, read_schema
from xcql.dialects.duckdb_text import duckdb_text
from xcql.dialects.trees import Sql, column, identifier, text_literal
from xcql.shred.checksums import check_opening, check_pages
from xcql.shred.nodes import node_schema
from xcql.sql.conversion import null_of, present_as_type
from xcql.store.state import DataFile, Table
from xcql_runtime.store_reader import PinnedStore, files_in_use


def table_query(store: PinnedStore, use: TableUse) -> str:
    """The rows of several tags' tables as a subquery, with the columns of `layout.joint_schema`.

    Or their nodes, with the columns of `nodes.node_schema`.
    """
    stream = store.state.stream(use.stream)
    tables = {tsid: stream.tables.get(tsid) for tsid in use.tags}
    joint = node_schema(use.columns) if use.nodes else _row_schema(tables.values(), use)
    found = [
        (schema, paths, tsid)
        for tsid, table in tables.items()
        for schema, paths in _by_schema(store.folder, files_in_use(table, use), joint)
    ]
    has_tag = ("tag",) in use.columns
    target = _unchanged_where_alike([schema for schema, _, _ in found], joint)
    selects = [
        _select(schema, target, paths, tsid if has_tag else None) for schema, paths, tsid in found
    ]
    if not selects:
        selects.append(_nothing(joint, has_tag))
    union: Sql = selects[0]
    for one in selects[1:]:
        union = exp.Union(this=union, expression=one, distinct=False)
    return duckdb_text(exp.Subquery(this=union))


def _row_schema(tables: Iterable[Table | None], use: TableUse) -> pa.Schema:
    return joint_schema(
        [read_schema(table.shape if table else None, use.columns) for table in tables]
    )


def _by_schema(
    store: Path, files: Sequence[DataFile], wanted: pa.Schema
) -> list[tuple[pa.Schema, list[str]]]:
    """The files with the same columns together: later files may have more fields.

    DuckDB does not compare pages with their checksums, so the pages that it will read are compared
    here.
    """
    found: list[tuple[pa.Schema, list[str]]] = []
    for file in files:
        path = store / file.path
        check_opening(path, file.bytes, file.checksums)
        schema = _file_schema(str(path))
        if file.checksums is not None:
            check_pages(path, leaf_columns(schema, wanted))
        same = next((one for one in found if one[0].equals(schema)), None)
        if same is None:
            same = schema, []
            found.append(same)
        same[1].append(str(path))
    return found


def _unchanged_where_alike(files: Sequence[pa.Schema], joint: pa.Schema) -> pa.Schema:
    """The joint columns, with the types in the files where these are the same and have enough.

    DuckDB reads single fields of a column as it is, and skips parts of files by their statistics,
    but not if the column is converted, or one of several in a union: structs there are made of the
    fields that are wanted.
    """
    columns = []
    for one in joint:
        if files and all(file.get_field_index(one.name) >= 0 for file in files):
            own = [file.field(one.name).type for file in files]
            is_whole = len(files) == 1 and _has_all(own[0], one.type)
            one = one.with_type(own[0] if is_whole else _as_in_all(own, one.type))
        columns.append(one)
    return pa.schema(columns)


def _as_in_all(own: Sequence[pa.DataType], wanted: pa.DataType) -> pa.DataType:
    """The wanted fields, with the types that all have, if these have enough."""
    if not (pa.types.is_struct(wanted) and all(map(pa.types.is_struct, own))):
        is_enough = all(one == own[0] for one in own) and _has_all(own[0], wanted)
        return own[0] if is_enough else wanted
    fields = []
    for field in wanted:
        if all(one.get_field_index(field.name) >= 0 for one in own):
            inside = [one.field(field.name).type for one in own]
            field = field.with_type(_as_in_all(inside, field.type))
        fields.append(field)
    return pa.struct(fields)


def _has_all(own: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a type has all the wanted fields, as arrays where arrays are wanted."""
    if pa.types.is_list(own) or pa.types.is_list(wanted):
        if not (pa.types.is_list(own) and pa.types.is_list(wanted)):
            return False
        return _has_all(own.value_type, wanted.value_type)
    if pa.types.is_struct(own) and pa.types.is_struct(wanted):
        return all(
            own.get_field_index(one.name) >= 0 and _has_all(own.field(one.name).type, one.type)
            for one in wanted
        )
    return True


def leaf_columns(own: pa.Schema, wanted: pa.Schema) -> list[str]:
    """The names of the Parquet columns that hold the wanted fields, as far as a file has them."""
    return list(_leaves(pa.struct(list(own)), pa.struct(list(wanted)), ""))


def _leaves(own: pa.DataType, wanted: pa.DataType, path: str) -> Iterator[str]:
    if pa.types.is_list(own):
        inner = wanted.value_type if pa.types.is_list(wanted) else wanted
        yield from _leaves(own.value_type, inner, f"{path}.list.element")
    elif pa.types.is_list(wanted):
        yield from _leaves(own, wanted.value_type, path)
    elif pa.types.is_struct(own):
        for field in wanted:
            if own.get_field_index(field.name) >= 0:
                name = f"{path}.{field.name}" if path else field.name
                yield from _leaves(own.field(field.name).type, field.type, name)
    else:
        yield path


@lru_cache(maxsize=4096)
def _file_schema(path: str) -> pa.Schema:
    # the names of files are never used twice
    return pq.read_schema(path).remove_metadata()


def _select(
    schema: pa.Schema, joint: pa.Schema, paths: Sequence[str], tag: str | None
) -> exp.Select:
    columns: list[Sql] = []
    for field in joint:
        index = schema.get_field_index(field.name)
        own = schema.field(index).type if index >= 0 else None
        # every row has an element; other columns are simple, or arrays
        value = present_as_type(column(field.name), own, field.type)
        columns.append(exp.Alias(this=value, alias=identifier(field.name)))
    if tag is not None:
        columns.append(exp.Alias(this=text_literal(tag), alias=identifier("tag")))
    files = exp.Array(expressions=[text_literal(_without_patterns(path)) for path in paths])
    # a folder called `a=1` is no column
    no_columns = exp.Kwarg(this=exp.var("hive_partitioning"), expression=exp.false())
    source = exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[files, no_columns]))
    return exp.Select(expressions=columns, from_=exp.From(this=source))


def _without_patterns(path: str) -> str:
    """The path of one file for DuckDB, which takes paths for patterns.

    >>> _without_patterns("what?/[new]/*")
    'what[?]/[[]new]/[*]'
    """
    return re.sub(r"([*?[])", r"[\1]", path)


def _nothing(joint: pa.Schema, has_tag: bool) -> exp.Select:
    columns: list[Sql] = [
        exp.Alias(this=null_of(field.type), alias=identifier(field.name)) for field in joint
    ]
    if has_tag:
        columns.append(exp.Alias(this=text_literal(""), alias=identifier("tag")))
    select = exp.Select(expressions=columns)
    select.set("where", exp.Where(this=exp.Boolean(this=False)))
    return select
