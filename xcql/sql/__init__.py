"""Plans as queries in SQL trees, for any dialect.

`target` says what plans are lowered for. First `sharing` makes columns of the values that a plan
uses more than once, and `reads` finds what of each column is read. Then `lowering` turns operators
into SELECTs, `scans` reads the tables of a store, `parts` collects the common table expressions,
`reductions` are what groups are reduced to, and `nearest` is for engines without such a join.

Tests: tests/dialects/test_read_back.py, tests/compile
"""
