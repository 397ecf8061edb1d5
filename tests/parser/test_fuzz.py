"""For any text, the parser quickly returns a tree or an error, never another exception."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import FULL, examples
from xcql import XcqlError, emit, parse
from xcql.parser.lexer import KEYWORDS

HERE = Path(__file__).parent
SEEDS = [
    *(HERE.parent / "syntax" / "identity.xcql").read_text(encoding="utf-8").split("\n\n"),
    *(path.read_bytes().decode("utf-8") for path in sorted((HERE / "errors").glob("*.xcql"))),
]
TOKEN_NAME = re.compile(r"KW_|NCNAME|_OPEN|_CLOSE|LPAREN|RBRACE|<EOF>")
_SIGNS = r"""
    ( ) [ ] { } }} {{ < > </ /> <!-- --> <? ?> <![CDATA[ ]]> (: :) (# #) ``[ ]`` `{ }` ?[ #[
    . .. / // @ $ $x ? # ! * + - | || => := = != <= >> << :: : , ; & &amp; &#0; &#x110000;
    1 1.5 1e5 10div 'a' " ' now last start 2003-11-01 2003-13-01T00:00:00 PT1H P1Y
    Q{ Q{}a Q{a&b}c a:b *:a a:* <a <a> </a> <a/> xs:integer*
"""
WORDS = [
    *KEYWORDS,
    *_SIGNS.split(),
    *("\u00a0", "\r\n", "\n", "\t", "\x00", "\ud7ff", "é", "𝄞"),
]


def check_error(text: str, problem: XcqlError) -> None:
    lines = text.split("\n")
    assert problem.line is not None
    assert problem.column is not None
    assert 1 <= problem.line <= len(lines)
    assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
    assert str(problem).startswith(f"error[{problem.code}]: ")
    assert TOKEN_NAME.search(problem.message) is None or TOKEN_NAME.search(text)


def check(text: str, *, there_and_back: bool = True) -> None:
    limit = sys.getrecursionlimit()
    try:
        tree = parse(text)
    except XcqlError as problem:
        check_error(text, problem)
    else:
        assert not there_and_back or parse(emit(tree)) == tree
    assert sys.getrecursionlimit() == limit


CHANGES = ("delete", "double", "swap", "character", "word", "word", "cut")


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A query with characters or words deleted, doubled, swapped or inserted."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        to = min(len(text), at + draw(st.sampled_from([0, 1, 1, 2, 5, 20])))
        match draw(
            st.sampled_from(["delete", "double", "swap", "character", "word", "word", "cut"])
        ):
            case "delete":
                text = text[:at] + text[to:]
            case "double":
                text = text[:to] + text[at:]
            case "swap":
                text = text[:at] + text[to : to + 3] + text[at:to] + text[to + 3 :]
            case "character":
                text = text[:at] + draw(st.characters(codec="utf-8")) + text[to:]
            case "word":
                space = draw(st.sampled_from(["", " "]))
                text = text[:at] + space + draw(st.sampled_from(WORDS)) + space + text[to:]
            case "cut":
                text = text[:at]
    return text


@examples(200)
@given(mutated())
def test_mutated_queries(text: str) -> None:
    check(text)


@examples(150, 5000)
@given(st.lists(st.sampled_from(WORDS), max_size=25), st.sampled_from(["", " "]))
def test_words_in_any_order(words: list[str], space: str) -> None:
    check(space.join(words))


@examples(80, 2000)
@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    check(text)


# ---------------------------------------------------------------- nesting

DEPTH = 2000
NESTED = {
    "parentheses": ("(", "1", ")"),
    "arrays": ("[", "1", "]"),
    "predicates": ("a[", "1", "]"),
    "calls": ("f(", "1", ")"),
    "maps": ("map { 1 : ", "1", "}"),
    "curly arrays": ("array {", "1", "}"),
    "elements": ("<a>", "1", "</a>"),
    "elements with expressions": ("<a>{", "1", "}</a>"),
    "attributes": ('<a b="{', "1", '}"/>'),
    "computed elements": ("element a {", "1", "}"),
    "string templates": ("``[`{", "1", "}`]``"),
    "intervals": ("$a?[", "now", "]"),
    "versions": ("$a#[", "last", "]"),
    "Allen intervals": ("[now] before [", "now", "]"),
    "if": ("if (1) then ", "1", " else 1"),
    "else-if": ("if (1) then 1 else ", "1", ""),
    "conditions": ("if (", "1", ") then 1 else 1"),
    "for": ("for $x in a return ", "1", ""),
    "sources": ("for $x in ", "1", " return 1"),
    "let": ("let $x := ", "1", " return 1"),
    "some": ("some $x in a satisfies ", "1", ""),
    "try": ("try {", "1", "} catch * {1}"),
    "switch": ("switch (1) case 1 return ", "1", " default return 1"),
    "functions": ("function() {", "1", "}"),
    "comments": ("(:", "x", ":)"),
    "pragmas": ("(# a #) {", "1", "}"),
    "types": ("1 instance of array(", "item()", ")"),
}
REPEATED = {
    "minus signs": ("-", "1"),
    "mixed signs": ("+-", "1"),
    "sums": ("1 + ", "1"),
    "comparisons": ("1 = ", "1"),
    "steps": ("a/", "a"),
    "maps": ("a ! ", "a"),
    "arrows": ("a => f() ", "=> g()"),
    "items": ("1, ", "1"),
    "slashes": ("/", "a"),
    "opened parentheses": ("(", ""),
    "opened tags": ("<a>", ""),
    "opened braces": ("{", ""),
    "closed braces": ("}", ""),
    "opened intervals": ("$a?[", ""),
    "opened comments": ("(:", ""),
    "questions": ("?", "a"),
    "hashes": ("#", "1"),
    "less-than signs": ("<", "a"),
    "ands": ("&", ""),
    "dollars": ("$", "a"),
    "quotes": ('"', ""),
    "for": ("for ", "x"),
    "before": ("before ", "x"),
    "type stars": ("1 instance of item()", "*"),
    "predicates": ("[1]", ""),
    "projections": ("?[now]", ""),
}


def soon(text: str) -> None:
    started = time.process_time()
    check(text, there_and_back=False)
    assert time.process_time() - started < 10


@pytest.mark.parametrize("kind", NESTED)
def test_deep_nesting(kind: str) -> None:
    opening, core, closing = NESTED[kind]
    soon(opening * DEPTH + core + closing * DEPTH)


@pytest.mark.parametrize("kind", REPEATED)
def test_long_repetition(kind: str) -> None:
    repeated, core = REPEATED[kind]
    soon(repeated * DEPTH + core)
    if FULL:
        soon("$a" + repeated * DEPTH + core)
