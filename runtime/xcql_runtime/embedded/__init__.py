"""The embedded engine: DuckDB in the process, over the same store, without Java.

| module | owns |
| --- | --- |
| `connection` | DuckDB's settings, and the functions that our SQL calls |
| `tables` | the tables of a compiled query, as SQL over the store's files |
| `running` | running SQL so that Ctrl-C stops it |
| `failures` | DuckDB's failures as errors for the user |
| `engine` | the engine |

Tests: tests/runtime/embedded
"""
