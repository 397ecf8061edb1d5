"""The store's tables as DataFrames, without listing files or inferring schemas."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
)

from xcql.dialects.spark import spark_text
from xcql.dialects.trees import constant
from xcql.shred.checksums import check_opening
from xcql.store.state import DataFile

# never leave out rows that cannot be read, whatever the session's settings are
_CAREFUL = {
    "parquet.page.verify-checksum.enabled": "true",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
}


def files_frame(
    spark: SparkSession, store: Path, files: Sequence[DataFile], schema: pa.Schema
) -> DataFrame:
    """The rows of Parquet files of the store; raises an error if one is missing or damaged."""
    for file in files:
        check_opening(store / file.path, file.bytes, file.checksums)
    paths = [str((store / file.path).absolute()) for file in files]
    if not paths:
        return spark.createDataFrame([], structure(schema))
    # `[` and `*` in the name of a folder are not patterns
    options = {**_CAREFUL, "__globPaths__": "false"}
    return spark.read.schema(structure(schema)).options(**options).parquet(*paths)


def structure(schema: pa.Schema) -> StructType:
    """Convert an Arrow schema to a Spark schema."""
    return StructType([StructField(field.name, _type(field.type)) for field in schema])


def instant(time: datetime) -> Column:
    """An instant as a literal; it has no time zone, so none can change it."""
    return expr(spark_text(constant(time)))


def _type(type: pa.DataType) -> DataType:
    if pa.types.is_struct(type):
        return StructType([StructField(field.name, _type(field.type)) for field in type])
    if pa.types.is_list(type):
        return ArrayType(_type(type.value_type))
    if pa.types.is_timestamp(type):
        return TimestampNTZType()
    if pa.types.is_decimal(type):
        return DecimalType(type.precision, type.scale)
    if pa.types.is_binary(type) or pa.types.is_fixed_size_binary(type):
        return BinaryType()
    simple = {
        pa.string(): StringType(),
        pa.int16(): ShortType(),
        pa.int32(): IntegerType(),
        pa.int64(): LongType(),
        pa.bool_(): BooleanType(),
        pa.float32(): FloatType(),
        pa.float64(): DoubleType(),
        pa.date32(): DateType(),
    }
    return simple[type]
