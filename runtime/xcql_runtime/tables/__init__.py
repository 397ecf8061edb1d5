"""The tables of a store on Spark: read as DataFrames, and put together to the temporal view.

Tests: tests/runtime/tables
"""
