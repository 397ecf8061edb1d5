"""RE2: regular expressions whose time is linear in the text, whatever the pattern.

`regex_parts` writes the patterns; they have no back-references and no look-around. RE2 prefers
the same match as Python's engine: the leftmost, and of those the one that is tried first.

Tests: tests/evaluate/test_regular_expressions.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol

# the memory limit for the automata of a pattern; one that needs more has no linear form
_MEMORY_BYTES = 64 << 20


class LinearRegex(Protocol):
    def finditer(self, text: str) -> Iterator[re.Match[str]]: ...


@lru_cache(maxsize=64)
def linear_regex(pattern: str) -> LinearRegex | None:
    """A compiled RE2 pattern; None if it is too large.

    >>> regex = linear_regex("(a*)*$")
    >>> [match.span() for match in regex.finditer("a" * 100_000)]
    [(0, 100000), (100000, 100000)]
    """
    import re2

    options = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)  # type: ignore[no-any-return]
    except re2.error:
        return None
