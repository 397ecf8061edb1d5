"""Continuous queries on Spark Structured Streaming.

| module | does |
| --- | --- |
| `sources/` | a module for each kind of source, and their table |
| `arrivals` | the fragments in what sources bring |
| `journal`, `triggers` | the numbering of batches, and what happens in one |
| `sinks`, `display` | where updates go |
| `handle`, `start` | a query that runs, and how it gets to run |

What a query answers, and what it keeps for that, is the matter of `xcql.continuous`.
"""
