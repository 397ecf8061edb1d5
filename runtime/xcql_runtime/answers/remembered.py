"""Values that are made once, as long as what they are of stays the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

V = TypeVar("V")


class Remembered(Generic[V]):
    """Values by keys, at most so many; all go when what they are `of` is another.

    >>> squares = Remembered[int](most=2)
    >>> squares.get("numbers", 4, lambda: 16), squares.get("numbers", 4, lambda: -1)
    (16, 16)
    >>> squares.get("others", 4, lambda: -1)
    -1
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # one value, so that no thread sees the one without the other
        self._values: tuple[Any, dict[Hashable, V]] = None, {}

    def get(self, of: Any, key: Hashable, make: Callable[[], V]) -> V:
        """The value for a key; of many, the first that came goes first."""
        values = self._values
        if values[0] != of:
            values = self._values = of, {}
        known = values[1]
        if key in known:
            return known[key]
        made = make()
        if len(known) >= self._most:
            known.pop(next(iter(known)), None)
        known[key] = made
        return made

    def forget(self) -> None:
        """Forget all values."""
        self._values = None, {}
