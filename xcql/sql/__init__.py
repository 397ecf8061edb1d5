"""Plans as Spark SQL text: `lowering` makes the query, `dialect` says it as Spark does.

Tests: tests/sql, tests/compile
"""
