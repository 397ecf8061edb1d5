"""Answers of queries: how they are compiled, run on an engine, and given to the user.

Tests: tests/runtime/answers
"""
