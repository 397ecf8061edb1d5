"""The fragment store: one Parquet table per tag, and numbered commits that make changes atomic.

Tests: tests/store, tests/runtime/test_damage.py
"""
