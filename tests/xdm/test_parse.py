"""Parsing: everything in the text survives, nothing outside it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from xcql.diagnostics import XcqlError
from xcql.xdm.names import XML_NAMESPACE, QName
from xcql.xdm.nodes import ElementNode, descendants
from xcql.xdm.parse import parse_xml
from xcql.xdm.serialize import serialize


def root_of(text: str | bytes) -> ElementNode:
    element = parse_xml(text).document_element
    assert element is not None
    return element


def test_every_kind_of_node_is_kept() -> None:
    text = '<?a b?><!--c--><d e="f">g<h/>i<!--j--><?k?></d><!--l-->'
    assert serialize(parse_xml(text)) == text


def test_cdata_and_references_join_the_text_around_them() -> None:
    root = root_of("<a>1 &lt; <![CDATA[2 & <b>]]>&#x263A;&amp;</a>")
    assert len(root.children) == 1
    assert root.string_value() == "1 < 2 & <b>☺&"


def test_white_space_is_kept_and_line_ends_are_normalised() -> None:
    assert root_of("<a> \r\n <b/> </a>").string_value() == " \n  "


def test_order_is_document_order_inside_and_across_trees() -> None:
    first, second = parse_xml("<a x='1' y='2'><b/>t<c><d/></c></a>"), parse_xml("<e/>")
    orders = [first.order]
    for node in descendants(first):
        orders.append(node.order)
        if isinstance(node, ElementNode):
            orders += [attribute.order for attribute in node.attributes]
    assert orders == sorted(orders)
    assert second.order > orders[-1]


def test_names_and_namespaces_in_scope() -> None:
    root = root_of('<a xmlns="urn:d" xmlns:p="urn:p"><p:b p:x="1" x="2"><c xmlns=""/></p:b></a>')
    b = root.children[0]
    assert isinstance(b, ElementNode)
    c = b.children[0]
    assert isinstance(c, ElementNode)
    assert (root.name, b.name, c.name) == (
        QName("urn:d", "a"),
        QName("urn:p", "b"),
        QName("", "c"),
    )
    assert b.attribute_value("x", "urn:p") == "1"
    assert b.attribute_value("x") == "2"
    assert b.namespaces() == {"xml": XML_NAMESPACE, "": "urn:d", "p": "urn:p"}
    assert c.namespaces() == {"xml": XML_NAMESPACE, "p": "urn:p"}


def test_a_namespace_can_contain_any_character() -> None:
    assert root_of('<a xmlns="a b&#10;c"/>').name == QName("a b\nc", "a")


def test_base_uri_follows_xml_base() -> None:
    document = parse_xml(
        '<a><b xml:base="x/"><c xml:base="y">t</c></b></a>', document_uri="http://h/"
    )
    *_, text = descendants(document)
    assert text.base_uri == "http://h/x/y"
    assert document.base_uri == "http://h/"


def test_id_attributes_that_the_dtd_declares() -> None:
    document = parse_xml(
        '<!DOCTYPE a [<!ATTLIST b k ID #IMPLIED r IDREF #IMPLIED d CDATA "given"><!--no--><?no?>]>'
        '<a><b k=" one "/><b k="two" r="one"/><c xml:id="three"/></a>'
    )
    (top,) = document.children
    one, two, three = (child for child in top.children if isinstance(child, ElementNode))
    assert one.attribute_value("k") == "one"
    assert [a.declared_type for a in two.attributes] == ["ID", "IDREF", "CDATA"]
    assert [a.declared_type for a in three.attributes] == ["ID"]
    assert two.attribute_value("d") == "given"
    assert len(document.children) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252", "ascii"])
def test_encodings(encoding: str) -> None:
    name = encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{name}"?><a>é</a>'
    if encoding == "ascii":
        text = text.replace("é", "&#233;")
    assert root_of(text.encode(encoding)).string_value() == "é"
    assert root_of(text).string_value() == "é"


def test_a_document_may_be_deep() -> None:
    depth = 20_000
    text = "<a>" * depth + "x" + "</a>" * depth
    document = parse_xml(text)
    assert document.string_value() == "x"
    assert serialize(document) == text


def test_internal_entities_are_expanded() -> None:
    assert root_of('<!DOCTYPE a [<!ENTITY e "x<b/>y">]><a k="&lt;">&e;</a>').string_value() == "xy"


def test_an_entity_bomb_is_an_error() -> None:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<!DOCTYPE a [<!ENTITY e0 "0123456789">{levels}]><a>&e9;</a>'
    with pytest.raises(XcqlError) as caught:
        parse_xml(bomb)
    assert caught.value.code == "FODC0006"
    with pytest.raises(XcqlError):
        parse_xml(bomb.replace("<a>&e9;</a>", '<a k="&e9;"/>'))


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a [<!ENTITY e SYSTEM "{secret}">]><a>&e;</a>',
        '<!DOCTYPE a SYSTEM "{secret}"><a>&e;</a>',
        '<!DOCTYPE a [<!ENTITY % p SYSTEM "{secret}"> %p;]><a>&e;</a>',
    ],
)
def test_nothing_outside_is_read(text: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    with pytest.raises(XcqlError) as caught:
        parse_xml(text.format(secret=secret.as_uri()))
    assert caught.value.code == "FODC0006"


def test_an_external_dtd_is_not_an_error() -> None:
    assert root_of('<!DOCTYPE a SYSTEM "nowhere.dtd"><a>x</a>').string_value() == "x"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", (1, 1)),
        ("<a>\n  <é></b></a>", (2, 8)),
        ("<a><p:b/></a>", (1, 4)),
        ("<a x='1' x='2'/>", (1, 10)),
        ("<a>&nothing;</a>", (1, 4)),
        ("<a>\x01</a>", (1, 4)),
        (b"<a>\xff</a>", (1, 4)),
        ("<a>\ud800</a>", (1, 4)),
        ("<a/><b/>", (1, 5)),
    ],
)
def test_errors_say_where(text: str | bytes, place: tuple[int, int]) -> None:
    with pytest.raises(XcqlError) as caught:
        parse_xml(text, source_name="bad.xml")
    assert caught.value.code == "FODC0006"
    assert (caught.value.line, caught.value.column) == place
    assert "bad.xml" in str(caught.value)


def test_text_that_is_not_in_its_encoding() -> None:
    with pytest.raises(XcqlError) as caught:
        parse_xml(b"\xff\xfe<\x00a\x00\x00\xd8/\x00", source_name="bad.xml")
    assert caught.value.code == "FODC0006"
