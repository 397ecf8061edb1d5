"""Section 2: one timeline, parsed leniently where it is unambiguous, written in one form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcql.diagnostics import XcqlError
from xcql.model.time import (
    START,
    format_begin,
    format_end,
    format_time,
    parse_time,
    to_utc,
)

NOW = datetime(2003, 11, 15, 10, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2003-10-23T12:23:34", datetime(2003, 10, 23, 12, 23, 34)),
        ("2003-11-1T10:12:56", datetime(2003, 11, 1, 10, 12, 56)),
        ("2003-1-1T1:12", datetime(2003, 1, 1, 1, 12)),
        ("2003-10-23", datetime(2003, 10, 23)),
        ("2003-10-23+02:00", datetime(2003, 10, 22, 22)),
        ("2003-10-23Z", datetime(2003, 10, 23)),
        ("2003-10-23T12:23:34Z", datetime(2003, 10, 23, 12, 23, 34)),
        ("2003-10-23T12:23:34-05:00", datetime(2003, 10, 23, 17, 23, 34)),
        ("2003-10-23T12:23:34+0530", datetime(2003, 10, 23, 6, 53, 34)),
        ("2003-10-23T12:23:34.5", datetime(2003, 10, 23, 12, 23, 34, 500_000)),
        ("2003-10-23T12:23:34.123456789Z", datetime(2003, 10, 23, 12, 23, 34, 123_456)),
        ("2003-10-23t12:23:34z", datetime(2003, 10, 23, 12, 23, 34)),
        ("2003-10-23 12:23:34", datetime(2003, 10, 23, 12, 23, 34)),
        ("  2003-10-23\n", datetime(2003, 10, 23)),
        ("2003-12-31T24:00:00", datetime(2004, 1, 1)),
        ("20031023T122334Z", datetime(2003, 10, 23, 12, 23, 34)),
        ("2003-W43-4", datetime(2003, 10, 23)),
        ("2003-296", datetime(2003, 10, 23)),
        ("start", START),
        ("now", NOW),
    ],
)
def test_reading(text: str, expected: datetime) -> None:
    assert parse_time(text, NOW) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2003",
        "2003-10",
        "12:00",
        "10/11/2003",
        "23 Oct 2003",
        "2003-13-01",
        "2003-02-30T00:00:00",
        "2003-10-23T25:00:00",
        "2003-10-23T12",
        "2003-10-23x12:23:34",
        "-0044-03-15",
        "0000-01-01",
        "12003-01-01",
        "0001-01-01T00:00:00+01:00",
        "Now",
        "1066911814",
        "٢٠٠٣-10-23",
    ],
)
def test_what_could_be_misread_is_an_error(text: str) -> None:
    with pytest.raises(XcqlError) as caught:
        parse_time(text, NOW)
    assert caught.value.code == "XCQL0002"


def test_now_is_a_time_only_where_there_is_an_evaluation() -> None:
    with pytest.raises(XcqlError):
        parse_time("now")


@given(st.datetimes())
def test_what_is_written_reads_back(instant: datetime) -> None:
    assert parse_time(format_time(instant)) == instant


def test_writing() -> None:
    assert format_time(datetime(2003, 10, 23, 12, 23, 34)) == "2003-10-23T12:23:34"
    assert format_time(datetime(2003, 10, 23, 12, 23, 34, 10)) == "2003-10-23T12:23:34.00001"
    assert format_time(START) == "0001-01-01T00:00:00"
    assert (format_begin(START), format_end(None)) == ("start", "now")
    assert format_begin(NOW) == format_end(NOW) == "2003-11-15T10:00:00"


def test_the_zone_is_utc_unless_there_is_one() -> None:
    assert to_utc(NOW) == NOW
    assert to_utc(NOW.replace(tzinfo=UTC)) == NOW
    assert to_utc(NOW.replace(tzinfo=timezone(timedelta(hours=2)))) == datetime(2003, 11, 15, 8)
