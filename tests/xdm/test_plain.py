"""Plain elements, parsed one after the other into a tree under construction."""

from __future__ import annotations

import pytest

from xcql.diagnostics import XcqlError
from xcql.xdm.builder import TreeBuilder
from xcql.xdm.names import QName
from xcql.xdm.parse import parse_xml
from xcql.xdm.plain import Pairs, PlainParser
from xcql.xdm.serialize import serialize


def _as_they_are(own: Pairs) -> Pairs:
    return own


def test_elements_one_after_the_other() -> None:
    builder = TreeBuilder()
    builder.start_document()
    parser = PlainParser(builder)
    first = parser.put(b"<a n='&lt;1'>x<!-- y --><?z w?></a>", _as_they_are)
    second = parser.put(b"<b><c/></b>", _as_they_are)
    builder.end()
    assert [first.name.local, second.name.local, parser.elements] == ["a", "b", 3]
    assert serialize(builder.document()) == ('<a n="&lt;1">x<!-- y --><?z w?></a><b><c/></b>')


@pytest.mark.parametrize("before", ["", "x", "x\r", "x\r\n", "]]", "é", "<![CDATA[<y/>]]>", " "])
@pytest.mark.parametrize("after", ["", "z", "<w/>"])
def test_an_element_inside_another(before: str, after: str) -> None:
    builder = TreeBuilder()
    builder.start_document()
    parser = PlainParser(builder)
    parser.put(f"<a>{before}".encode(), _as_they_are)
    inner = parser.put(b"<i/>", lambda own: [*own, (QName("", "n"), "1")])
    parser.go_on(f"{after}</a>".encode())
    builder.end()
    assert inner.attributes[0].value == "1"
    expected = parse_xml(f"<a>{before}<i n='1'/>{after}</a>")
    assert serialize(builder.document()) == serialize(expected)


def test_adjacent_texts_are_one() -> None:
    builder = TreeBuilder()
    builder.start_document()
    parser = PlainParser(builder)
    top = parser.put(b"<a>x", _as_they_are)
    parser.go_on(b"y</a>")
    builder.end()
    assert len(top.children) == 1


def test_errors_have_a_position() -> None:
    builder = TreeBuilder()
    builder.start_document()
    parser = PlainParser(builder)
    parser.put(b"<a/>", _as_they_are)
    with pytest.raises(XcqlError) as raised:
        parser.put(b"<b></c>", _as_they_are, "data.xml")
    span = raised.value.diagnostic.span
    assert span is not None
    assert (span.source.name, span.start) == ("data.xml", 5)
