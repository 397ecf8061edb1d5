"""Writing: the xml output method, each item by itself, and the canonical form."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from xcql.xdm.builder import TreeBuilder
from xcql.xdm.names import QName
from xcql.xdm.nodes import AttributeNode, CommentNode, ElementNode, NamespaceNode, TextNode
from xcql.xdm.parse import parse_xml
from xcql.xdm.serialize import canonical, escape_attribute, escape_text, serialize

XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff").filter(
        lambda c: c >= " " or c in "\t\n\r"
    )
)


def test_each_kind_by_itself() -> None:
    assert serialize(TextNode("Ann & Co <\r>")) == "Ann &amp; Co &lt;&#xD;&gt;"
    assert serialize(AttributeNode(QName("urn:p", "x", "p"), 'a"\t\n')) == 'p:x="a&quot;&#x9;&#xA;"'
    assert serialize(CommentNode("c")) == "<!--c-->"
    assert serialize(NamespaceNode("p", "urn:p")) == 'xmlns:p="urn:p"'
    assert serialize(parse_xml("<a></a>")) == "<a/>"


def test_characters_that_a_parser_would_change_are_references() -> None:
    assert escape_text("\u0085\u2028\u007f") == "&#x85;&#x2028;&#x7F;"
    assert escape_attribute("\u0085") == "&#x85;"


def test_an_element_inside_brings_the_namespaces_in_scope() -> None:
    root = parse_xml('<a xmlns="urn:d" xmlns:p="urn:p"><b><p:c xmlns:q="q"/></b></a>').children[0]
    assert isinstance(root, ElementNode)
    assert serialize(root.children[0]) == '<b xmlns="urn:d" xmlns:p="urn:p"><p:c xmlns:q="q"/></b>'


def test_the_canonical_form_is_the_standard_one() -> None:
    text = (
        "<a xmlns:p='urn:p' xmlns:unused='u' z='1' y='&#9;&quot;'><p:b p:k='2' a='3'/>"
        "<!-- c --><?t i?><b xmlns='urn:d'>&lt;<c xmlns=''/></b></a>"
    )
    assert canonical(parse_xml(text)) == ET.canonicalize(text, with_comments=True)


def test_different_trees_have_different_canonical_forms() -> None:
    def form(text: str) -> str:
        return canonical(parse_xml(text))

    assert form("<a x='1' y='2'/>") == form('<a  y="2" x="1"></a>')
    assert form("<a><![CDATA[<]]></a>") == form("<a>&lt;</a>")
    assert form("<a> x</a>") != form("<a>x</a>")
    assert form("<p:a xmlns:p='1'/>") != form("<p:a xmlns:p='2'/>")


@given(text=XML_TEXT, attribute=XML_TEXT)
def test_every_character_survives(text: str, attribute: str) -> None:
    builder = TreeBuilder()
    builder.start_element(QName("", "a"))
    builder.attribute(QName("", "x"), attribute)
    builder.text(text)
    builder.end()
    written = serialize(builder.result())
    again = parse_xml(written)
    assert again.string_value() == text
    root = again.document_element
    assert root is not None
    assert root.attribute_value("x") == attribute
    assert canonical(again) == canonical(builder.result())
