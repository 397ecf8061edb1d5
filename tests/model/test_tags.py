"""Tag Structures: reading, lookup, writing, and one clear error for each fault."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from xcql.diagnostics import XcqlError
from xcql.model.tags import parse_tags, read_tags, tags_to_xml
from xcql.xdm.names import QName

CREDIT = """<stream:structure>
  <tag type="snapshot" id="1" name="creditAccounts">
    <tag type="temporal" id="2" name="account">
      <tag type="snapshot" id="3" name="customer"/>
      <tag type="temporal" id="4" name="creditLimit"/>
      <tag type="event" id="5" name="transaction">
        <tag type="snapshot" id="6" name="vendor"/>
        <tag type="temporal" id="7" name="status"/>
        <tag type="snapshot" id="8" name="amount"/>
      </tag>
    </tag>
  </tag>
</stream:structure>
"""

RECURSIVE = """<structure xmlns:p="urn:p">
  <tag type="snapshot" id="1" name="doc">
    <tag type="temporal" id="2" name="p:part">
      <tag ref="2"/>
      <tag type="snapshot" id="3" name="note"/>
    </tag>
    <tag type="temporal" id="4" name="box"><tag id="5" ref="2" type="temporal" name="p:part"/></tag>
  </tag>
</structure>"""


def one_tag(tag: str) -> str:
    return f'<structure><tag type="snapshot" id="1" name="a">{tag}</tag></structure>'


def test_the_paper_s_structure_with_its_undeclared_prefix() -> None:
    structure = parse_tags(CREDIT)
    assert structure.root.name == QName("", "creditAccounts")
    assert [tag.id for tag in structure] == ["1", "2", "3", "4", "5", "6", "7", "8"]
    transaction = structure.at("/creditAccounts/account/transaction")
    assert transaction is not None
    assert (transaction.id, transaction.kind, transaction.is_fragmented) == ("5", "event", True)
    assert structure.path_of(transaction) == "/creditAccounts/account/transaction"
    assert structure.by_id("5") is transaction
    assert structure.child(transaction, "", "status") == structure.by_id("7")
    assert structure.child(transaction, "", "customer") is None
    assert structure.parent_of(transaction) == structure.by_id("2")
    assert structure.parent_of(structure.root) is None


@pytest.mark.parametrize("path", ["", "/", "/account", "/creditAccounts/nothing/account"])
def test_a_path_that_leads_nowhere(path: str) -> None:
    assert parse_tags(CREDIT).at(path) is None


def test_a_reference_is_the_tag_it_refers_to() -> None:
    structure = parse_tags(RECURSIVE)
    part = structure.by_id("2")
    assert part is not None
    assert structure.at("/doc/p:part/p:part/Q{urn:p}part") is part
    assert structure.at("/doc/box/p:part/note") == structure.by_id("3")
    assert structure.by_id("5") is part
    assert [tag.id for tag in structure.descendants(part)] == ["2", "3"]
    assert [tag.id for tag in structure.descendants(structure.root)] == ["2", "3", "4"]


def test_names_match_by_expanded_name() -> None:
    part = parse_tags(RECURSIVE).at("/doc/p:part")
    assert part is not None
    assert part.name == QName("urn:p", "part", "other")
    assert parse_tags(RECURSIVE).child(parse_tags(RECURSIVE).root, "", "part") is None


def test_a_name_without_prefix_is_in_the_default_namespace() -> None:
    structure = parse_tags('<s:structure xmlns:s="x" xmlns="urn:d"><tag type="snapshot" id="1"'
                           ' name="a"/></s:structure>'.replace("s:", "stream:"))  # fmt: skip
    assert structure.root.name == QName("urn:d", "a")


@pytest.mark.parametrize("text", [CREDIT, RECURSIVE])
def test_what_is_written_reads_back_the_same(text: str) -> None:
    structure = parse_tags(text)
    assert parse_tags(tags_to_xml(structure)) == structure
    assert pickle.loads(pickle.dumps(structure)) == structure


def test_writing_keeps_namespaces_apart_that_share_a_prefix() -> None:
    structure = parse_tags(
        '<structure><tag type="snapshot" id="1" name="p:a" xmlns:p="urn:1">'
        '<tag type="snapshot" id="2" name="p:a" xmlns:p="urn:&lt;2"/></tag></structure>'
    )
    assert parse_tags(tags_to_xml(structure)) == structure


def test_a_name_may_occur_under_several_parents() -> None:
    structure = parse_tags(
        one_tag(
            '<tag type="event" id="2" name="b"><tag type="snapshot" id="3" name="n"/></tag>'
            '<tag type="event" id="4" name="c"><tag type="temporal" id="5" name="n"/></tag>'
        )
    )
    first, second = structure.at("/a/b/n"), structure.at("/a/c/n")
    assert first is not None
    assert second is not None
    assert (first.id, second.id) == ("3", "5")


def test_any_encoding_is_read(tmp_path: Path) -> None:
    file = tmp_path / "tags.xml"
    text = '<?xml version="1.0" encoding="UTF-16"?>' + one_tag(
        '<tag type="event" id="é" name="é"/>'
    )
    file.write_bytes(text.encode("utf-16"))
    assert read_tags(file).at("/a/é") is not None


@pytest.mark.parametrize(
    ("text", "code", "message", "place"),
    [
        ("", "XCQL0200", "not well-formed", (1, 1)),
        ("<structure>\n<tag", "XCQL0200", "not well-formed", (2, 1)),
        ("<tags/>", "XCQL0200", "found <tags>", (1, 1)),
        (one_tag("<b/>"), "XCQL0200", "found <b>", (1, 49)),
        ("<structure/>", "XCQL0203", "no root tag", (1, 1)),
        (
            "<structure>" + '<tag type="event" id="1" name="a"/>' * 2 + "</structure>",
            "XCQL0203",
            "2 root tags",
            (1, 47),
        ),
        (one_tag('<tag type="event" id="1" name="b"/>'), "XCQL0201", "duplicate id", (1, 49)),
        (one_tag('<tag type="Event" id="2" name="b"/>'), "XCQL0202", "'Event'", (1, 49)),
        (one_tag('<tag ref="7"/>'), "XCQL0204", "the unknown id '7'", (1, 49)),
        (
            one_tag('<tag ref="7" id="2" name="b" type="event"/>'),
            "XCQL0204",
            "the unknown id '7'",
            (1, 49),
        ),
        (one_tag('<tag ref="1" name="b"/>'), "XCQL0204", "refers to '1', which is a", (1, 49)),
        (one_tag('<tag ref="1" type="event"/>'), "XCQL0204", "a (event) refers to", (1, 49)),
        (one_tag('<tag id="2" name="b"/>'), "XCQL0205", "no type", (1, 49)),
        (one_tag('<tag type="event" name="b"/>'), "XCQL0205", "no id", (1, 49)),
        (one_tag('<tag type="event" id="2"/>'), "XCQL0205", "no name", (1, 49)),
        (one_tag('<tag type="event" id="2" name="a b"/>'), "XCQL0206", "not a valid name", (1, 49)),
        (one_tag('<tag type="event" id="2" name="p:b"/>'), "XCQL0206", "not declared", (1, 49)),
        (
            one_tag('<tag type="event" id="2" name="b"/><tag type="event" id="3" name="b"/>'),
            "XCQL0206",
            "two child tags named b",
            (1, 84),
        ),
        (
            '<!DOCTYPE s [<!ENTITY e "x">]><structure/>',
            "XCQL0200",
            "cannot declare entities",
            (1, 25),
        ),
        ("<structure>" + "<tag>" * 300, "XCQL0200", "deeper than", (1, 1012)),
    ],
)
def test_one_clear_error_each(text: str, code: str, message: str, place: tuple[int, int]) -> None:
    with pytest.raises(XcqlError) as caught:
        parse_tags(text, source_name="tags.xml")
    assert caught.value.code == code
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == place


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(XcqlError, match="cannot be read"):
        read_tags(tmp_path / "none.xml")


@pytest.mark.parametrize(
    ("inside", "code"),
    [
        ('<attribute name="k"/>', "XCQL0202"),
        ('<attribute name="k" type="CDATA"/>', "XCQL0202"),
        ('<attribute type="ID"/>', "XCQL0206"),
        ('<attribute name="x:k" type="ID"/>', "XCQL0206"),
        ('<attribute name="k" type="ID"/><attribute name="k" type="IDREF"/>', "XCQL0206"),
        ('<attribute name="k" type="ID"><tag/></attribute>', "XCQL0200"),
        ('<tag ref="1"><attribute name="k" type="ID"/></tag>', "XCQL0204"),
    ],
)
def test_attributes_that_are_declared_wrongly(inside: str, code: str) -> None:
    with pytest.raises(XcqlError) as problem:
        parse_tags(f'<structure><tag type="snapshot" id="1" name="a">{inside}</tag></structure>')
    assert problem.value.code == code
    assert problem.value.diagnostic.span is not None
