"""From a query to Spark SQL text: `compile_query`, and the values that it takes and returns.

Each module imports only from those above it. Sub-expressions are compiled through the scope.

| module | holds |
| --- | --- |
| `catalog` | what is known about a store: `Catalog`, `StreamShape`, `Externals` |
| `node_paths` | the paths of a stream's nodes, by which the table of nodes is read |
| `result` | the SQL text and what it needs to run: `Compiled`, `TableUse`, `Evaluation`, `Site` |
| `literals` | literals on whose values a plan does not depend: queries that share a plan |
| `terms` | the compiler's values: items, sequences, the scope |
| `library` | operations on them: steps, text, casts, comparisons, document order |
| `functions`, `syntax` | the native functions by topic; the constructs of the language |
| `language` | all constructs and functions in one table |
| `api`, `copies` | `compile_query`; `compile_copies`, the copies of fillers for CaQ |

Tests: tests/compile
"""

from __future__ import annotations

from xcql.compile.api import compile_parts, compile_query, compile_reusable
from xcql.compile.catalog import Catalog, Externals, StreamShape
from xcql.compile.copies import compile_copies
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
    "compile_copies",
    "compile_parts",
    "compile_query",
    "compile_reusable",
]
