"""Explanations of how a query is answered, written to be instructive.

`explained` collects them from the compiler's result; `text`, `mermaid` and `as_data` show them.

Tests: tests/cli/test_explain.py
"""

from xcql.explain.explanation import Explanation, explained
from xcql.explain.mermaid import mermaid
from xcql.explain.text import as_data, text

__all__ = ["Explanation", "as_data", "explained", "mermaid", "text"]
