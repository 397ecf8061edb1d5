"""The XQuery data model's nodes: building, parsing and writing trees.

Tests: tests/xdm, tests/evaluate
"""
