"""The reference evaluator as part of an engine: answers queries (CaQ), and parts of native plans.

Nothing here depends on an engine: it runs in Spark's workers and in the process of DuckDB.

Tests: tests/runtime/evaluator, tests/runtime/answers
"""
