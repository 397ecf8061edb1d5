"""The names of the strategies: how a query is answered over fragments.

| name | meaning |
| --- | --- |
| `caq` | construct the view, then query it |
| `qac` | query along the holes, then construct what is in the answer |
| `qac+` | go straight to the fillers whose tags the query needs |
| `auto` | one of these |

Tests: tests/translate, tests/runtime/answers/test_answer.py
"""

from __future__ import annotations

from typing import Literal, get_args

Strategy = Literal["caq", "qac", "qac+", "auto"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
