"""The constructs of the language, one module each: from an expression to a value.

Tests: tests/compile/test_corpus.py, tests/compile/test_random.py
"""
