"""Operations on the compiler's values: reading nodes, steps, casts, comparisons, order, text.

Tests: tests/compile
"""
