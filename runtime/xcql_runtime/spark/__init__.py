"""Spark itself: its start and settings, its Java, jobs on its workers, and its failures.

Tests: tests/runtime/spark
"""
