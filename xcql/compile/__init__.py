"""From a query to Spark SQL text: `compile_query`, and the values that it takes and gives.

| module | holds |
| --- | --- |
| `catalog` | what is known of a store: `Catalog`, `StreamShape`, `Externals` |
| `result` | the SQL text and what it needs to run: `Compiled`, `TableUse`, `Evaluation`, `Site` |
| `api` | `compile_query` |
"""

from __future__ import annotations

from xcql.compile.api import compile_query
from xcql.compile.catalog import Catalog, Externals, StreamShape
from xcql.compile.result import Compiled, Evaluation, NotNative, Site, TableUse

__all__ = [
    "Catalog",
    "Compiled",
    "Evaluation",
    "Externals",
    "NotNative",
    "Site",
    "StreamShape",
    "TableUse",
    "compile_query",
]
