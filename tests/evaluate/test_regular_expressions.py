"""Regular expressions: what they match, and which are invalid."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xcql
from xcql.diagnostics import XcqlError
from xcql.evaluate.linear_regex import linear_regex
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
        "a{1,1000000000}",
        "a{1,1" + "0" * 5000 + "}",
        "(" * 100_000,
        "(" * 10_000 + ")" * 10_000,
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
def test_invalid_expressions(pattern: str) -> None:
    with pytest.raises(XcqlError) as raised:
        compile_regex(pattern)
    assert raised.value.code == "FORX0002"


# with backtracking, each of these needs more steps than anyone can wait for
_ENDLESS = (
    "(a*)*$",
    "(a|aa)+$",
    "(a|a)*b",
    "(.*)*x",
    "((a+)+)+b",
    "(a|a?)+b",
    "(a?){30}a{30}b",
    "(.*a){20}b",
    "a*a*a*a*a*b",
    "(a*?)*?b",
    "(?:a*a*)*b",
    "([a-z]+)*!x",
    "a?" * 30 + "a" * 30 + "b",
    r"(\w+\s?)*$",
    "[a-z]+[0-9]",
    "(a|b)*c",
)
_NO_LINEAR_FORM = (r"(a*)*\1b", r"(a+)\1+b", r"(?:(a+)\1)*b", "(a{1,900}){1,900}b")


@pytest.mark.parametrize("length", [33, 3_000, 100_000])
@pytest.mark.parametrize("pattern", _ENDLESS)
def test_every_search_terminates(pattern: str, length: int) -> None:
    begun = time.monotonic()
    regex = compile_regex(pattern)
    assert regex.is_found_in("a" * length + "!") is (pattern in ("(a*)*$", r"(\w+\s?)*$"))
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("pattern", _NO_LINEAR_FORM)
def test_an_endless_search_is_an_error(pattern: str) -> None:
    with pytest.raises(XcqlError, match="could take forever"):
        compile_regex(pattern).is_found_in("a" * 3_000 + "!")
    assert not compile_regex(pattern).is_found_in("aaa!")


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ('replace($t, "(a|aa)+$", "-")', 100_001),
        ('replace($t, "(a|aa)+!", "[$1]")', 3),
        ('count(tokenize($t, "(a|a)*b"))', 1),
        ('count(analyze-string($t, "(?:a|aa)+!")/*)', 1),
        ('matches($t, "(a*)*$")', True),
        ('matches($t, "^([ab]|c)*!$", "i")', True),
    ],
)
def test_functions_over_a_long_text(query: str, answer: object) -> None:
    text = "declare variable $t := string-join((1 to 100000) ! 'a') || '!'; "
    found = xcql.evaluate(f"{text}{query}").values[0]
    assert (len(found) if isinstance(found, str) else found) == answer


@pytest.mark.parametrize(
    "query",
    ['replace($t, "(a*)*b", "-$1")', 'analyze-string($t, "(a*)*b")', r'matches($t, "(a*)*\1b")'],
)
def test_an_endless_call_has_a_position(query: str) -> None:
    with pytest.raises(XcqlError) as caught:
        xcql.evaluate(f"let $t := string-join((1 to 100) ! 'a') return {query}")
    assert caught.value.code == "XCQL0008"
    assert caught.value.diagnostic.span is not None


_ATOMS = st.sampled_from(["a", "b", "ab", "[ab]", "[^a]", ".", "^", "$"])
_SIGNS = st.sampled_from(["", "*", "+", "?", "{1,3}", "*?", "+?", "??", "{0,2}"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    opening = st.sampled_from(["(", "(?:"])
    return st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("{}{}){}".format, opening, inner, _SIGNS),
    )


@given(
    pattern=st.recursive(_ATOMS, _larger, max_leaves=6),
    flags=st.sampled_from(["", "i", "m", "s"]),
    text=st.text("abAB\n", max_size=9),
)
@settings(max_examples=100, deadline=None)
def test_both_engines_find_the_same(pattern: str, flags: str, text: str) -> None:
    regex = compile_regex(pattern, flags)
    part = regex.part
    if part.has_line_anchors and text.endswith("\n"):
        return
    assert part.linear is not None
    linear = linear_regex(part.linear)
    assert linear is not None
    expected, found = list(regex.pattern.finditer(text)), list(linear.finditer(text))
    assert bool(expected) is bool(found)
    if regex.is_found_in("") or part.prefers_empty_turns:
        return  # no function needs the matches of such patterns, or RE2 is not used
    assert [match.span() for match in expected] == [match.span() for match in found]
    if not part.has_empty_turns:
        assert [match.groups() for match in expected] == [match.groups() for match in found]
