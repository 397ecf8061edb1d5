"""How a query is asked: with a text that is new to a warm engine, and with one that it knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# takes a time limit, and returns the seconds that an answer took
Ask = Callable[[float], float]
# after the name of an engine
FIRST, AGAIN = ", first asked", ", asked again"


@dataclass(frozen=True, slots=True)
class Asks:
    """The two ways to ask a query."""

    first: Ask
    again: Ask
