"""Continuous queries on Spark Structured Streaming.

| module | does |
| --- | --- |
| `sources/` | one module per kind of source, and a table of them |
| `arrivals` | extracts the fragments from the data of sources |
| `journal`, `triggers` | the numbering of batches, and what happens in one |
| `sinks`, `display` | where updates go |
| `handle`, `start` | a running query, and how it is started |

The answer of a query, and the state that it needs, are defined in `xcql.continuous`.

Tests: tests/runtime/streaming
"""
