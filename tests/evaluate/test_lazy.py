"""Evaluation computes no more than needed, and can recurse deeply."""

from __future__ import annotations

import sys

import pytest

from tests.evaluate.answers import answer, failure

BILLION = "1 to 1000000000"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"({BILLION})[1]", "1"),
        (f"({BILLION})[position() <= 3]", "1 2 3"),
        (f"({BILLION})[3 >= position()]", "1 2 3"),
        (f"({BILLION})[last()], count({BILLION})", "1000000000 1000000000"),
        (f"({BILLION})[. > 5][1]", "6"),
        (f"head({BILLION}), exists({BILLION}), empty({BILLION})", "1 true false"),
        (f"subsequence({BILLION}, 5, 2)", "5 6"),
        (f"some $x in {BILLION} satisfies $x = 7", "true"),
        (f"every $x in {BILLION} satisfies $x < 7", "false"),
        (f"(for $x in {BILLION} return $x * 2)[3]", "6"),
        (f"let $all := (for $x in {BILLION} return <n>{{$x}}</n>) return $all[2]", "<n>2</n>"),
        (f"(({BILLION}) ! (. + 1))[1], head((1, error()))", "2 1"),
        (f"boolean(({BILLION}) ! <a/>), not(({BILLION}) ! <a/>)", "true false"),
        (f"if (({BILLION}) ! <a/>) then 1 else 2", "1"),
        (f"let $f := function($s) {{ $s[2] }} return $f({BILLION})", "2"),
        (f"declare function local:f($s) {{ $s[2] }}; local:f({BILLION})", "2"),
        (f"declare function local:f($s as xs:integer*) {{ $s[2] }}; local:f({BILLION})", "2"),
    ],
    ids=lambda part: part[:70],
)
def test_no_more_is_computed_than_needed(query: str, expected: str) -> None:
    assert answer(query) == expected


def test_functions_can_recurse_twenty_thousand_levels() -> None:
    count = "if ($n = 0) then 0 else 1 + local:f($n - 1)"
    assert answer(f"declare function local:f($n) {{ {count} }}; local:f(20000)") == "20000"
    in_flwor = "for $x in $n return if ($x = 0) then 0 else (1, local:f($x - 1))"
    assert answer(f"declare function local:f($n) {{ {in_flwor} }}; sum(local:f(10000))") == "10000"


def test_inline_functions_can_recurse_too() -> None:
    query = """
        let $f := function($f, $n) { if ($n = 0) then 0 else 1 + $f($f, $n - 1) }
        return $f($f, 10000)
    """
    assert answer(query) == "10000"


@pytest.mark.parametrize(
    "body",
    [
        "local:f($n + 1)",
        "1 + local:f($n + 1)",
        "<a>{ local:f($n + 1) }</a>",
        "for-each($n, local:f#1)",
    ],
)
def test_endless_recursion_is_an_error_not_a_crash(body: str) -> None:
    before = sys.getrecursionlimit()
    problem = failure(f"declare function local:f($n) {{ {body} }}; local:f(0)")
    assert problem.code == "XCQL0003"
    assert problem.line == 1
    assert sys.getrecursionlimit() == before


def test_a_long_sum_needs_no_recursion_limit() -> None:
    assert answer("+".join(["1"] * 3000)) == "3000"
