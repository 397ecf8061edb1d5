"""Inferring tag structures from documents, DTDs and XML Schemas."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from xcql.diagnostics import XcqlError
from xcql.model import infer
from xcql.model.documents import read_document
from xcql.model.infer import NameTree, infer_from_document, tag_structure
from xcql.model.infer_schema import infer_from_dtd, infer_from_xsd
from xcql.model.tags import Tag, parse_tags, tags_to_xml

XMARK = Path(__file__).parents[3] / "shared" / "xmark"


def tree_of(document: str) -> NameTree:
    return infer_from_document(read_document(io.BytesIO(document.encode()), "doc.xml"))


def dtd(tmp_path: Path, text: str, root: str | None = None) -> NameTree:
    path = tmp_path / "schema.dtd"
    path.write_text(text)
    return infer_from_dtd(path, root)


def xsd(tmp_path: Path, text: str, root: str | None = None) -> NameTree:
    path = tmp_path / "schema.xsd"
    path.write_text(
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:t="urn:t"'
        f' targetNamespace="urn:t" elementFormDefault="qualified">{text}</xs:schema>'
    )
    return infer_from_xsd(path, root)


def outline(tree: NameTree) -> str:
    """The structure in one line: `a(b(→a) c)`."""

    def shown(tag: Tag) -> str:
        if tag.ref is not None:
            return f"→{tag.name}"
        inside = " ".join(shown(child) for child in tag.children)
        return f"{tag.name}({inside})" if inside else str(tag.name)

    structure = tag_structure(tree)
    assert parse_tags(tags_to_xml(structure)) == structure
    return shown(structure.root)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("<a/>", "a"),
        ("<a>x<b><c/></b><c/><b><d/></b></a>", "a(b(c d) c)"),
        ("<a><b><a><c/></a></b></a>", "a(b(→a) c)"),
        ("<l><p><i><p><i/><t/></p></i></p></l>", "l(p(i(→p) t))"),
        ("<a><b><b><b/></b></b></a>", "a(b(→b))"),
        ("<p:a xmlns:p='u' xmlns:q='u'><p:b/><q:b/><b/></p:a>", "p:a(p:b b)"),
        ("<a xmlns='u'><b/><b xmlns='v'/></a>", "a(b b)"),
        ("<!DOCTYPE a [<!ENTITY e '<b/>'>]><a>&e;</a>", "a(b)"),
    ],
)
def test_from_a_document(document: str, expected: str) -> None:
    assert outline(tree_of(document)) == expected


def test_prefixes_that_are_not_there_are_made_up_when_written() -> None:
    structure = tag_structure(tree_of("<a xmlns='u'><b xmlns='v'/><c xmlns=''/></a>"))
    read = parse_tags(tags_to_xml(structure))
    assert [tag.name.clark for tag in read] == ["Q{u}a", "Q{v}b", "Q{}c"]


def test_ids_follow_document_order() -> None:
    structure = tag_structure(tree_of("<a><b><c/></b><d/></a>"))
    assert [(tag.id, str(tag.name)) for tag in structure] == [
        ("1", "a"),
        ("2", "b"),
        ("3", "c"),
        ("4", "d"),
    ]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("//item", ["/site/x/item", "/site/y/item", "/site/item"]),
        ("/site/x/item", ["/site/x/item"]),
        ("x/item", ["/site/x/item"]),
        ("item", ["/site/x/item", "/site/y/item", "/site/item"]),
        ("/site/*", ["/site/x", "/site/y", "/site/item"]),
        ("/site/*/item", ["/site/x/item", "/site/y/item"]),
        ("/site//item", ["/site/x/item", "/site/y/item", "/site/item"]),
        ("/site", ["/site"]),
        ("//x//*", ["/site/x/item", "/site/x/item/name"]),
    ],
)
def test_paths(path: str, found: list[str]) -> None:
    tree = tree_of("<site><x><item><name/></item></x><y><item/></y><item/></site>")
    structure = tag_structure(tree, temporal=[path])
    kinds = {structure.path_of(tag) for tag in structure if tag.kind == "temporal"}
    assert kinds == set(found)


def test_a_path_to_where_an_element_recurs() -> None:
    structure = tag_structure(tree_of("<a><p><i><p/></i></p></a>"), temporal=["i/p"])
    assert [tag.kind for tag in structure] == ["snapshot", "temporal", "snapshot"]


@pytest.mark.parametrize(
    ("paths", "text", "hint"),
    [
        (["//itm"], "no element matches the path '//itm'", "did you mean item?"),
        (
            ["/item"],
            "no element matches the path '/item'",
            "there is /site/x/item",
        ),
        (["//zzz"], "no element matches the path '//zzz'", ""),
        ([""], "is not a path", "write paths like"),
        (["a///b"], "is not a path", "write paths like"),
        (["/"], "is not a path", "write paths like"),
    ],
)
def test_paths_to_nothing(paths: list[str], text: str, hint: str) -> None:
    tree = tree_of("<site><x><item/></x><y><item/></y></site>")
    with pytest.raises(XcqlError) as problem:
        tag_structure(tree, temporal=paths)
    assert problem.value.code == "XCQL0260"
    assert text in problem.value.message
    assert any(h.startswith(hint) for h in problem.value.diagnostic.hints) or not hint


def test_one_type_for_each_tag() -> None:
    with pytest.raises(XcqlError) as problem:
        tag_structure(tree_of("<a><b/></a>"), temporal=["//b"], event=["/a/*"])
    assert problem.value.message == "b is both temporal ('//b') and event ('/a/*')"


def test_a_document_that_is_too_deep() -> None:
    deep = "".join(f"<a{i}>" for i in range(300))
    with pytest.raises(XcqlError) as problem:
        tree_of(deep)
    assert problem.value.code == "XCQL0261"
    assert problem.value.line == 1
    # but not if one element is nested in itself
    assert outline(tree_of("<a>" * 5000 + "</a>" * 5000)) == "a(→a)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<!ELEMENT a (b, (c | d)*, b?)> <!ELEMENT b EMPTY> <!ELEMENT d (#PCDATA)>", "a(b c d)"),
        ("<!ELEMENT b EMPTY> <!ELEMENT a (#PCDATA | b | i)*> <!ELEMENT i (#PCDATA | i)*>", None),
        ("<!ELEMENT a (b)> <!ELEMENT b (a?)>", "a(b(→a))"),
        ("<!ENTITY % in 'b | c'> <!ELEMENT a (%in;)*> <!-- <!ELEMENT x EMPTY> -->", "a(b c)"),
        ("<!ELEMENT a ANY> <!ELEMENT b EMPTY>", "a(→a b)"),
        (
            "<!ELEMENT p:a (b)> <!ATTLIST p:a xmlns:p CDATA #FIXED 'urn:p' xmlns CDATA 'urn:d'>",
            "p:a(b)",
        ),
        ("<?xml version='1.0' encoding='UTF-8'?><!ELEMENT a (b)>", "a(b)"),
        ("<![IGNORE[<!ELEMENT x (y)>]]><![INCLUDE[<!ELEMENT a (b)>]]>", "a(b)"),
    ],
)
def test_from_a_dtd(text: str, expected: str | None, tmp_path: Path) -> None:
    assert outline(dtd(tmp_path, text)) == (expected or "a(b i(→i))")


def test_the_root_of_a_dtd(tmp_path: Path) -> None:
    text = "<!ELEMENT unused EMPTY> <!ELEMENT a (b)> <!ELEMENT b (c)> <!ELEMENT c EMPTY>"
    assert outline(dtd(tmp_path, text)) == "a(b(c))"
    assert outline(dtd(tmp_path, text, "b")) == "b(c)"
    with pytest.raises(XcqlError) as problem:
        dtd(tmp_path, text, "unsed")
    assert problem.value.diagnostic.hints == ("did you mean unused?",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "declares no elements"),
        ("<!ELEMENT a (b>", "not well-formed"),
        ("<!ELEMENT p:a (b)>", "does not declare the namespace of p:a"),
        ("<!ENTITY % x SYSTEM 'file:///etc/passwd'> %x; <!ELEMENT a (b)>", "XCQL does not fetch"),
        (
            "".join(
                f"<!ELEMENT e{i} ({'|'.join(f'e{j}' for j in range(12))})*>" for i in range(12)
            ),
            "more than 2000 ways",
        ),
    ],
)
def test_dtds_that_are_no_good(
    text: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(infer, "MAX_TAGS", 2000)
    with pytest.raises(XcqlError) as problem:
        dtd(tmp_path, text)
    assert expected in problem.value.message


def test_from_an_xsd(tmp_path: Path) -> None:
    text = """
      <xs:element name="list"><xs:complexType><xs:sequence>
        <xs:element ref="t:list" minOccurs="0"/>
        <xs:element name="item" type="t:Item" maxOccurs="unbounded"/>
        <xs:element ref="t:shape"/>
        <xs:any processContents="lax"/>
      </xs:sequence></xs:complexType></xs:element>
      <xs:complexType name="Item" mixed="true"><xs:choice>
        <xs:element name="name" type="xs:string" form="unqualified"/>
        <xs:element name="part" type="t:Item"/>
      </xs:choice></xs:complexType>
      <xs:element name="shape" abstract="true"/>
      <xs:element name="circle" substitutionGroup="t:shape" type="xs:int"/>"""
    tree = xsd(tmp_path, text)
    assert outline(tree) == "t:list(→t:list t:item(name t:part(name →t:part)) t:circle)"
    assert [tag.name.uri for tag in tag_structure(tree)][:3] == ["urn:t", "urn:t", ""]
    assert outline(xsd(tmp_path, text, "circle")) == "t:circle"


def test_xsds_that_are_no_good(tmp_path: Path) -> None:
    with pytest.raises(XcqlError) as problem:
        xsd(tmp_path, "<xs:element name='a' type='t:nowhere'/>")
    assert problem.value.code == "XCQL0262"
    with pytest.raises(XcqlError) as problem:
        infer_from_xsd(tmp_path / "missing.xsd")
    assert problem.value.code == "XCQL0262"
    with pytest.raises(XcqlError) as problem:
        xsd(tmp_path, "<xs:simpleType name='x'><xs:restriction base='xs:int'/></xs:simpleType>")
    assert problem.value.message.endswith("declares no elements")


@pytest.mark.skipif(not XMARK.exists(), reason="the XMark documents are not there")
def test_xmark() -> None:
    allowed = tag_structure(infer_from_dtd(XMARK / "auction.dtd"), temporal=["//item"])
    assert str(allowed.root.name) == "site"
    assert sum(tag.kind == "temporal" for tag in allowed) == 6
    parlist = allowed.at("/site/regions/asia/item/description/parlist")
    assert parlist is not None
    assert allowed.at(allowed.path_of(parlist) + "/listitem/parlist") == parlist
    with open(XMARK / "auction-0.01.xml.gz", "rb") as file:
        found = tag_structure(infer_from_document(read_document(file, "auction")))
    for tag in found:
        assert allowed.at(found.path_of(tag)) is not None


def identifiers(tree: NameTree, *paths: str) -> dict[str, dict[str, str]]:
    """The declared attributes of each tag that has any."""
    structure = tag_structure(tree, identifiers=paths)
    assert parse_tags(tags_to_xml(structure)) == structure
    return {
        str(tag.name): {one.name.clark: one.type for one in tag.attributes}
        for tag in structure
        if tag.attributes
    }


def test_identifiers_of_a_dtd(tmp_path: Path) -> None:
    found = dtd(
        tmp_path,
        """<!ELEMENT a (b*)><!ELEMENT b EMPTY>
        <!ATTLIST a id ID #REQUIRED n CDATA #IMPLIED>
        <!ATTLIST b to IDREF #IMPLIED all IDREFS #IMPLIED x:y ID #IMPLIED t NMTOKEN #IMPLIED>""",
    )
    assert identifiers(found) == {
        "a": {"Q{}id": "ID"},
        "b": {"Q{}to": "IDREF", "Q{}all": "IDREFS"},
    }


