"""Answers of queries: how they are compiled, cached, run on Spark, and given to the user.

Tests: tests/runtime/answers
"""
