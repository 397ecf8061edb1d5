"""The embedded engine: DuckDB in the process, over the same store, without Java.

| module | owns |
| --- | --- |
| `tables` | the tables of a compiled query, as SQL over the store's files |
| `engine` | connections, and running a compiled query |

Tests: tests/runtime/embedded
"""
