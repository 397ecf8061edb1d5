"""The copies of fillers in a view, as a DataFrame."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from xcql.compile import Catalog, compile_copies
from xcql.compile.copies import COPY, VERSION
from xcql.store.places_at import places_at
from xcql.store.state import StoreState
from xcql_runtime.tables.open_tables import run_sql, table_in_use


def copies_frame(
    spark: SparkSession,
    store: Path,
    state: StoreState,
    catalog: Catalog,
    name: str,
    now: datetime,
    at: datetime | None = None,
) -> DataFrame:
    """The copies in the view of a stream, or in its document `at` an instant, in no order.

    The columns are those of `COPY`; the stream must have fillers.
    """
    compiled = compile_copies(catalog, name, now, at)
    tables = {use.name: table_in_use(spark, store, state, use) for use in compiled.tables}
    frame = run_sql(spark, compiled.sql, tables, now)
    if not state.stream(name).placed:
        places = places_at(store, state.stream(name), now, at)
        frame = frame.join(spark.createDataFrame(places), list(VERSION))
    return frame.select(*COPY)
