"""Connections to DuckDB, and running a compiled query on one."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling
from duckdb.sqltypes import SQLNULL

from xcql.compile.result import Compiled
from xcql.dialects.duckdb_functions import FUNCTIONS, NOTHING, function_name
from xcql.dialects.slots import SqlText
from xcql.store.state import StoreState
from xcql_runtime.embedded.tables import table_query


def connect() -> duckdb.DuckDBPyConnection:
    """A connection to an empty database in memory, with our functions."""
    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    )
    for name, one in FUNCTIONS.items():
        connection.create_function(
            function_name(name),
            one.body,
            list(one.parameters),
            SQLNULL if one.result == NOTHING else one.result,
            null_handling=FunctionNullHandling.SPECIAL,
        )
    return connection


def run(
    connection: duckdb.DuckDBPyConnection,
    store: Path,
    state: StoreState,
    compiled: Compiled,
    text: SqlText,
    now: datetime,
) -> pa.Table:
    """The rows of a compiled query."""
    names = {use.name: f"({table_query(store, state, use)})" for use in compiled.tables}
    sql = text.filled({**names, ":now": "$now"})
    arguments = {"now": now} if ":now" in text.slots else None
    return connection.sql(sql, params=arguments).to_arrow_table()
