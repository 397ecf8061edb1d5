"""The compiler's values: items, sequences of items, and the scope in which they are made.

Tests: tests/compile/test_corpus.py, tests/compile/test_random.py
"""
