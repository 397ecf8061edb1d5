"""Building and copying: text is merged, and names get the namespaces they need."""

from __future__ import annotations

import pytest

from xcql.xdm.builder import TreeBuilder, copy, copy_into
from xcql.xdm.names import XML_NAMESPACE, QName
from xcql.xdm.nodes import AttributeNode, ElementNode, Node, TextNode, descendants
from xcql.xdm.parse import parse_xml
from xcql.xdm.serialize import serialize


def element(text: str, path: str = "") -> ElementNode:
    node = parse_xml(text).document_element
    for local in path.split("/") if path else ():
        assert node is not None
        node = next(
            child
            for child in node.children
            if isinstance(child, ElementNode) and child.name.local == local
        )
    assert node is not None
    return node


def inside(name: QName, node: Node, **mode: bool) -> str:
    """A copy of the node inside a new element of that name."""
    builder = TreeBuilder()
    builder.start_element(name)
    copy_into(builder, node, **mode)
    builder.end()
    return serialize(builder.result())


def test_adjacent_texts_are_joined_and_empty_ones_dropped() -> None:
    builder = TreeBuilder()
    builder.start_element(QName("", "a"))
    for text in ("", "x", "", "y"):
        builder.text(text)
    builder.comment("c")
    builder.text("")
    builder.end()
    result = builder.result()
    assert [type(child).__name__ for child in result.children] == ["TextNode", "CommentNode"]
    assert result.string_value() == "xy"


def test_names_get_their_declarations_once() -> None:
    builder = TreeBuilder()
    builder.start_element(QName("urn:p", "a", "p"))
    builder.start_element(QName("urn:p", "b", "p"))
    builder.attribute(QName("urn:q", "x", "q"), "1")
    builder.end()
    builder.end()
    expected = '<p:a xmlns:p="urn:p"><p:b xmlns:q="urn:q" q:x="1"/></p:a>'
    assert serialize(builder.result()) == expected


def test_an_attribute_whose_prefix_is_taken_gets_another() -> None:
    builder = TreeBuilder()
    builder.start_element(QName("urn:p", "a", "p"))
    builder.attribute(QName("urn:q", "x", "p"), "1")
    builder.attribute(QName("urn:q", "y", ""), "2")
    builder.end()
    expected = '<p:a xmlns:p="urn:p" xmlns:p0="urn:q" p0:x="1" p0:y="2"/>'
    assert serialize(builder.result()) == expected


def test_an_attribute_does_not_take_the_prefix_of_another() -> None:
    builder = TreeBuilder()
    builder.start_element(QName("", "a"), {"p": "urn:1"})
    builder.start_element(QName("", "b"))
    builder.attribute(QName("urn:1", "x", "p"), "1")
    builder.attribute(QName("urn:2", "x", "p"), "2")
    builder.end()
    builder.end()
    expected = '<a xmlns:p="urn:1"><b xmlns:p0="urn:2" p:x="1" p0:x="2"/></a>'
    assert serialize(builder.result()) == expected


def test_a_name_in_no_namespace_undeclares_the_default() -> None:
    builder = TreeBuilder()
    builder.start_element(QName("urn:d", "a"))
    builder.start_element(QName("", "b"))
    builder.end()
    builder.end()
    assert serialize(builder.result()) == '<a xmlns="urn:d"><b xmlns=""/></a>'


def test_the_prefix_xml_is_never_declared() -> None:
    builder = TreeBuilder()
    builder.start_element(QName("", "a"))
    builder.attribute(QName(XML_NAMESPACE, "lang"), "en")
    builder.end()
    assert serialize(builder.result()) == '<a xml:lang="en"/>'


@pytest.mark.parametrize(
    ("preserve", "inherit", "expected"),
    [
        (True, True, '<n:new xmlns:n="urn:n"><b xmlns="urn:d" xmlns:p="urn:p" p:x="1"/></n:new>'),
        (False, True, '<n:new xmlns:n="urn:n"><b xmlns="urn:d" xmlns:p="urn:p" p:x="1"/></n:new>'),
        (True, False, '<n:new xmlns:n="urn:n"><b xmlns="urn:d" xmlns:p="urn:p" p:x="1"/></n:new>'),
    ],
)
def test_a_copy_keeps_the_namespaces_that_it_uses(
    preserve: bool, inherit: bool, expected: str
) -> None:
    source = element('<a xmlns="urn:d" xmlns:p="urn:p"><b p:x="1"/></a>', "b")
    mode = {"preserve_namespaces": preserve, "inherit_namespaces": inherit}
    assert inside(QName("urn:n", "new", "n"), source, **mode) == expected


def test_copy_namespaces_modes() -> None:
    source = element('<a xmlns:unused="urn:u"><b/></a>', "b")
    new = QName("urn:n", "new", "n")
    with_all = inside(new, source)
    assert with_all == '<n:new xmlns:n="urn:n"><b xmlns:unused="urn:u"/></n:new>'
    assert inside(new, source, preserve_namespaces=False) == '<n:new xmlns:n="urn:n"><b/></n:new>'
    builder = TreeBuilder()
    builder.start_element(new)
    copy_into(builder, source, inherit_namespaces=False)
    builder.end()
    (copied,) = builder.result().children
    assert isinstance(copied, ElementNode)
    assert "n" not in copied.namespaces()


def test_attributes_without_a_prefix_do_not_use_the_default_namespace() -> None:
    builder = TreeBuilder()
    builder.start_element(QName("urn:d", "new"))
    copy_into(builder, element('<p:a xmlns:p="urn:p" b="1"/>'), inherit_namespaces=False)
    builder.end()
    (copied,) = builder.result().children
    assert isinstance(copied, ElementNode)
    assert set(copied.namespaces()) == {"p", "xml"}


def test_a_copy_in_no_namespace_stays_in_none() -> None:
    assert inside(QName("urn:d", "new"), element("<a><b/></a>")) == (
        '<new xmlns="urn:d"><a xmlns=""><b/></a></new>'
    )


def test_a_copy_is_a_separate_tree() -> None:
    document = parse_xml("<a><b x='1'>t</b><!--c--><?p i?></a>")
    again = copy(document)
    assert serialize(again) == serialize(document)
    assert again is not document
    assert again.order > max(node.order for node in descendants(document))
    text = copy(TextNode("t"))
    assert (text.parent, text.string_value()) == (None, "t")
    attribute = copy(AttributeNode(QName("", "x"), "1"))
    assert serialize(attribute) == 'x="1"'


def test_a_copy_keeps_its_base_uri() -> None:
    document = parse_xml("<a xml:base='x/'><b xml:base='y/'/></a>", document_uri="http://h/")
    for node in descendants(document):
        assert copy(node).base_uri == node.base_uri
        assert copy(copy(node)).base_uri == node.base_uri


def test_a_deep_tree_is_copied() -> None:
    depth = 20_000
    text = "<a>" * depth + "</a>" * depth
    assert len(list(descendants(copy(parse_xml(text))))) == depth
