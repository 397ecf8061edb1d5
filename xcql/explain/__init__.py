"""How a query is answered, told so that one learns from it.

`explained` gathers it from what the compiler made; `text`, `mermaid` and `as_data` show it.
"""

from xcql.explain.explanation import Explanation, explained
from xcql.explain.mermaid import mermaid
from xcql.explain.text import as_data, text

__all__ = ["Explanation", "as_data", "explained", "mermaid", "text"]
