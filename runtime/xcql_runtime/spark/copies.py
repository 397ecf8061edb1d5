"""The copies of fillers in a view, as a DataFrame."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import DataFrame, SparkSession

from xcql.compile import compile_copies
from xcql.compile.copies import COPY, VERSION
from xcql.store.places_at import places_at
from xcql_runtime.spark.open_tables import run_sql, table_in_use
from xcql_runtime.store_reader import PinnedStore


def copies_frame(
    spark: SparkSession, store: PinnedStore, name: str, now: datetime, at: datetime | None = None
) -> DataFrame:
    """The copies in the view of a stream, or in its document `at` an instant, in no order.

    The columns are those of `COPY`; the stream must have fillers.
    """
    catalog = store.catalog.at(now)
    compiled = compile_copies(catalog, name, now, at)
    tables = {use.name: table_in_use(spark, store, use) for use in compiled.tables}
    frame = run_sql(spark, compiled.sql, tables, now)
    if not catalog.streams[name].placed:
        places = places_at(store.folder, store.state.stream(name), now, at)
        frame = frame.join(spark.createDataFrame(places), list(VERSION))
    return frame.select(*COPY)
