"""Shredding: the bytes of fillers to columns, in the store's table layout, and back; no Spark.

Tests: tests/shred
"""
