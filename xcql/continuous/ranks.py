"""A sorted set of keys with the rank of each, in blocks of sorted keys as in a B-tree.

>>> ranks = Ranks([b"a", b"c"])
>>> ranks.add(b"b")
1
>>> ranks.remove(b"a")
0
>>> ranks.rank(b"c"), len(ranks)
(1, 2)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable

_BLOCK = 1000


class Ranks:
    """Sorted keys; adding, removing and finding a rank are cheap at any size."""

    def __init__(self, keys: Iterable[bytes] = ()) -> None:
        """The keys must be sorted."""
        known = list(keys)
        self._blocks = [known[i : i + _BLOCK] for i in range(0, len(known), _BLOCK)] or [[]]
        self._firsts: list[bytes] = []
        self._sums: list[int] = []
        self._clean: int = 0
        self._number()

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    def rank(self, key: bytes) -> int:
        """The number of keys before this one."""
        block = self._block_of(key)
        return self._before(block) + bisect_left(self._blocks[block], key)

    def add(self, key: bytes) -> int:
        """Add a new key; return its rank."""
        number = self._block_of(key)
        block = self._blocks[number]
        rank = self._before(number) + bisect_left(block, key)
        insort(block, key)
        self._clean = min(self._clean, number)
        if len(block) > 2 * _BLOCK:
            self._blocks[number : number + 1] = [block[:_BLOCK], block[_BLOCK:]]
            self._number()
        else:
            self._firsts[number : number + 1] = block[:1]
        return rank

    def remove(self, key: bytes) -> int:
        """Remove an existing key; return its former rank."""
        number = self._block_of(key)
        block = self._blocks[number]
        at = bisect_left(block, key)
        rank = self._before(number) + at
        assert block[at] == key, "the key is not there"
        del block[at]
        self._clean = min(self._clean, number)
        if not block and len(self._blocks) > 1:
            del self._blocks[number]
            self._number()
        else:
            self._firsts[number : number + 1] = block[:1]
        return rank

    def _block_of(self, key: bytes) -> int:
        return max(bisect_right(self._firsts, key) - 1, 0)

    def _before(self, number: int) -> int:
        """The number of keys in the blocks before this one; valid sums are cached."""
        sums = self._sums
        del sums[self._clean + 1 :]
        while len(sums) <= number:
            sums.append(sums[-1] + len(self._blocks[len(sums) - 1]))
        self._clean = len(sums) - 1
        return sums[number]

    def _number(self) -> None:
        self._firsts = [block[0] for block in self._blocks if block]
        self._sums = [0]
        self._clean = 0
