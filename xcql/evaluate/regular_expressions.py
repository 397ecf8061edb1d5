"""Regular expressions: translates the syntax of XPath 3.1 to Python's.

The pattern is parsed with the grammar of XML Schema and XPath's additions; syntax that has a
different meaning in Python is an error here (FORX0002).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from xcql.diagnostics import XcqlError, error
from xcql.evaluate import regex_parts
from xcql.evaluate.character_ranges import (
    Ranges,
    any_case,
    any_character,
    case_partners,
    complement,
    merged,
    minus,
    multi_escape,
    property_ranges,
)
from xcql.evaluate.linear_regex import LinearRegex, linear_regex
from xcql.evaluate.regex_parts import Growth, PatternPart, search_growth

_COUNTS: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
# the form for Python, and for RE2
_TEXT_START = (r"(?:\A)", r"\A")
_TEXT_END = (r"(?:\Z)", r"\z")
_LINE_START = (r"(?:\A|(?<=\n)(?!\Z))", "(?m:^)")
_LINE_END = (r"(?:(?=\n)|(?<!\n)\Z)", "(?m:$)")
_SINGLE = {"n": "\n", "r": "\r", "t": "\t"} | {sign: sign for sign in "\\|.?*+(){}-[]^$"}
_QUANTIFIER = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_LARGEST_COUNT = 1_000_000
_DEEPEST = 200
# the steps that Python's engine may take, as powers of two: a few tenths of a second if there is
# an alternative, a few seconds if there is none
_QUICK = 23.0
_BEARABLE = 31.0
# more characters than any text has
_ANY_LENGTH = 2**40


# what the caller needs: whether there is a match, where the matches are, or their groups too
Wanted = Literal["whether", "where", "groups"]


@dataclass(frozen=True, slots=True)
class Regex:
    """A compiled expression; `parents` maps each group to the group around it (0: none)."""

    source: str
    pattern: re.Pattern[str]
    part: PatternPart
    growth: Growth
    parents: tuple[int, ...] = ()
    is_literal: bool = False

    @property
    def may_be_endless(self) -> bool:
        """Whether there is a text for which a search raises XCQL0008."""
        if self.is_literal or self.growth.log2(_ANY_LENGTH) <= _BEARABLE:
            return False
        part = self.part
        is_always_linear = part.linear is not None and not (
            part.has_line_anchors or part.prefers_empty_turns or part.has_empty_turns
        )
        return not is_always_linear

    def is_found_in(self, text: str) -> bool:
        return next(self.found_in(text, "whether"), None) is not None

    def found_in(self, text: str, wanted: Wanted) -> Iterator[re.Match[str]]:
        """The matches, from left to right, with what the caller needs of them.

        Python's engine searches if the bound says that it ends soon, otherwise RE2. If RE2 cannot
        express the pattern and the bound is far too large, the error is XCQL0008.
        """
        effort = self.growth.log2(len(text))
        if effort <= _QUICK or self.is_literal:
            return self.pattern.finditer(text)
        linear = self._linear(text, wanted)
        if linear is not None:
            return linear.finditer(text)
        if effort <= _BEARABLE:
            return self.pattern.finditer(text)
        raise _endless(self.source, len(text))

    def _linear(self, text: str, wanted: Wanted) -> LinearRegex | None:
        """An equivalent pattern that takes linear time; None if there is none."""
        part = self.part
        if part.linear is None or (part.has_line_anchors and text.endswith("\n")):
            return None
        if wanted != "whether" and part.prefers_empty_turns:
            return None
        if wanted == "groups" and part.has_groups and part.has_empty_turns:
            return None
        return linear_regex(part.linear)


def _endless(pattern: str, length: int) -> XcqlError:
    shown = pattern if len(pattern) <= 60 else pattern[:60] + "…"
    return error(
        "XCQL0008",
        f'the regular expression "{shown}" could take forever on a text of {length} characters',
        notes=["it nests repetitions, or can match the same text in many ways"],
        hints=[
            "avoid nested quantifiers, such as (a*)*, together with back-references",
            "or search shorter texts: substring($text, 1, 1000)",
        ],
    )


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
            f'"{"".join(sorted(unknown))}" is not a flag of regular expressions',
            hints=["the flags are s, m, i, x and q"],
        )
    options = re.IGNORECASE if "i" in flags else re.NOFLAG
    is_literal = "q" in flags
    if "x" in flags and not is_literal:
        pattern = _without_space(pattern)
    reader = _Reader(pattern, dot_all="s" in flags, lines="m" in flags, ignore_case="i" in flags)
    part = PatternPart(re.escape(pattern), None) if is_literal else reader.read()
    try:
        compiled = re.compile(part.text, options)
    except (re.error, OverflowError, RecursionError) as problem:
        raise error("FORX0002", f'"{pattern[:80]}" cannot be compiled: {problem}') from None
    return Regex(pattern, compiled, part, search_growth(part), tuple(reader.parents), is_literal)


def _without_space(pattern: str) -> str:
    """The pattern for flag `x`: without white space, except inside character classes."""
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
    """One pass over a pattern; holds the current position."""

    def __init__(self, text: str, *, dot_all: bool, lines: bool, ignore_case: bool) -> None:
        self.text = text
        self.at = 0
        self.dot_all, self.lines, self.ignore_case = dot_all, lines, ignore_case
        self.parents: list[int] = []
        self.open: list[int] = []
        self.finished: dict[int, PatternPart] = {}
        self.depth = 0

    def fault(self, message: str) -> XcqlError:
        shown = self.text if len(self.text) <= 60 else self.text[:60] + "…"
        return error(
            "FORX0002", f'in the regular expression "{shown}": {message} (at {self.at + 1})'
        )

    def peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def read(self) -> PatternPart:
        result = self.alternatives()
        if self.at < len(self.text):
            raise self.fault("this ) has no matching (")
        return result

    def alternatives(self) -> PatternPart:
        branches = [self.branch()]
        while self.peek() == "|":
            self.at += 1
            branches.append(self.branch())
        return regex_parts.alternatives(branches)

    def branch(self) -> PatternPart:
        parts = []
        while self.at < len(self.text) and self.peek() not in "|)":
            parts.append(self.quantified(self.atom()))
        return regex_parts.sequence(parts)

    def quantified(self, atom: PatternPart) -> PatternPart:
        sign = self.peek()
        low, high = _COUNTS.get(sign, (0, None))
        if sign and sign in "?*+":
            self.at += 1
            result = sign
        elif sign == "{":
            match = _QUANTIFIER.match(self.text, self.at)
            if match is None:
                raise self.fault("{ must begin a quantifier such as {1,2}")
            low, largest = int(match[1][:9]), int((match[3] or match[1])[:9])
            if largest < low or max(low, largest) > _LARGEST_COUNT:
                raise self.fault("the numbers of the quantifier are invalid")
            high = None if match[2] == "," else largest
            self.at = match.end()
            result = match[0]
        else:
            return atom
        if self.peek() == "?":
            self.at += 1
            result += "?"
        if self.peek() and self.peek() in "?*+{":
            raise self.fault("there are two quantifiers in a row")
        return regex_parts.repeated(atom, low, high, result)

    def atom(self) -> PatternPart:
        sign = self.peek()
        if sign == "(":
            return self.group()
        if sign == "[":
            self.at += 1
            ranges = self.character_class()
            return _class_part(ranges, class_text(ranges, ignore_case=self.ignore_case))
        if sign == "\\":
            return self.escape()
        self.at += 1
        if sign == ".":
            if self.dot_all:
                return _class_part(any_character(), "(?s:.)")
            return _class_part(complement(((10, 10), (13, 13))), r"[^\n\r]")
        if sign == "^":
            text, linear = _LINE_START if self.lines else _TEXT_START
            return regex_parts.start_anchor(text, linear, of_lines=self.lines)
        if sign == "$":
            text, linear = _LINE_END if self.lines else _TEXT_END
            return regex_parts.end_anchor(text, linear, of_lines=self.lines)
        if sign in "?*+{}]":
            self.at -= 1
            raise self.fault(f"write a literal {sign} with a \\ before it")
        return self.literal(sign)

    def literal(self, sign: str) -> PatternPart:
        ranges = _as_ignoring_case(sign) if self.ignore_case else ((ord(sign), ord(sign)),)
        return _class_part(ranges, re.escape(sign))

    def group(self) -> PatternPart:
        self.at += 1
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.fault(f"groups are nested more than {_DEEPEST} levels deep")
        if self.peek(2) == "?:":
            self.at += 2
            opening = "(?:"
            number = 0
        elif self.peek() == "?":
            raise self.fault("a ? after ( is only allowed in (?:")
        else:
            opening = "("
            self.parents.append(self.open[-1] if self.open else 0)
            number = len(self.parents)
            self.open.append(number)
        inner = self.alternatives()
        if self.peek() != ")":
            raise self.fault("missing )")
        self.at += 1
        self.depth -= 1
        if number:
            self.open.pop()
            self.finished[number] = inner
        return regex_parts.group(inner, opening)

    def escape(self) -> PatternPart:
        following = self.text[self.at + 1 : self.at + 2]
        if following.isdigit() and following.isascii():
            return self.back_reference()
        single, ranges = self.class_escape()
        if single is not None:
            return self.literal(single)
        return _class_part(ranges, class_text(ranges, ignore_case=self.ignore_case))

    def back_reference(self) -> PatternPart:
        self.at += 1
        number = 0
        while self.peek() and self.peek() in "0123456789":
            longer = number * 10 + int(self.peek())
            if number and longer > len(self.parents):
                break
            number = longer
            self.at += 1
        if not 1 <= number <= len(self.parents) or number in self.open:
            raise self.fault(f"there is no complete group {number}")
        # a group that was not part of the match counts as empty
        text = rf"(?:(?({number})\{number}))"
        return regex_parts.back_reference(text, self.finished[number])

    def class_escape(self) -> tuple[str | None, Ranges]:
        """The character, or set of characters, that an escape such as `\\d` stands for."""
        sign = self.text[self.at + 1 : self.at + 2]
        if sign in _SINGLE and sign:
            self.at += 2
            return _SINGLE[sign], ()
        if sign and sign in "sSdDwWiIcC":
            self.at += 2
            ranges = multi_escape(sign.lower())
            return None, ranges if sign.islower() else complement(ranges)
        if sign and sign in "pP":
            end = self.text.find("}", self.at)
            if self.text[self.at + 2 : self.at + 3] != "{" or end < 0:
                raise self.fault(f"\\{sign} needs a name in braces, as in \\{sign}{{L}}")
            name = self.text[self.at + 3 : end]
            ranges = property_ranges(name)
            if not ranges and not name.startswith("Is"):
                raise self.fault(f'"{name}" is not a character property')
            if not ranges:
                raise self.fault(f'"{name[2:]}" is not a character block')
            self.at = end + 1
            return None, ranges if sign == "p" else complement(ranges)
        raise self.fault(f"unknown escape \\{sign}")

    def character_class(self) -> Ranges:
        """The characters of a class, parsed from after its [ to after its ]."""
        negative = self.peek() == "^"
        self.at += negative
        start = self.at
        ranges: list[tuple[int, int]] = []
        subtracted: Ranges = ()
        while self.peek() != "]" or self.at == start:
            if not self.peek() or self.peek() == "]":
                raise self.fault("this character class is empty or not closed")
            if self.peek(2) == "-[" and self.at > start:
                self.at += 2
                subtracted = self.character_class()
                if self.peek() != "]":
                    raise self.fault("a class must end after a subtracted class")
                break
            ranges += self.class_part(start)
        self.at += 1
        chosen = merged(ranges)
        if self.ignore_case:
            chosen = any_case(chosen)
            subtracted = any_case(subtracted)
        if negative:
            chosen = complement(chosen)
        return minus(chosen, subtracted) if subtracted else chosen

    def class_part(self, start: int) -> Iterable[tuple[int, int]]:
        """One character, range or escape inside a class."""
        first, ranges = self.class_character(start)
        if first is None:
            return ranges
        if self.peek() != "-" or self.text[self.at + 1 : self.at + 2] in ("]", "["):
            return [(ord(first), ord(first))]
        if self.text[self.at + 1 : self.at + 2] == "":
            raise self.fault("the character class is not closed")
        self.at += 1
        last, _ = self.class_character(start, in_range=True)
        if last is None or last < first:
            raise self.fault("this is not a valid range of characters")
        return [(ord(first), ord(last))]

    def class_character(self, start: int, *, in_range: bool = False) -> tuple[str | None, Ranges]:
        sign = self.peek()
        if sign == "\\":
            return self.class_escape()
        if sign == "[":
            raise self.fault("write a literal [ with a \\ before it")
        if sign == "-" and (in_range or (self.at > start and self.text[self.at + 1] not in "]-")):
            raise self.fault("a literal - is only allowed at the beginning or the end of a class")
        self.at += 1
        return sign, ()


def _class_part(ranges: Ranges, text: str) -> PatternPart:
    return regex_parts.character(text, _linear_class(ranges), ranges)


def _linear_class(ranges: Ranges) -> str:
    """A character class in RE2's syntax."""
    if not ranges:
        return r"[^\x{0}-\x{10ffff}]"
    return "[" + "".join(rf"\x{{{low:x}}}-\x{{{high:x}}}" for low, high in ranges) + "]"


@cache
def _as_ignoring_case(sign: str) -> Ranges:
    """The characters that Python treats as equal when it ignores case."""
    partners = case_partners()
    related, new = {ord(sign)}, {ord(sign)}
    while new:
        new = {other for code in new for other in partners.get(code, ())} - related
        related |= new
    pattern = re.compile(re.escape(sign), re.IGNORECASE)
    return merged((code, code) for code in related if pattern.fullmatch(chr(code)))


def class_text(ranges: Ranges, *, ignore_case: bool = False) -> str:
    """A character class in Python's syntax."""
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
