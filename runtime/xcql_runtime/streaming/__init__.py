"""Continuous queries on Spark Structured Streaming.

| module | does |
| --- | --- |
| `spool`, `receiver`, `tcp_source` | lines that come by TCP, kept until Spark is done with them |
| `sources`, `kafka`, `history` | fragments from folders, TCP, Kafka, DataFrames, and from a store |
| `journal`, `triggers` | the numbering of batches, and what happens in one |
| `sinks`, `display` | where updates go |
| `handle`, `start` | a query that runs, and how it gets to run |

What a query answers, and what it keeps for that, is the matter of `xcql.continuous`.
"""
