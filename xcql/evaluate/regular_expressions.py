"""Regular expressions: from the syntax of XPath 3.1 to that of Python.

The pattern is read by the grammar of XML Schema with XPath's additions; what Python would take
for something else is an error here (FORX0002). Character properties and blocks come from
elementpath's tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache

from xcql.diagnostics import XcqlError, error

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
_NAME_MORE: Ranges = (
    (0x2D, 0x2E),
    (0x30, 0x39),
    (0xB7, 0xB7),
    (0x300, 0x36F),
    (0x203F, 0x2040),
)
_SINGLE = {"n": "\n", "r": "\r", "t": "\t"} | {sign: sign for sign in "\\|.?*+(){}-[]^$"}
_QUANTIFIER = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_LARGEST_COUNT = 1_000_000
_CASE_LIMIT = 0x1F000


@dataclass(frozen=True, slots=True)
class Regex:
    """A compiled expression; `parents` gives for each group the group it stands in (0: none)."""

    pattern: re.Pattern[str]
    parents: tuple[int, ...] = ()
    is_literal: bool = field(default=False)


@lru_cache(maxsize=512)
def compile_regex(pattern: str, flags: str = "") -> Regex:
    """A compiled XPath regular expression, with the flags of `fn:matches`.

    >>> bool(compile_regex("[a-z-[aeiou]]+").pattern.fullmatch("xyz"))
    True
    """
    unknown = set(flags) - set("smixq")
    if unknown:
        raise error(
            "FORX0001",
            f'"{"".join(sorted(unknown))}" is no flag of a regular expression',
            hints=["the flags are s, m, i, x and q"],
        )
    options = re.IGNORECASE if "i" in flags else re.NOFLAG
    if "q" in flags:
        return Regex(re.compile(re.escape(pattern), options), (), True)
    if "x" in flags:
        pattern = _without_space(pattern)
    reader = _Reader(pattern, dot_all="s" in flags, lines="m" in flags, ignore_case="i" in flags)
    text = reader.read()
    try:
        return Regex(re.compile(text, options), tuple(reader.parents))
    except (re.error, OverflowError, RecursionError) as problem:
        raise error("FORX0002", f'"{pattern[:80]}" cannot be compiled: {problem}') from None


def _without_space(pattern: str) -> str:
    """The pattern of flag `x`: no white space, but inside character classes."""
    kept, depth, escaped = [], 0, False
    for sign in pattern:
        if sign in " \t\r\n" and depth == 0:
            continue
        kept.append(sign)
        if escaped:
            escaped = False
        elif sign == "\\":
            escaped = True
        else:
            depth += (sign == "[") - (sign == "]" and depth > 0)
    return "".join(kept)


class _Reader:
    """One pass over a pattern; holds where it stands."""

    def __init__(self, text: str, *, dot_all: bool, lines: bool, ignore_case: bool) -> None:
        self.text = text
        self.at = 0
        self.dot_all, self.lines, self.ignore_case = dot_all, lines, ignore_case
        self.parents: list[int] = []
        self.open: list[int] = []

    def fault(self, message: str) -> XcqlError:
        shown = self.text if len(self.text) <= 60 else self.text[:60] + "…"
        return error(
            "FORX0002", f'in the regular expression "{shown}": {message} (at {self.at + 1})'
        )

    def peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def read(self) -> str:
        result = self.alternatives()
        if self.at < len(self.text):
            raise self.fault("there is no ( for this )")
        return result

    def alternatives(self) -> str:
        branches = [self.branch()]
        while self.peek() == "|":
            self.at += 1
            branches.append(self.branch())
        return "|".join(branches)

    def branch(self) -> str:
        parts = []
        while self.at < len(self.text) and self.peek() not in "|)":
            atom = self.atom()
            parts.append(atom + self.quantifier())
        return "".join(parts)

    def quantifier(self) -> str:
        sign = self.peek()
        if sign and sign in "?*+":
            self.at += 1
            result = sign
        elif sign == "{":
            match = _QUANTIFIER.match(self.text, self.at)
            if match is None:
                raise self.fault("{ begins no quantifier such as {1,2}")
            low, high = int(match[1]), int(match[3] or match[1])
            if high < low or max(low, high) > _LARGEST_COUNT:
                raise self.fault("the quantifier's numbers do not fit")
            self.at = match.end()
            result = match[0]
        else:
            return ""
        if self.peek() == "?":
            self.at += 1
            result += "?"
        if self.peek() and self.peek() in "?*+{":
            raise self.fault("there are two quantifiers in a row")
        return result

    def atom(self) -> str:
        sign = self.peek()
        if sign == "(":
            return self.group()
        if sign == "[":
            self.at += 1
            return _class_text(self.character_class(), self.ignore_case)
        if sign == "\\":
            return self.escape()
        self.at += 1
        if sign == ".":
            return r"(?s:.)" if self.dot_all else r"[^\n\r]"
        if sign == "^":
            return r"(?:\A|(?<=\n)(?!\Z))" if self.lines else r"(?:\A)"
        if sign == "$":
            return r"(?:(?=\n)|(?<!\n)\Z)" if self.lines else r"(?:\Z)"
        if sign in "?*+{}]":
            self.at -= 1
            raise self.fault(f"{sign} stands for itself only with a \\ before it")
        return re.escape(sign)

    def group(self) -> str:
        self.at += 1
        if self.peek(2) == "?:":
            self.at += 2
            opening = "(?:"
            number = 0
        elif self.peek() == "?":
            raise self.fault("after ( a ? has no meaning, but in (?:")
        else:
            opening = "("
            self.parents.append(self.open[-1] if self.open else 0)
            number = len(self.parents)
            self.open.append(number)
        inner = self.alternatives()
        if self.peek() != ")":
            raise self.fault("a ) is missing")
        self.at += 1
        if number:
            self.open.pop()
        return f"{opening}{inner})"

    def escape(self) -> str:
        following = self.text[self.at + 1 : self.at + 2]
        if following.isdigit() and following.isascii():
            return self.back_reference()
        single, ranges = self.class_escape()
        if single is not None:
            return re.escape(single)
        return f"(?-i:{_class_text(ranges, False)})"

    def back_reference(self) -> str:
        self.at += 1
        number = 0
        while self.peek() and self.peek() in "0123456789":
            longer = number * 10 + int(self.peek())
            if number and longer > len(self.parents):
                break
            number = longer
            self.at += 1
        if not 1 <= number <= len(self.parents) or number in self.open:
            raise self.fault(f"there is no finished group {number}")
        # a group that took no part in the match counts as empty
        return rf"(?:(?({number})\{number}))"

    def class_escape(self) -> tuple[str | None, Ranges]:
        """A single character, or the set of characters, that an escape such as `\\d` means."""
        sign = self.text[self.at + 1 : self.at + 2]
        if sign in _SINGLE and sign:
            self.at += 2
            return _SINGLE[sign], ()
        if sign and sign in "sSdDwWiIcC":
            self.at += 2
            ranges = _multi(sign.lower())
            return None, ranges if sign.islower() else _complement(ranges)
        if sign and sign in "pP":
            end = self.text.find("}", self.at)
            if self.text[self.at + 2 : self.at + 3] != "{" or end < 0:
                raise self.fault(f"\\{sign} needs a name in braces, as in \\{sign}{{L}}")
            name = self.text[self.at + 3 : end]
            ranges = _property(name)
            if not ranges and not name.startswith("Is"):
                raise self.fault(f'"{name}" is no property of characters')
            if not ranges:
                raise self.fault(f'"{name[2:]}" is no block of characters')
            self.at = end + 1
            return None, ranges if sign == "p" else _complement(ranges)
        raise self.fault(f"\\{sign} has no meaning")

    def character_class(self) -> Ranges:
        """The characters of a class, read from after its [ to after its ]."""
        negative = self.peek() == "^"
        self.at += negative
        start = self.at
        ranges: list[tuple[int, int]] = []
        subtracted: Ranges = ()
        while self.peek() != "]" or self.at == start:
            if not self.peek() or self.peek() == "]":
                raise self.fault("this character class has no characters or no end")
            if self.peek(2) == "-[" and self.at > start:
                self.at += 2
                subtracted = self.character_class()
                if self.peek() != "]":
                    raise self.fault("after a subtracted class the class has to end")
                break
            ranges += self.class_part(start)
        self.at += 1
        chosen = _merged(ranges)
        if self.ignore_case:
            chosen = _any_case(chosen)
            subtracted = _any_case(subtracted)
        if negative:
            chosen = _complement(chosen)
        return _minus(chosen, subtracted) if subtracted else chosen

    def class_part(self, start: int) -> Iterable[tuple[int, int]]:
        """One character, range or escape inside a class."""
        first, ranges = self.class_character(start)
        if first is None:
            return ranges
        if self.peek() != "-" or self.text[self.at + 1 : self.at + 2] in ("]", "["):
            return [(ord(first), ord(first))]
        if self.text[self.at + 1 : self.at + 2] == "":
            raise self.fault("the character class has no end")
        self.at += 1
        last, _ = self.class_character(start, in_range=True)
        if last is None or last < first:
            raise self.fault("this is no range of characters")
        return [(ord(first), ord(last))]

    def class_character(self, start: int, *, in_range: bool = False) -> tuple[str | None, Ranges]:
        sign = self.peek()
        if sign == "\\":
            return self.class_escape()
        if sign == "[":
            raise self.fault("[ stands for itself only with a \\ before it")
        if sign == "-" and (in_range or (self.at > start and self.text[self.at + 1] not in "]-")):
            raise self.fault("- stands for itself only at the begin or the end of a class")
        self.at += 1
        return sign, ()


# sets of characters, as sorted ranges


def _merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    result: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


def _complement(ranges: Ranges) -> Ranges:
    result, start = [], 0
    for low, high in ranges:
        if low > start:
            result.append((start, low - 1))
        start = high + 1
    if start <= _LAST:
        result.append((start, _LAST))
    return tuple(result)


def _minus(ranges: Ranges, removed: Ranges) -> Ranges:
    return _complement(_merged([*_complement(ranges), *removed]))


@cache
def _multi(letter: str) -> Ranges:
    if letter == "s":
        return ((9, 10), (13, 13), (32, 32))
    if letter == "d":
        return _property("Nd")
    if letter == "i":
        return _NAME_START
    if letter == "c":
        return _merged([*_NAME_START, *_NAME_MORE])
    return _complement(_merged([*_property("P"), *_property("Z"), *_property("C")]))


@cache
def _property(name: str) -> Ranges:
    """The characters of a category such as `Lu` or a block such as `IsBasicLatin`."""
    from elementpath.regex import RegexError, unicode_block, unicode_category

    try:
        found = unicode_block(name[2:]) if name.startswith("Is") else unicode_category(name)
    except (RegexError, KeyError, ValueError):
        return ()
    # elementpath keeps single code points and half-open ranges
    return _merged(
        (part, part) if isinstance(part, int) else (part[0], part[1] - 1)
        for part in found.codepoints
    )


@cache
def _case_partners() -> dict[int, tuple[int, ...]]:
    """For every character with upper and lower case the other forms of it."""
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


def _any_case(ranges: Ranges) -> Ranges:
    if not ranges:
        return ranges
    partners = _case_partners()
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
    return _merged([*ranges, *more])


def _class_text(ranges: Ranges, ignore_case: bool) -> str:
    if not ranges:
        return r"(?!)"
    parts = [
        _escaped(low) if low == high else f"{_escaped(low)}-{_escaped(high)}"
        for low, high in ranges
    ]
    text = f"[{''.join(parts)}]"
    return f"(?-i:{text})" if ignore_case else text


def _escaped(code: int) -> str:
    return f"\\U{code:08x}" if code > 0xFF or not chr(code).isalnum() else chr(code)
