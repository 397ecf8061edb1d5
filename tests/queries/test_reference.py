"""The corpus against the reference evaluator: every query has an answer, or the error it names.

The evaluator defines the answers; a sample of them, worked out by hand, is listed here.
"""

from __future__ import annotations

from functools import cache

import pytest

import xcql
from tests.queries.corpus import HERE, Query, datasets, queries
from xcql.evaluate.result import Result

BY_NAME = {query.name: query for query in queries()}


@cache
def answer(query: Query) -> Result:
    return xcql.evaluate(query.text, streams=query.streams(), now=query.now)


@pytest.mark.parametrize("query", queries(), ids=lambda query: query.name)
def test_answer(query: Query) -> None:
    if query.error:
        with pytest.raises(xcql.XcqlError) as problem:
            answer(query)
        assert problem.value.code == query.error
        assert problem.value.diagnostic.span is not None
    else:
        assert {warning.code for warning in answer(query).warnings} <= {"XCQL0001"}


def test_there_is_enough_of_each() -> None:
    answered = [query for query in queries() if not query.error]
    empty = [query.name for query in answered if len(answer(query)) == 0]
    assert len(queries()) >= 220
    assert len(empty) <= len(answered) / 10, empty
    assert len(queries()) - len(answered) <= len(queries()) / 10


def test_heads() -> None:
    """At most two lines of comment, numbers without gaps, meaningful names."""
    for chapter in {query.chapter for query in queries()}:
        files = sorted((HERE / chapter).glob("*.xcql"))
        assert [file.name[:4] for file in files] == [f"{n:03}-" for n in range(1, len(files) + 1)]
        for file in files:
            first, second, third = file.read_text().splitlines()[:3]
            assert first.startswith("(: ")
            assert first.endswith((". :)", "? :)"))
            assert second.startswith("(: data: ")
            assert not third.startswith("(:")


def test_data_is_small_and_sound() -> None:
    size = 0
    for name, streams in datasets().items():
        for stream in streams:
            size += stream.fragments.stat().st_size + stream.tags.stat().st_size
            source = {stream.name: (stream.fragments, stream.tags)}
            view = xcql.evaluate(f'stream("{stream.name}")', streams=source, now="2020-01-01")
            assert view.warnings == (), name
    assert size < 60 * 1024


# worked out by hand from the data and the rules of the language
EXPECTED = {
    # two versions of John Smith's account hold 3 purchases each, and of Eve's, closed for a while,
    # 3 each; Jane has 4 and Ann & Co 4: 6 + 6 + 4 + 4
    "aggregates/001-count-copies": ["20"],
    # 64.90; 900 + 650; 120.50 + 2500 + 2200 + 1500; twice 410, one of them refunded in December's
    # view but charged for a while in November
    "aggregates/002-sum-by-account": [
        '<account id="1234">64.9</account>',
        '<account id="5678">1550</account>',
        '<account id="9012">6320.5</account>',
        '<account id="7777">820</account>',
        '<account id="8888">0</account>',
    ],
    # from 6:00 to 8:10, from 8:40 to 9:20, from 9:25 to 10:00
    "aggregates/016-sum-of-durations": ["PT3H25M"],
    # as text, 105 comes before 15.00, and 9.99 after all
    "comparison/002-untyped-with-string": ["open_auction1"] * 4,
    # 1 has no fraction; NaN is not equal to itself, except for distinct-values and deep-equal
    "comparison/007-nan-comparisons": ["false", "true", "false", "false", "false", "true", "1"],
    # both versions are valid at the instant of the change
    "intervals/010-closed-interval": ["1000", "1500"],
    "intervals/011-just-before": ["1000"],
    # Eve's account ended exactly at 2002-01-01; after now nothing is valid
    "intervals/009-as-of-date-variable": [
        '<year n="2001">2000 500 300</year>',
        '<year n="2002">5000 500 300</year>',
        '<year n="2003">5000 1000 500</year>',
        '<year n="2004"/>',
    ],
    # Ada 40, Bob 38, Cy 55; 45, 38, 55; 60, 38, 58; 60, 52, 58: the board is left out
    "intervals/032-sum-of-projected": [
        "2010-06-30T00:00:00: 133",
        "2010-12-30T00:00:00: 138",
        "2011-06-30T00:00:00: 156",
        "2011-12-30T00:00:00: 170",
    ],
    # an event is an instant: its status came a second later
    "versions/009-sliced-event": [
        '<transaction id="34502" vtFrom="2003-11-03T11:40:00" vtTo="2003-11-03T11:40:00">'
        "<vendor>Sky Travel</vendor><amount>900</amount></transaction>"
    ],
    # the firm's last version starts in 2011: Sales and Research as they are since June 2010, and
    # the board; the third salary is Ada's last
    "versions/012-computed-version": ["60"],
    # 2003-12-01 is the end of what is valid now, and the end of [now, now]
    "allen/013-with-now": [
        "2000 held",
        "5000 holds",
        "1000 held",
        "1500 holds",
        "4000 held",
        "6000 holds",
        "300 held",
        "800 holds",
    ],
    # shifts from 6:00 to 8:20 (Kim, Noa) end where two begin (Kim, Lou)
    "allen/003-meets": ["Kim then Kim", "Kim then Lou", "Noa then Kim", "Noa then Lou"],
    # at 8:30 the mill was in the south, and so was Kim
    "coincidence/003-who-was-on-duty": [
        "high alarm at Hill: Kim",
        "low alarm at Harbour: Noa",
        "high alarm at Mill: Kim",
        "medium alarm at Harbour: Kim",
        "high alarm at Hill: Lou",
    ],
    # firm 2010: in two versions of Sales; firm 2011: the same, and twice on the board
    "histories/003-copies-of-one-filler": ["6", "3", "4"],
    # a repetition changes nothing; another body at the same time is another event
    "histories/005-equal-times": ["A by Cy", "C by Ada"],
    "histories/006-removed-event": ["B"],
    "histories/007-replaced": ["90"],
    "histories/008-later-arrival-wins": ["320"],
    # items of all versions: 3 in asia, 4 in europe, 2 in namerica; the lost one is missing
    "paper3/006-count-locations": ["9"],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_by_hand(name: str) -> None:
    assert [item.xml for item in answer(BY_NAME[name])] == EXPECTED[name]
