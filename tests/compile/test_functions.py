"""Functions and operators mean the same natively as in the reference evaluator.

`functions.xq` has one expression per line. Each must be completely native. They cover corner cases:
the empty sequence, NaN, infinity, -0, rounding of halves, the largest and smallest numbers,
characters beyond the first 65536, blanks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import xcql
from tests.compile.both_ways import native_sql, natively, reference
from tests.conftest import OpenSession
from xcql.compile import NotNative

FULL = bool(os.environ.get("XCQL_TEST_FULL"))
EVERY = Path(__file__).with_name("functions.xq").read_text("utf-8").splitlines()
# at each commit, some of each topic: neighbours in the file are similar
EXPRESSIONS = EVERY if FULL else EVERY[::5]
_BATCH = 70


@pytest.fixture(scope="module")
def session(
    new_session: OpenSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[xcql.Session]:
    """Over an empty store."""
    with new_session(tmp_path_factory.mktemp("empty")) as session:
        yield session


@pytest.mark.parametrize("start", range(0, len(EXPRESSIONS), _BATCH))
def test_native_functions_mean_what_the_evaluator_says(session: xcql.Session, start: int) -> None:
    for expression in EXPRESSIONS[start : start + _BATCH]:
        assert natively(session, expression) == reference(expression), expression


@pytest.mark.parametrize(
    "expression",
    [
        'for $x in ("x") return xs:integer($x)',
        'xs:integer(xs:double("NaN"))',
        "for $x in (1, 0) return 1 div $x",
        'for $x in ("2003-02-30") return xs:date($x)',
        'xs:dayTimeDuration("PT1S") div 0',
        'for $x in ("NaN") return xs:dayTimeDuration("PT1S") * xs:double($x)',
        'xs:dayTimeDuration("PT1S") * xs:double("INF")',
        "codepoints-to-string(0)",
        'dateTime(xs:date("2003-01-01Z"), xs:time("10:00:00+01:00"))',
    ],
)
def test_native_errors_have_the_same_codes(session: xcql.Session, expression: str) -> None:
    assert natively(session, expression) == reference(expression)


DOUBLES = 'xs:double("NaN"), xs:double("INF"), xs:double("-INF"), 0e0, -0e0, 1e0, -1.5e0, 1e200'


@pytest.mark.parametrize(
    "call",
    [
        "exp($x), math:exp10($x), math:log($x), math:log10($x)",
        "sin($x), math:cos($x), math:tan($x), math:asin($x), math:acos($x), math:atan($x)",
        "pow($x, $y), math:atan2($x, $y)",
    ],
)
def test_mathematics(session: xcql.Session, call: str) -> None:
    """The evaluator's functions compute it: inside SQL in the embedded engine, apart on Spark."""
    expression = f"for $x in ({DOUBLES}), $y in ({DOUBLES}) return (math:{call})"
    answer = session.query(expression)
    assert answer.to_xml() == reference(expression)
    assert ("evaluated" in answer.explain()) == (answer.engine == "spark")


def test_mathematics_of_nothing(session: xcql.Session) -> None:
    answer = session.query("for $x in (1, 2) return (math:exp(()), math:pow((), $x))")
    assert answer.to_xml() == []
    assert "evaluated" not in answer.explain()


@pytest.mark.parametrize(
    "expression",
    [
        'for $p in ("a", "b") return matches("a", $p)',  # the pattern is not constant
        'for $x in ("a", "b") return replace($x, "b*", "x")',  # an error in the evaluator
        'for $x in ("a", "aa") return matches($x, "(a)\\1")',  # differs in Java without a group
        "for $x in (1, 2) return (if ($x = 1) then $x else 1e7) + 1",  # integer or double
        "for $n in (1, 2) return sum(for $x in 1 to $n return if ($x = 1) then $x else 1e7)",
        "for $x in (0.1e0, 2e0) return xs:decimal($x)",  # has 55 digits
        "for $x in (1.5e0, 2e0) return math:exp($x)",  # Java and C differ in the last digit
    ],
)
def test_what_sql_cannot_say_exactly_is_not_said(expression: str) -> None:
    with pytest.raises(NotNative):
        native_sql(expression)
