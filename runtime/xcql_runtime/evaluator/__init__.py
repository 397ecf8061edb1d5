"""The reference evaluator in Spark's workers: answers queries (CaQ), and parts of native plans.

Tests: tests/runtime/evaluator, tests/runtime/answers
"""
