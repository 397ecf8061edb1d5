"""Continuous queries: answers that stay up to date while fragments arrive.

    with open_continuous(query, {"credit": tags}, folder) as continuous:
        advance = continuous.advance(0, [Arrival("credit", "<filler …>…</filler>")], now)
        for update in advance.updates: ...

This package does not use Spark; `xcql_runtime.streaming` adds sources and sinks.

Tests: tests/continuous
"""

from __future__ import annotations

from xcql.continuous.engine import Continuous, open_continuous
from xcql.continuous.explanation import ContinuousExplanation
from xcql.continuous.values import Advance, Arrival, Figures, Operation, Update, applied

__all__ = [
    "Advance",
    "Arrival",
    "Continuous",
    "ContinuousExplanation",
    "Figures",
    "Operation",
    "Update",
    "applied",
    "open_continuous",
]
