"""Connections to DuckDB: its settings, and the functions that our SQL calls."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

import duckdb
from duckdb.func import FunctionNullHandling
from duckdb.sqltypes import SQLNULL

from xcql.diagnostics import error
from xcql.dialects.duckdb import macro_definition
from xcql.dialects.duckdb_functions import FUNCTIONS, NOTHING, function_name
from xcql.temporary import process_folder

_SIZE = re.compile(r"([1-9][0-9]{0,6})([mMgG])[bB]?")
# the part of the machine's memory that DuckDB uses by default
_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Limits:
    """The bytes of memory that the engine may use before it spills to disk, and its threads."""

    memory: int
    threads: int


def limits(memory: str | None = None, threads: int | None = None) -> Limits:
    """The given limits, or else those of `XCQL_MEMORY` and `XCQL_THREADS`, or of the machine."""
    size = memory or os.environ.get("XCQL_MEMORY")
    count = str(threads or os.environ.get("XCQL_THREADS") or os.cpu_count() or 1)
    if not count.isdecimal() or not 0 < int(count) <= 1024:
        raise error(
            "XCQL0506",
            f"'{count}' is not a valid number of threads",
            hints=["write XCQL_THREADS=2"],
        )
    return Limits(_bytes(size) if size else _default_memory(), int(count))


def _bytes(size: str) -> int:
    """A size of memory in bytes.

    >>> _bytes("1g"), _bytes("512m")
    (1073741824, 536870912)
    """
    found = _SIZE.fullmatch(size)
    if not found:
        raise error(
            "XCQL0506",
            f"'{size}' is not a valid size of memory",
            hints=["write 4g or 4096m"],
        )
    return int(found[1]) << (30 if found[2] in "gG" else 20)


def _default_memory() -> int:
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE)


def connect(limits: Limits) -> duckdb.DuckDBPyConnection:
    """A connection to an empty database in memory, with our functions.

    The folder for data that does not fit in memory is created only when it is needed.
    """
    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            # a name in SQL never means a variable of Python
            "python_enable_replacements": "false",
            "memory_limit": f"{limits.memory}B",
            "threads": str(limits.threads),
            # where DuckDB takes many rows for few, it would join all pairs to find the nearest
            "asof_loop_join_threshold": "0",
            # it loses the filters of a scan that read a field of a struct: an internal error
            "disabled_optimizers": "top_n_window_elimination",
            "temp_directory": str(process_folder() / "duckdb"),
        },
    )
    # files of a store never change; only a global setting holds for cursors
    connection.execute("SET GLOBAL parquet_metadata_cache = true")
    for name, one in FUNCTIONS.items():
        connection.create_function(
            function_name(name),
            one.body,
            list(one.parameters),
            SQLNULL if one.result == NOTHING else one.result,
            null_handling=FunctionNullHandling.SPECIAL,
        )
    return connection


def define_macros(connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    for name in names:
        connection.execute(macro_definition(name))
