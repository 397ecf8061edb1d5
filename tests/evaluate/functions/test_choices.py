"""Our choices where the standard leaves one, and XCQL's additions."""

from __future__ import annotations

from pathlib import Path

import pytest

from xcql.diagnostics import XcqlError
from xcql.evaluate import evaluate


def answer(query: str, now: str = "2003-10-23T12:23:34") -> str:
    return " ".join(item.string for item in evaluate(query, now=now))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # the paper's traffic-light query adds seconds to a time
        ("xs:dateTime('2003-10-23T12:00:00') + 90", "2003-10-23T12:01:30"),
        ("90 + xs:dateTime('2003-10-23T12:00:00')", "2003-10-23T12:01:30"),
        ("xs:dateTime('2003-10-23T12:00:00') - 0.5", "2003-10-23T11:59:59.5"),
        # the paper's max(a, b)
        ("max((1, 2), 5), min((4, 3), 5)", "5 3"),
        ("max(<a>7</a>, <b>12</b>)", "12"),
        # quotients end after 18 digits; those of durations after 20, durations after microseconds
        ("1 div 3", "0.333333333333333333"),
        ("xs:dayTimeDuration('PT1H') div xs:dayTimeDuration('PT7M')", "8.57142857142857142857"),
        ("xs:dayTimeDuration('P1D') div 7", "PT3H25M42.857143S"),
        # one instant per evaluation, in UTC
        ("current-dateTime()", "2003-10-23T12:23:34Z"),
        ("current-date(), current-time()", "2003-10-23Z 12:23:34Z"),
        ("implicit-timezone()", "PT0S"),
        # the short name of a half of the day
        ("format-time(xs:time('13:05:00'), '[h]:[m01] [PN]')", "1:05 PM"),
        # a query does not read the environment of the machine
        ("environment-variable('PATH'), count(available-environment-variables())", "0"),
    ],
)
def test_choice(query: str, expected: str) -> None:
    assert answer(query) == expected


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("error()", "FOER0000"),
        ("error(QName('http://www.w3.org/2005/xqt-errors', 'err:FOAR0001'), 'no')", "FOAR0001"),
        ("doc('http://example.com/x.xml')", "FODC0002"),
        ("unparsed-text('http://example.com/x.txt')", "FOUT1170"),
        ("collection()", "FODC0002"),
        ("xs:integer('" + "9" * 5000 + "')", "FOCA0006"),
        ("compare('a', 'b', 'http://www.w3.org/2013/collation/UCA?fallback=no')", "FOCH0002"),
        ("parse-json('" + "[" * 100_000 + "')", "FOJS0001"),
        ("transform(map{})", "XPST0017"),
    ],
)
def test_error(query: str, code: str) -> None:
    with pytest.raises(XcqlError) as raised:
        answer(query)
    assert raised.value.code == code


def test_local_files(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a>é</a>", encoding="utf-8")
    (tmp_path / "a.txt").write_bytes("x\r\ny\n".encode("utf-16"))
    (tmp_path / "a.json").write_text('{"k": [1, 2]}', encoding="utf-8")
    uri = tmp_path.as_uri()
    assert (
        answer(f"doc('{uri}/a.xml')/a, doc('{tmp_path}/a.xml') is doc('{uri}/a.xml')") == "é true"
    )
    assert answer(f"unparsed-text-lines('{uri}/a.txt')") == "x y"
    assert answer(f"json-doc('{uri}/a.json')?k?*") == "1 2"
    assert answer(f"doc-available('{uri}/a.xml'), doc-available('{uri}/b.xml')") == "true false"


def test_trace_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer("trace((1, <a/>), 'seen')") == "1 "
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "seen: 1, <a/>\n")


@pytest.mark.parametrize(
    "query",
    [
        "exists(1 to 1000000000000)",
        "head(1 to 1000000000000)",
        "subsequence(1 to 1000000000000, 5, 2)",
        "count(1 to 1000000000000)",
        "empty(for $i in 1 to 1000000000000 return $i)",
        "head(filter(1 to 1000000000000, function($i) { $i > 3 }))",
        "head(tail(for $i in 1 to 1000000000000 return $i))",
        "head(remove(for $i in 1 to 1000000000000 return $i, 1))",
        "head(distinct-values(for $i in 1 to 1000000000000 return $i idiv 3))",
    ],
)
def test_lazy(query: str) -> None:
    assert answer(query)
