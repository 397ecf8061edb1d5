"""Section 4: an element's own lifespan, or else the cover of its child elements' lifespans."""

from __future__ import annotations

from datetime import datetime

import pytest

from xcql.diagnostics import XcqlError
from xcql.history.lifespan import lifespan
from xcql.history.predicates import Interval
from xcql.model.time import START
from xcql.xdm.parse import parse_xml

NOW = datetime(2010, 1, 1)
B = '<b vtFrom="2001-01-01" vtTo="2002-01-01"/>'
C = '<c vtFrom="2004-01-01T00:00:00" vtTo="now"><d vtFrom="start" vtTo="2001-01-01"/></c>'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (B, Interval(datetime(2001, 1, 1), datetime(2002, 1, 1))),
        (C, Interval(datetime(2004, 1, 1), NOW)),
        (f"<a>{B}{C}</a>", Interval(datetime(2001, 1, 1), NOW)),
        (f"<a>text<e>{B}</e></a>", Interval(datetime(2001, 1, 1), datetime(2002, 1, 1))),
        (f"<a><e/>{B}</a>", Interval(START, NOW)),
        ("<a>text</a>", Interval(START, NOW)),
        ('<a vtFrom="2001-01-01"/>', Interval(START, NOW)),
    ],
)
def test_lifespans(text: str, expected: Interval) -> None:
    document = parse_xml(text)
    assert document.document_element is not None
    assert lifespan(document.document_element, NOW) == expected
    assert lifespan(document, NOW) == expected


def test_attributes_that_are_not_times() -> None:
    with pytest.raises(XcqlError) as caught:
        lifespan(parse_xml('<a vtFrom="x" vtTo="now"/>'), NOW)
    assert caught.value.code == "XCQL0002"
