"""SQL dialects: how the operations of a plan, and whole queries, are written for an engine.

| module | owns |
| --- | --- |
| `dialect` | what a dialect is, and what a query is before it is written |
| `trees`, `templates` | building SQL trees, from parts and from text |
| `forms` | the operations as SQL trees, in the vocabulary that all dialects share |
| `slots` | SQL text with places for names that are known only when it runs |
| `spark`, `java_patterns` | the dialect of Spark |
| `duckdb`, `duckdb_functions` | the dialect of DuckDB, and what Python computes for it |
| `duckdb_vocabulary`, `duckdb_text` | the vocabulary as DuckDB has it, and the text of trees |

Trees share their parts, and nothing changes them: a writer that has to works on a copy.

The shared vocabulary is that of Spark's functions: `transform` counts from 0, `get` gives NULL
outside of an array, `substring` counts from 1. A dialect writes it as its engine expects it, and
replaces the forms of operations for which its engine needs other ones.

Tests: tests/dialects
"""