def test_identifiers_of_a_schema(tmp_path: Path) -> None:
    found = xsd(
        tmp_path,
        """<xs:simpleType name="key"><xs:restriction base="xs:ID"/></xs:simpleType>
        <xs:element name="a"><xs:complexType><xs:sequence>
          <xs:element name="b"><xs:complexType><xs:attribute name="to" type="xs:IDREF"/>
            <xs:attribute name="all" type="xs:IDREFS" form="qualified"/></xs:complexType>
          </xs:element></xs:sequence>
          <xs:attribute name="id" type="t:key"/><xs:attribute name="n" type="xs:int"/>
        </xs:complexType></xs:element>""",
    )
    assert identifiers(found) == {
        "t:a": {"Q{}id": "ID"},
        "t:b": {"Q{}to": "IDREF", "Q{urn:t}all": "IDREFS"},
    }


def test_identifiers_of_a_document_with_a_dtd() -> None:
    document = "<!DOCTYPE a [<!ATTLIST b id ID #IMPLIED>]><a><b id='1'><a/></b></a>"
    assert identifiers(tree_of(document)) == {"b": {"Q{}id": "ID"}}


def test_identifiers_by_hand() -> None:
    tree = tree_of("<a><b><c/></b><c/></a>")
    assert identifiers(tree, "b/c/@id", "//b/@Q{urn:x}key") == {
        "b": {"Q{urn:x}key": "ID"},
        "c": {"Q{}id": "ID"},
    }
    for wrong in ("//b", "@id", "//b/@", "//b/@1", "//nothing/@id"):
        with pytest.raises(XcqlError) as problem:
            tag_structure(tree, identifiers=[wrong])
        assert problem.value.code == "XCQL0260"
