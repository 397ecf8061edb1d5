"""Shredding: from the bytes of fillers to columns, in the store's table layout, without Spark.

Tests: tests/shred
"""
