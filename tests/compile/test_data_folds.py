"""Folds of data into several values at once."""

from __future__ import annotations

import pytest

import xcql
from tests.compile.against_reference import check_credit, check_credit_error

AMOUNTS = 'stream("credit")//transaction/amount/xs:decimal(.)'
NATIVE = [
    "(0, 0), function($s, $a) { if ($s[1] >= 90) then $s else ($s[1] + $a, $a) }",
    "(0, 0.5), function($s, $a) { ($s[2] + $a, $s[1]) }",
    "(0, 0, ''), function($s, $a) { if ($a > 80) then ($a, 2, 'z') else ($s[1], 1, $s[3] || $a) }",
    "(0, 0), function($s, $a) { if ($a > 80) then $s else if ($a > 9) then ($a, 1) else ($a, 2) }",
    "('', 0), function($s, $a) { ($s[1] || $a, count($s)) }",
]


@pytest.mark.parametrize("fold", NATIVE)
def test_native(corpus_session: xcql.Session, fold: str) -> None:
    check_credit(corpus_session, f"fold-left({AMOUNTS}, {fold})", is_native=True)
    check_credit(corpus_session, f"fold-left({AMOUNTS}[. < 0], {fold})[2]", is_native=True)


@pytest.mark.parametrize(
    "fold",
    [
        "(), function($s, $a) { ($s, $a) }",
        "(1, 2), function($s, $a) { (max(($s[1], $a)), min(($s[2], $a))) }",
        "(1, 2e0), function($s, $a) { (head($s) + $a, tail($s) * 2) }",
        "(0, 0), function($s, $a) { if ($a > 80) then $s else $a }",
        "(0, 'a'), function($s, $a) { if ($a > 80) then $s else ('a', 0) }",
        "(1, 2), function($s, $a) { ($s[1] + $a, $s[2] idiv (xs:integer($a) - 80)) }",
    ],
)
def test_other_folds(corpus_session: xcql.Session, fold: str) -> None:
    check_credit_error(corpus_session, f"fold-left({AMOUNTS}, {fold})")
