"""The function library of XQuery 3.1, one module per topic; see `xcql.evaluate.registry`.

Tests: tests/evaluate/functions
"""
