"""When two answers count as equal."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.answers import digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<a/>", "<a></a>"),
        ("<a y='1' x=\"2\"/>", '<a x="2" y="1"/>'),
        ("<a>\n  <b/>\n</a>", "<a><b/></a>"),
        ("<a/><a/>", "<a/>\n<a/>"),
        ("one\ntwo", "one two"),
        ('<a vtFrom="2003-01-01T00:00:00" vtTo="now">x</a>', "<a>x</a>"),
        ("<a>&#65;<![CDATA[<]]></a>", "<a>A&lt;</a>"),
        ('<?xml version="1.0"?>\n<a/>', "<a/>"),
    ],
)
def test_same(one: str, other: str) -> None:
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<a/><b/>", "<b/><a/>"),
        ("<a>xy</a>", "<a>x y</a>"),
        ("<a><b/></a>", "<a/><b/>"),
        ("<a>x<b/></a>", "<a><b/>x</a>"),
        ('<a x="1"/>', '<a x="2"/>'),
        ("1", "1 1"),
        ("", "<a/>"),
    ],
)
def test_different(one: str, other: str) -> None:
    assert digest(one) != digest(other)


def test_order_may_be_left_open() -> None:
    one, other = digest("<a/><b/>"), digest("<b/><a/>")
    assert one.says_the_same(other, any_order=True)
    assert not one.says_the_same(other)
    assert not digest("<a/>").says_the_same(digest("<a/><a/>"), any_order=True)


def test_a_file_is_read_in_pieces(tmp_path: Path) -> None:
    text = "<a>äöü</a>" * 200_000
    (tmp_path / "answer.xml").write_text(text, encoding="utf-8")
    assert digest(tmp_path / "answer.xml") == digest(text)
