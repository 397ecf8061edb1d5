"""Sets of characters, as sorted ranges of code points.

Character properties and blocks come from elementpath's tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import pairwise

Ranges = tuple[tuple[int, int], ...]

_LAST = 0x10FFFF
_NAME_START: Ranges = (
    (0x3A, 0x3A),
    (0x41, 0x5A),
    (0x5F, 0x5F),
    (0x61, 0x7A),
    (0xC0, 0xD6),
    (0xD8, 0xF6),
    (0xF8, 0x2FF),
    (0x370, 0x37D),
    (0x37F, 0x1FFF),
    (0x200C, 0x200D),
    (0x2070, 0x218F),
    (0x2C00, 0x2FEF),
    (0x3001, 0xD7FF),
    (0xF900, 0xFDCF),
    (0xFDF0, 0xFFFD),
    (0x10000, 0xEFFFF),
)
_NAME_MORE: Ranges = ((0x2D, 0x2E), (0x30, 0x39), (0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040))
_CASE_LIMIT = 0x1F000


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    result: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


def complement(ranges: Ranges) -> Ranges:
    result, start = [], 0
    for low, high in ranges:
        if low > start:
            result.append((start, low - 1))
        start = high + 1
    if start <= _LAST:
        result.append((start, _LAST))
    return tuple(result)


def minus(ranges: Ranges, removed: Ranges) -> Ranges:
    return complement(merged([*complement(ranges), *removed]))


@cache
def multi_escape(letter: str) -> Ranges:
    if letter == "s":
        return ((9, 10), (13, 13), (32, 32))
    if letter == "d":
        return property_ranges("Nd")
    if letter == "i":
        return _NAME_START
    if letter == "c":
        return merged([*_NAME_START, *_NAME_MORE])
    return complement(merged([*property_ranges("P"), *property_ranges("Z"), *property_ranges("C")]))


@cache
def property_ranges(name: str) -> Ranges:
    """The characters of a category such as `Lu` or a block such as `IsBasicLatin`."""
    from elementpath.regex import RegexError, unicode_block, unicode_category

    try:
        found = unicode_block(name[2:]) if name.startswith("Is") else unicode_category(name)
    except (RegexError, KeyError, ValueError):
        return ()
    # elementpath keeps single code points and half-open ranges
    return merged(
        (part, part) if isinstance(part, int) else (part[0], part[1] - 1)
        for part in found.codepoints
    )


@cache
def case_partners() -> dict[int, tuple[int, ...]]:
    """The other case forms of every character that has upper and lower case."""
    forms: dict[str, set[int]] = {}
    for code in range(_CASE_LIMIT):
        sign = chr(code)
        lower, upper = sign.lower(), sign.upper()
        if lower != upper:
            for other in (lower, upper):
                if len(other) == 1:
                    forms.setdefault(sign, set()).add(ord(other))
                    forms.setdefault(other, set()).add(code)
    return {ord(sign): tuple(codes) for sign, codes in forms.items()}


def any_case(ranges: Ranges) -> Ranges:
    if not ranges:
        return ranges
    partners = case_partners()
    more = [
        (other, other)
        for low, high in ranges
        for code, others in (
            partners.items()
            if high - low > len(partners)
            else ((c, partners[c]) for c in range(low, high + 1) if c in partners)
        )
        if low <= code <= high
        for other in others
    ]
    return merged([*ranges, *more])


def any_character() -> Ranges:
    return ((0, _LAST),)


def are_apart(sets: Iterable[Ranges]) -> bool:
    """Whether the sets are pairwise disjoint."""
    ranges = sorted(one for ranges in sets for one in ranges)
    return all(one[1] < other[0] for one, other in pairwise(ranges))
