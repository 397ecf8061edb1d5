"""Numbers and times by pictures: what DuckDB computes is what the evaluator does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import xcql
from tests.compile.both_ways import answered, natively, reference

NUMBERS = (
    '("0", "-0", "1", "-1.5", "2.5", "0.005", "1234567.891", "-0.0004", "12345678901234567",'
    ' "1E300", "NaN", "INF", "-INF", "")'
)
NUMBER_PICTURES = (
    "00",
    "#",
    "#,##0.00",
    "0.0##",
    "0%",
    "##0.0e0",
    "0.00;(0.00)",
    "$ 0000 &#x20AC;",
)
DATES = '("2004-02-29", "1999-12-31Z", "0001-01-01", "2026-01-01-05:30", "9999-12-31+14:00")'
DATE_PICTURES = (
    "[D] [MNn] [Y]",
    "[FNn,3-3], [D1o] [MN] [Y0001][Z]",
    "[W]. [d] [w] [MI] [[x]]",
    "[Y01]-[M01]-[D01] [E] [z]",
    "[Y,2-2]/[M,2]",
)
TIMES = '("00:00:00", "23:59:59.999999Z", "24:00:00", "12:30:00.5+05:30", "01:02:03-14:00")'
TIME_PICTURES = ("[h]:[m01] [P]", "[H01]:[m]:[s].[f001] [Z]", "[f]", "[H1o]")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[xcql.Session]:
    """Over an empty store; Spark leaves most pictures to the evaluator."""
    with xcql.Session(tmp_path_factory.mktemp("empty"), engine="embedded") as session:
        yield session


@pytest.mark.parametrize("picture", NUMBER_PICTURES)
@pytest.mark.parametrize("type_", ["xs:double", "xs:decimal", "xs:integer"])
def test_numbers(session: xcql.Session, picture: str, type_: str) -> None:
    numbers = f'{NUMBERS}[. castable as {type_}] ! format-number({type_}(.), "{picture}")'
    assert natively(session, numbers) == reference(numbers)


@pytest.mark.parametrize("picture", DATE_PICTURES)
def test_dates(session: xcql.Session, picture: str) -> None:
    dates = f'{DATES} ! format-date(xs:date(.), "{picture}", "en", (), ())'
    assert natively(session, dates) == reference(dates)


@pytest.mark.parametrize("picture", TIME_PICTURES)
def test_times(session: xcql.Session, picture: str) -> None:
    for given in (
        f'{TIMES} ! format-time(xs:time(.), "{picture}")',
        f'{TIMES} ! format-dateTime(xs:dateTime("2004-02-29T" || .), "{picture} [D]")',
    ):
        assert natively(session, given) == reference(given)


DATED = 'for $x in ("2004-01-01", "2005-01-01") return format-date(xs:date($x), {})'


@pytest.mark.parametrize(
    "query",
    [
        'for $x in ("1", "2") return format-number(xs:double($x), "0.0.0")',
        DATED.format('"[H]"'),
        DATED.format('"[Y", "en", (), ()'),
        DATED.format('"[Y]", (), "Q", ()'),
        'for $x in ("-0044-03-15", "2004-01-01") return format-date(xs:date($x), "[Y] [E] [FNn]")',
        'for $x in ("7", "8")[. = "9"] return format-number(xs:double($x), "x")',
    ],
)
def test_what_is_left_to_the_evaluator(session: xcql.Session, query: str) -> None:
    assert answered(session, query) == reference(query)
