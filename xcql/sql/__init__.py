"""Plans as queries in SQL trees, for any dialect.

`target` says what plans are lowered for. `lowering` turns operators into SELECTs, `scans` reads the
tables of a store, `parts` collects the common table expressions, and `reductions` are what groups
are reduced to.

Tests: tests/dialects/test_read_back.py, tests/compile
"""
