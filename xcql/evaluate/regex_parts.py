"""The parts of a regular expression: how to write each, and how much work it can cause.

A backtracking engine, such as Python's or Java's, may need more steps than anyone can wait for:
in `(a*)*$`, each further `a` doubles the number of ways to fail. So every part has an upper bound
on its steps, for a text of n characters: `2**bits * n**degree * 2**(rate * n)`.
The bound is a worst case: a pattern with a small bound is safe, one with a large bound may be fast.

Each part is written for two engines: Python's own, and RE2, whose time is linear in the text.

Tests: tests/evaluate/test_regular_expressions.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xcql.evaluate.character_ranges import Ranges, any_character, are_apart, merged

# how much slower a loop over a group is than one over a character, as a power of two
_GROUP_LOOP_BITS = 5.0
# the last character that is one unit in UTF-16
_BMP = 0xFFFF
# a loop with more iterations counts as unlimited
_SHORT_LOOP = 16
# iterations that fit any stack
_FEW_TURNS = 100
# the largest count that RE2 accepts
_LARGEST_COUNT = 1000


@dataclass(frozen=True, slots=True)
class Growth:
    """The bound `2**bits * n**degree * 2**(rate * n)`, for a text of n characters."""

    bits: float = 0.0
    degree: int = 0
    rate: float = 0.0

    def times(self, other: Growth) -> Growth:
        return Growth(self.bits + other.bits, self.degree + other.degree, self.rate + other.rate)

    def or_more(self, other: Growth) -> Growth:
        return Growth(
            max(self.bits, other.bits), max(self.degree, other.degree), max(self.rate, other.rate)
        )

    def log2(self, length: int) -> float:
        """The bound's logarithm.

        >>> Growth(degree=2).log2(1024)
        20.0
        """
        return self.bits + self.degree * math.log2(max(length, 2)) + self.rate * length


ONE = Growth()
_LINEAR = Growth(degree=1)


@dataclass(frozen=True, slots=True)
class PatternPart:
    """A part of a regular expression.

    `text` is its form for Python, `linear` that for RE2 (None if there is none). `first` are the
    characters that it can begin with; `ends` bounds in how many ways it can match from one place,
    `steps` the work for that.
    """

    text: str
    linear: str | None
    first: Ranges = ()
    can_be_empty: bool = False
    ends: Growth = ONE
    steps: Growth = ONE
    # the characters of a loop over single characters, or of a single character
    characters: Ranges | None = None
    is_loop: bool = False
    is_endless: bool = False
    # the sequence that it stands for
    parts: tuple[PatternPart, ...] = ()
    # Java uses stack for each iteration: of loops over groups; and of loops that count, or over
    # groups of one character, wherever the width of characters in UTF-16 changes
    takes_stack: bool = False
    # some part of it is tried as empty first
    prefers_empty: bool = False
    # a loop whose iterations can be empty: engines differ in what its groups hold
    has_empty_turns: bool = False
    # the same, with iterations that prefer to be empty: engines differ in what matches
    prefers_empty_turns: bool = False
    # ^ and $ of lines, which RE2 also finds after a final line feed
    has_line_anchors: bool = False
    has_groups: bool = False
    # a back-reference: it matches one text, however often it is repeated
    is_reference: bool = False


def character(text: str, linear: str, characters: Ranges) -> PatternPart:
    return PatternPart(text, linear, characters, characters=characters)


def start_anchor(text: str, linear: str, *, of_lines: bool) -> PatternPart:
    return PatternPart(text, linear, can_be_empty=True, has_line_anchors=of_lines)


def end_anchor(text: str, linear: str, *, of_lines: bool) -> PatternPart:
    # no character follows the end of a text
    first: Ranges = ((10, 10),) if of_lines else ()
    return PatternPart(text, linear, first, has_line_anchors=of_lines)


def back_reference(text: str, group: PatternPart) -> PatternPart:
    length = ONE if group.ends.degree == 0 else _LINEAR
    return PatternPart(text, None, any_character(), True, steps=length, is_reference=True)


def group(inner: PatternPart, opening: str) -> PatternPart:
    linear = None if inner.linear is None else f"{opening}{inner.linear})"
    return replace(
        inner,
        text=f"{opening}{inner.text})",
        linear=linear,
        has_groups=inner.has_groups or opening == "(",
        # a group of one character is not a character: its loop is a loop over groups
        characters=inner.characters if inner.is_loop else None,
    )


def sequence(parts: Sequence[PatternPart]) -> PatternPart:
    ends, steps = _walked(parts, None)
    first, can_be_empty = _first(parts)
    whole = PatternPart(
        "".join(part.text for part in parts),
        _joined("", parts),
        first,
        can_be_empty,
        ends,
        steps,
        parts[0].characters if len(parts) == 1 else None,
        is_loop=len(parts) == 1 and parts[0].is_loop,
        is_endless=len(parts) == 1 and parts[0].is_endless,
        parts=tuple(parts),
    )
    return _with_traits(whole, parts)


def alternatives(branches: Sequence[PatternPart]) -> PatternPart:
    if len(branches) == 1:
        return branches[0]
    ends, steps = ONE, ONE
    for branch in branches:
        ends, steps = ends.or_more(branch.ends), steps.or_more(branch.steps)
    if not _are_apart(branches):
        ends = ends.times(Growth(math.log2(len(branches))))
    whole = PatternPart(
        "|".join(branch.text for branch in branches),
        _joined("|", branches),
        merged(one for branch in branches for one in branch.first),
        any(branch.can_be_empty for branch in branches),
        ends,
        steps,
        prefers_empty=any(branch.can_be_empty for branch in branches[:-1]),
    )
    return _with_traits(whole, branches)


def repeated(part: PatternPart, low: int, high: int | None, sign: str) -> PatternPart:
    """A part with a quantifier; `high` is None if there is no limit."""
    is_expressible = part.linear is not None and max(low, high or 0) <= _LARGEST_COUNT
    linear = f"{part.linear}{sign}" if is_expressible else None
    result = replace(
        part,
        text=f"{part.text}{sign}",
        linear=linear,
        can_be_empty=part.can_be_empty or low == 0,
        parts=(),
        prefers_empty=part.prefers_empty or (low == 0 and sign.endswith("?") and sign != "?"),
    )
    if high == 1:
        choice = Growth(1.0) if low == 0 else ONE
        result = replace(result, ends=part.ends.times(choice), characters=None)
        return replace(result, is_loop=False, is_endless=False)
    has_many_turns = high is None or high > _FEW_TURNS
    is_short = high is not None and high <= _SHORT_LOOP
    turns = Growth(math.log2(max(high or 1, 1))) if is_short else _LINEAR
    if part.characters is not None and not part.is_loop:
        is_recursive = sign.startswith("{") or part.text.startswith("(?-i:")
        widths_differ = any(last > _BMP for _, last in part.characters) and any(
            first <= _BMP for first, _ in part.characters
        )
        return replace(
            result,
            ends=turns,
            steps=turns,
            is_loop=True,
            is_endless=high is None,
            takes_stack=is_recursive and widths_differ and has_many_turns,
        )
    # the beginning of the next iteration follows the end of an iteration
    ends = _walked(part.parts, part.first)[0] if part.parts else part.ends
    growth = turns.times(Growth(_GROUP_LOOP_BITS))
    if (part.can_be_empty or ends != ONE) and not part.is_reference:
        growth = growth.times(Growth(rate=1.0 + ends.bits + ends.degree + ends.rate))
    return replace(
        result,
        ends=growth,
        steps=growth.times(part.steps),
        characters=None,
        is_loop=False,
        is_endless=False,
        is_reference=False,
        takes_stack=part.takes_stack or has_many_turns,
        has_empty_turns=part.has_empty_turns or part.can_be_empty,
        prefers_empty_turns=part.prefers_empty_turns or (part.can_be_empty and part.prefers_empty),
    )


def leading_run(whole: PatternPart) -> Ranges:
    """The characters of the loop that a pattern begins with; none if there is no such loop.

    The leftmost match begins where a run of these characters begins, or where the search begins:
    from a later place in the run, the loop could also have matched the characters before it.
    """
    first = (whole.parts or (whole,))[0]
    return (first.characters or ()) if first.is_endless else ()


def search_growth(whole: PatternPart, from_runs: bool = False) -> Growth:
    """The steps of a search in a text, from all its positions.

    With `from_runs`, a pattern that begins with a loop is tried only where a run begins.
    """
    parts = list(whole.parts or (whole,))
    # a pattern that cannot fail takes no more steps than characters: the search goes on after them
    while parts and parts[-1].is_loop and parts[-1].can_be_empty:
        parts.pop()
    if parts and parts[-1].is_loop:
        parts[-1] = replace(parts[-1], steps=ONE, ends=ONE)
    if parts and parts[0].text == r"(?:\A)":
        return _walked(parts, None)[1].or_more(_LINEAR)
    if from_runs and leading_run(whole):
        # all runs together are no longer than the text, nor are their ends
        parts = parts[1:]
    return _walked(parts, None)[1].times(_LINEAR)


def _walked(parts: Sequence[PatternPart], follow: Ranges | None) -> tuple[Growth, Growth]:
    """The ways through a sequence, and its steps; `follow` can begin what comes after."""
    ways, steps = ONE, ONE
    for number, part in enumerate(parts):
        steps = steps.or_more(ways.times(part.steps))
        if not _ends_once(part, parts[number + 1 :] if part.is_loop else (), follow):
            ways = ways.times(part.ends)
    return ways, steps


def _ends_once(part: PatternPart, rest: Sequence[PatternPart], follow: Ranges | None) -> bool:
    """Whether the rest can follow only one end of a loop over characters."""
    if not part.is_loop or part.characters is None:
        return False
    following, can_be_empty = _first(rest)
    if can_be_empty and follow is None:
        return False
    if can_be_empty:
        following = merged([*following, *(follow or ())])
    return are_apart((part.characters, following))


def _first(parts: Sequence[PatternPart]) -> tuple[Ranges, bool]:
    """The characters that a sequence can begin with, and whether it can be empty."""
    found: list[tuple[int, int]] = []
    for part in parts:
        found += part.first
        if not part.can_be_empty:
            return merged(found), False
    return merged(found), True


def _are_apart(branches: Sequence[PatternPart]) -> bool:
    """Whether the first character determines the branch."""
    return not any(branch.can_be_empty for branch in branches) and are_apart(
        branch.first for branch in branches
    )


def _joined(sign: str, parts: Sequence[PatternPart]) -> str | None:
    written = [part.linear for part in parts]
    return None if None in written else sign.join(one for one in written if one is not None)


def _with_traits(whole: PatternPart, parts: Sequence[PatternPart]) -> PatternPart:
    """The whole, with the traits that it inherits from its parts."""
    return replace(
        whole,
        prefers_empty=whole.prefers_empty or any(part.prefers_empty for part in parts),
        has_empty_turns=any(part.has_empty_turns for part in parts),
        prefers_empty_turns=any(part.prefers_empty_turns for part in parts),
        takes_stack=any(part.takes_stack for part in parts),
        has_line_anchors=any(part.has_line_anchors for part in parts),
        has_groups=any(part.has_groups for part in parts),
    )
