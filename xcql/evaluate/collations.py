"""Collations: ways to compare and to search strings.

The codepoint collation is Python's own order of strings. The Unicode collation algorithm is
approximated from the character database (base letters, then accents, then case): there are no
tables for the order of a particular language, so `fallback=no` is refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urljoin

from xcql.diagnostics import error

CODEPOINT_URI = "http://www.w3.org/2005/xpath-functions/collation/codepoint"
_ASCII_URI = "http://www.w3.org/2005/xpath-functions/collation/html-ascii-case-insensitive"
_UCA_URI = "http://www.w3.org/2013/collation/UCA"
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


@dataclass(frozen=True, slots=True)
class Collation:
    """Compares strings by their keys, and searches them by their folded characters.

    >>> find_collation(_ASCII_URI).key("Ab") == find_collation(_ASCII_URI).key("aB")
    True
    """

    uri: str
    key: Callable[[str], Any]
    fold: Callable[[str], str]

    def compare(self, left: str, right: str) -> int:
        """-1, 0 or 1."""
        a, b = self.key(left), self.key(right)
        return int(a > b) - int(a < b)

    def find(self, text: str, wanted: str, *, anchored: str = "") -> tuple[int, int] | None:
        """The position of the given text in another: start and end.

        `anchored` is "start" or "end" if the match must be at the start or the end.
        """
        pieces = [self.fold(sign) for sign in text]
        folded, pattern = "".join(pieces), self.fold(wanted)
        if anchored == "start":
            begin = 0 if folded.startswith(pattern) else -1
        elif anchored == "end":
            begin = len(folded) - len(pattern) if folded.endswith(pattern) else -1
        else:
            begin = folded.find(pattern)
        if begin < 0:
            return None
        if len(folded) == len(text):
            return begin, begin + len(pattern)
        return _unfolded(pieces, begin), _unfolded(pieces, begin + len(pattern))


def _unfolded(pieces: list[str], offset: int) -> int:
    """The index of the character at an offset of the joined pieces."""
    position = 0
    for index, piece in enumerate(pieces):
        if position >= offset:
            return index
        position += len(piece)
    return len(pieces)


def _same(text: str) -> str:
    return text


def _ascii_lower(text: str) -> str:
    return text.translate(_ASCII_LOWER)


CODEPOINT = Collation(CODEPOINT_URI, _same, _same)


@cache
def find_collation(uri: str, base: str | None = None) -> Collation:
    """The collation of that URI, resolved against a base URI; FOCH0002 if it is unknown."""
    absolute = urljoin(base, uri) if base else uri
    if absolute == CODEPOINT_URI:
        return CODEPOINT
    if absolute == _ASCII_URI:
        return Collation(absolute, _ascii_lower, _ascii_lower)
    if absolute == _UCA_URI or absolute.startswith(_UCA_URI + "?"):
        return _unicode(absolute)
    raise error(
        "FOCH0002",
        f'unknown collation "{uri}"',
        hints=[f'the known collations are "{CODEPOINT_URI}", "{_ASCII_URI}" and "{_UCA_URI}"'],
    )


def _unicode(uri: str) -> Collation:
    query = uri.partition("?")[2]
    options = dict(part.partition("=")[::2] for part in re.split("[;&]", query) if part)
    if options.get("fallback") == "no":
        raise error("FOCH0002", "there is no exact implementation of this collation (fallback=no)")
    strength = options.get("strength", "tertiary")
    levels = {"primary": 1, "1": 1, "secondary": 2, "2": 2}.get(strength, 3)
    numeric = options.get("numeric") == "yes"
    upper_first = options.get("caseFirst") == "upper"
    blanked = options.get("alternate") in ("blanked", "shifted")

    def visible(text: str) -> str:
        if not blanked:
            return text
        return "".join(c for c in text if unicodedata.category(c)[0] not in "ZP")

    def key(text: str) -> Any:
        letters = unicodedata.normalize("NFD", visible(text))
        base = "".join(c for c in letters if not unicodedata.combining(c))
        primary: Any = base.casefold()
        if numeric:
            parts = re.split("([0-9]+)", primary)
            primary = [(1, int(p[:4000]), "") if p.isdigit() else (2, 0, p) for p in parts if p]
        else:
            # letters after digits, digits after punctuation, as in the algorithm
            primary = [(unicodedata.category(c)[0] in "LM", c) for c in primary]
        accents = [c for c in letters.casefold() if unicodedata.combining(c)]
        case = [c.isupper() != upper_first for c in letters]
        return (primary, accents, case)[:levels]

    def fold(text: str) -> str:
        text = unicodedata.normalize("NFD", visible(text)) if levels < 3 else visible(text)
        if levels == 1:
            text = "".join(c for c in text if not unicodedata.combining(c))
        return text.casefold() if levels < 3 else text

    return Collation(uri, key, fold)
