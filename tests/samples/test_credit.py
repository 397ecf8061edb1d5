"""The credit-card stream: the properties in the paper, and those that its two queries need."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from xcql.history.lifespan import lifespan
from xcql.history.predicates import Interval, overlap
from xcql.history.stream import stream_view
from xcql.model.time import parse_time
from xcql.xdm.nodes import DocumentNode, ElementNode, descendants

CREDIT = Path(__file__).parents[2] / "samples" / "credit"


def credit(now: str) -> DocumentNode:
    view = stream_view(CREDIT / "fragments.xml", CREDIT / "tags.xml", parse_time(now))
    assert view.rejected == ()
    assert view.warnings == ()
    return view.document


def elements(node: DocumentNode | ElementNode, name: str) -> list[ElementNode]:
    return [
        below
        for below in descendants(node)
        if isinstance(below, ElementNode) and below.name.local == name
    ]


def charged(account: ElementNode, begin: str, end: str, now: str) -> Decimal:
    """The sum of `$a/transaction?[begin,end][status = "charged"]/amount`."""
    window = Interval(parse_time(begin), parse_time(end))
    total = Decimal(0)
    for transaction in elements(account, "transaction"):
        statuses = [
            status.string_value()
            for status in elements(transaction, "status")
            if overlap(lifespan(status, parse_time(now)), window)
        ]
        if overlap(lifespan(transaction, parse_time(now)), window) and "charged" in statuses:
            total += Decimal(elements(transaction, "amount")[0].string_value())
    return total


def limit(account: ElementNode) -> Decimal:
    (current,) = [
        one for one in elements(account, "creditLimit") if one.attribute_value("vtTo") == "now"
    ]
    return Decimal(current.string_value())


def test_filler_3_of_the_paper_was_charged_and_is_suspended() -> None:
    (transaction,) = [
        one
        for one in elements(credit("2003-11-15"), "transaction")
        if one.attribute_value("id") == "23456"
    ]
    assert [status.string_value() for status in elements(transaction, "status")] == [
        "charged",
        "suspended",
    ]
    assert elements(transaction, "status")[1].attribute_value("vtFrom") == "2003-11-01T10:12:56"


def test_an_account_that_was_closed_has_an_end() -> None:
    (account,) = [
        one
        for one in elements(credit("2003-11-15"), "account")
        if one.attribute_value("id") == "3456"
    ]
    assert account.attribute_value("vtTo") == "2003-08-31T17:00:00"


@pytest.mark.parametrize(
    ("now", "expected"),
    [("2003-11-15", ["5678"]), ("2003-11-15T10:00:00", ["5678", "9012"])],
)
def test_query_1_has_an_answer(now: str, expected: list[str]) -> None:
    maxed_out = [
        account.attribute_value("id")
        for account in elements(credit(now), "account")
        if charged(account, "2003-11-01", "2003-12-01", now) >= limit(account)
    ]
    assert maxed_out == expected


@pytest.mark.parametrize(
    ("now", "hour_before", "expected"),
    [
        ("2003-11-15T10:00:00", "2003-11-15T09:00:00", ["9012"]),
        ("2003-11-15T10:11:00", "2003-11-15T09:11:00", []),
    ],
)
def test_query_2_has_an_answer(now: str, hour_before: str, expected: list[str]) -> None:
    alerts = [
        account.attribute_value("id")
        for account in elements(credit(now), "account")
        if charged(account, hour_before, now, now)
        >= max(limit(account) * Decimal("0.9"), Decimal(5000))
    ]
    assert alerts == expected
