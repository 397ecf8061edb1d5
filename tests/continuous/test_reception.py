"""Arrivals with a single filler, the usual case, are read like any others."""

from __future__ import annotations

import pytest

from xcql.continuous.reception import _records
from xcql.continuous.values import Arrival
from xcql.model.check import fragment_checker
from xcql.model.fragments import Fragment, Rejected
from xcql.model.read import read_fragments
from xcql.model.tags import parse_tags

_TAGS = parse_tags('<structure><tag type="temporal" id="1" name="a"/></structure>')
_ONE = '<filler id="0" tsid="1" validTime="2001-01-01"><a>x</a></filler>'


@pytest.mark.parametrize(
    "text",
    [
        _ONE,
        _ONE + _ONE,
        _ONE + "beside" + _ONE,
        _ONE + "beside</filler>",
        _ONE.replace("</a>", "</a>beside"),
        _ONE.replace("<a>", "<!-- <filler> --><a>"),
        _ONE + "<!--</filler>",
        _ONE + "<eos/>" + _ONE,
        _ONE.replace("<a>x</a>", "<a></filler>"),
        _ONE.replace("<a>", "<b/><a>"),
        "<filler </filler>",
    ],
)
def test_what_is_read(text: str) -> None:
    found = list(_records(Arrival("s", text), fragment_checker(_TAGS)))
    expected = read_fragments(text, _TAGS, "s")
    assert found == [one for one in expected if isinstance(one, (Fragment, Rejected))]
