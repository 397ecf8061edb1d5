"""Conversions between the types of a table's files and those that compiled SQL expects.

Tables of several tags are read as one, in which an element may repeat although it does not in a
table of its own, and in which a field may be missing.

Tests: tests/runtime/embedded/test_tables.py, tests/runtime/answers/test_native.py
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from xcql.dialects.trees import (
    Sql,
    call,
    case_,
    column,
    dot,
    identifier,
    is_null,
    lambda_,
    number,
    struct,
)


def as_type(value: Sql, own: pa.DataType | None, wanted: pa.DataType, depth: int = 0) -> Sql:
    """A value of a file's type as one of the wanted type, which has no more than it needs.

    Without a type of its own it is NULL; a single value becomes an array where one is wanted.
    """
    if own is None:
        return null_of(wanted)
    if own == wanted or not pa.types.is_nested(wanted):
        return value
    if pa.types.is_list(own):
        name = f"e{depth}"
        inner = as_type(column(name), own.value_type, wanted.value_type, depth + 1)
        return call("transform", value, lambda_(name, inner))
    if pa.types.is_list(wanted):
        inner = as_type(value, own, wanted.value_type, depth)
        return case_(
            _is_absent(value, own),
            call("slice", call("array", inner), number(1), number(0)),
            call("array", inner),
        )
    return case_(_is_absent(value, own), exp.Null(), _with_fields(value, own, wanted, depth))


def _is_absent(value: Sql, own: pa.DataType) -> Sql:
    """Whether a value is NULL; of an element only its start is read, which all elements have."""
    is_element = pa.types.is_struct(own) and own.get_field_index("_start") >= 0
    return is_null(dot(value, "_start") if is_element else value)


def present_as_type(value: Sql, own: pa.DataType | None, wanted: pa.DataType) -> Sql:
    """The same for a value that is never NULL.

    DuckDB reads only the fields of a column that a query uses, but not through a test for NULL.
    """
    if own is None or own == wanted or not (pa.types.is_struct(own) and pa.types.is_struct(wanted)):
        return as_type(value, own, wanted)
    return _with_fields(value, own, wanted, 0)


def _with_fields(value: Sql, own: pa.DataType, wanted: pa.DataType, depth: int) -> Sql:
    return struct(
        **{
            field.name: as_type(
                dot(value, field.name),
                own.field(field.name).type if own.get_field_index(field.name) >= 0 else None,
                field.type,
                depth,
            )
            for field in wanted
        }
    )


def null_of(type_: pa.DataType) -> Sql:
    """NULL, with a type."""
    return exp.Cast(this=exp.Null(), to=_sql_type(type_))


def _sql_type(type_: pa.DataType) -> exp.DataType:
    kinds = exp.DataType.Type
    if pa.types.is_list(type_):
        return exp.DataType(
            this=kinds.ARRAY, expressions=[_sql_type(type_.value_type)], nested=True
        )
    if pa.types.is_struct(type_):
        fields = [
            exp.ColumnDef(this=identifier(one.name), kind=_sql_type(one.type)) for one in type_
        ]
        return exp.DataType(this=kinds.STRUCT, expressions=fields, nested=True)
    if pa.types.is_timestamp(type_):
        return exp.DataType(this=kinds.TIMESTAMPNTZ)
    if pa.types.is_decimal(type_):
        digits = [exp.DataTypeParam(this=number(one)) for one in (type_.precision, type_.scale)]
        return exp.DataType(this=kinds.DECIMAL, expressions=digits)
    if pa.types.is_binary(type_) or pa.types.is_fixed_size_binary(type_):
        return exp.DataType(this=kinds.VARBINARY)
    simple = {
        pa.string(): kinds.TEXT,
        pa.int32(): kinds.INT,
        pa.int64(): kinds.BIGINT,
        pa.bool_(): kinds.BOOLEAN,
        pa.float32(): kinds.FLOAT,
        pa.float64(): kinds.DOUBLE,
        pa.date32(): kinds.DATE,
    }
    return exp.DataType(this=simple[type_])
