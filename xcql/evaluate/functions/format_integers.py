"""fn:format-integer, and integer formats, which dates use too."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from xcql.diagnostics import error
from xcql.evaluate.registry import CallContext, function

_MODIFIER = re.compile(r"([co](\([^()]*\))?)?[at]?")
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_GREEK = "αβγδεζηθικλμνξοπρστυφχψω"
_ROMAN = [
    *[(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L")],
    *[(40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")],
]
# first characters of contiguous Unicode numberings: circled, parenthesized, with a full stop
_SERIES = {"①": 20, "⑴": 20, "⒈": 20, "㈠": 10, "㊀": 10, "❶": 10, "➀": 10, "➊": 10, "⓵": 10}


@function("fn:format-integer(xs:integer?, xs:string, [xs:string?]) as xs:string")
def format_integer(
    call: CallContext, value: int | None, picture: str, language: str | None = None
) -> str:
    primary, semicolon, modifier = picture.rpartition(";")
    if not semicolon:
        primary, modifier = picture, ""
    if not primary:
        raise _bad(picture, "it has no format")
    if _MODIFIER.fullmatch(modifier) is None:
        raise _bad(picture, f'"{modifier}" is not a valid modifier')
    if any(unicodedata.category(sign) == "Nd" for sign in primary):
        digit_pattern(primary, picture)
    if value is None:
        return ""
    ordinal = modifier.startswith("o")
    text = integer_text(abs(value), primary, ordinal=ordinal)
    return f"-{text}" if value < 0 else text


def integer_text(value: int, form: str, *, ordinal: bool = False) -> str:
    """A non-negative integer in a format such as `1`, `001`, `i`, `A`, `Ww`.

    >>> integer_text(21, "w", ordinal=True)
    'twenty-first'
    """
    if form in ("w", "W", "Ww"):
        # the import is slow, and words are rarely needed
        from elementpath.xpath30.xpath30_helpers import int_to_words

        words = int_to_words(value, "en", "o" if ordinal else "")
        return words if form == "w" else words.upper() if form == "W" else words.title()
    text = _numbered(value, form)
    if text is not None:
        return text
    if any(unicodedata.category(sign) == "Nd" for sign in form):
        text = digit_pattern(form, form).write(value)
    else:
        text = str(value)
    return text + ordinal_suffix(value) if ordinal else text


def _numbered(value: int, form: str) -> str | None:
    """Roman numerals, letters and other series; None if there is none for the format or number."""
    if form in ("i", "I"):
        if not 0 < value < 5000:
            return None if value else "0"
        roman = _roman(value)
        return roman.lower() if form == "i" else roman
    for first, letters in (("a", _LATIN), ("α", _GREEK)):
        if form.lower() == first:
            if value == 0:
                return "0"
            text = _lettered(value, letters)
            return text if form == first else text.upper()
    if form in _SERIES and 1 <= value <= _SERIES[form]:
        return chr(ord(form) + value - 1)
    return None


def _roman(value: int) -> str:
    signs = []
    for worth, sign in _ROMAN:
        count, value = divmod(value, worth)
        signs.append(sign * count)
    return "".join(signs)


def _lettered(value: int, letters: str) -> str:
    signs = []
    while value > 0:
        value, index = divmod(value - 1, len(letters))
        signs.append(letters[index])
    return "".join(reversed(signs))


def ordinal_suffix(value: int) -> str:
    """The English suffix: 1st, 2nd, 3rd, 4th."""
    if value % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")


@dataclass(frozen=True, slots=True)
class DigitPattern:
    """A format made of digits: their minimum number, and the positions of separators.

    `separators` maps the number of digits to the right of a separator to the separator; with
    `interval`, it is repeated at that distance.
    """

    zero: str
    mandatory: int
    optional: int
    separators: dict[int, str]
    interval: int

    def write(self, value: int, width: int = 0) -> str:
        digits = str(value).rjust(max(self.mandatory, width), "0")
        signs: list[str] = []
        for position, digit in enumerate(reversed(digits)):
            separator = self.separators.get(position)
            if self.interval and position and position % self.interval == 0:
                separator = self.separators[self.interval]
            if separator is not None:
                signs.append(separator)
            signs.append(chr(ord(self.zero) + int(digit)))
        return "".join(reversed(signs))


def digit_pattern(form: str, picture: str) -> DigitPattern:
    """Parse a format such as `#,##0` or `001`; FODF1310 if it is invalid."""
    zeros = {ord(sign) - unicodedata.decimal(sign) for sign in form if _is_digit(sign)}
    if len(zeros) != 1:
        raise _bad(picture, "its digits are of different kinds" if zeros else "it has no digit")
    mandatory = optional = 0
    separators: dict[int, str] = {}
    previous = "separator"
    for sign in reversed(form):
        if _is_digit(sign):
            if optional:
                raise _bad(picture, "a # follows a digit")
            mandatory += 1
            previous = "digit"
        elif sign == "#":
            optional += 1
            previous = "digit"
        else:
            if unicodedata.category(sign)[0] in "LN" or previous == "separator":
                raise _bad(picture, f'"{sign}" is not allowed there')
            separators[mandatory + optional] = sign
            previous = "separator"
    if previous == "separator":
        raise _bad(picture, "it begins with a separator")
    return DigitPattern(
        chr(zeros.pop()), mandatory, optional, separators, _interval(separators, form)
    )


def _is_digit(sign: str) -> bool:
    return unicodedata.category(sign) == "Nd"


def _interval(separators: dict[int, str], form: str) -> int:
    """The distance between regular separators; 0 if they are not regular."""
    if not separators or len(set(separators.values())) != 1:
        return 0
    first = min(separators)
    digits = sum(1 for sign in form if _is_digit(sign) or sign == "#")
    expected = set(range(first, digits, first))
    return first if set(separators) == expected else 0


def _bad(picture: str, reason: str) -> Exception:
    return error("FODF1310", f'the picture "{picture[:60]}" cannot be used: {reason}')
