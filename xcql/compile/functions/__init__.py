"""The native forms of functions, by topic.

Tests: tests/compile/test_functions.py, tests/compile/test_edge_values.py
"""
