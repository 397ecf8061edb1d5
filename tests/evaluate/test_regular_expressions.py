"""Regular expressions: what they match, and what is none."""

from __future__ import annotations

import pytest

from xcql.diagnostics import XcqlError
from xcql.evaluate.regular_expressions import compile_regex


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "found"),
    [
        ("a.c", "", "a\nc", False),
        ("a.c", "s", "a\nc", True),
        ("^b$", "", "a\nb", False),
        ("^b$", "m", "a\nb", True),
        ("^$", "m", "a\n", False),
        ("a$", "", "a\n", False),
        ("[a-z-[aeiou]]", "", "e", False),
        ("[^a-c]", "i", "B", False),
        ("[A-Z-[OI]]", "i", "o", False),
        (r"\p{Lu}", "i", "a", False),
        (r"\w", "", "+", True),
        (r"\w", "", "-", False),
        (r"\s", "", "\u00a0", False),
        (r"\d", "", "٣", True),
        (r"\i\c*", "", "é:b", True),
        (r"(a)?b\1", "", "b", True),
        (r"([abc])x\1", "", "bxa", False),
        (r"(a)(b)\11", "", "abbaa1", False),
        (r"(a)\10", "", "aa0", True),
        ("a b", "x", "ab", True),
        ("[ ]", "x", " ", True),
        ("a.b", "q", "axb", False),
        ("a{2,3}?", "", "aaa", True),
        (r"\p{IsGreek}", "", "α", True),
    ],
)
def test_search(pattern: str, flags: str, text: str, found: bool) -> None:
    assert (compile_regex(pattern, flags).pattern.search(text) is not None) is found


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "[",
        "[]",
        "[a",
        "a**",
        "*a",
        "a{2,1}",
        "a{,2}",
        "{",
        "}",
        "]",
        r"\b",
        r"\A",
        r"\x41",
        r"\1(a)",
        r"(a\1)",
        "(?=a)",
        "(?i)a",
        "[z-a]",
        r"\p{Foo}",
        r"\p{IsFoo}",
        r"\p",
        "\\",
        "a++",
        "[[a]]",
        "a{99999999}",
    ],
)
def test_no_expression(pattern: str) -> None:
    with pytest.raises(XcqlError) as raised:
        compile_regex(pattern)
    assert raised.value.code == "FORX0002"
