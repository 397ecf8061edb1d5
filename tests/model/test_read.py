"""Reading fragments: valid fragments are read, whatever surrounds them."""

from __future__ import annotations

import gzip
import time
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcql.diagnostics import XcqlError
from xcql.model.fragments import Fragment, content_tree, is_hole
from xcql.model.read import FragmentBatch, read_all
from xcql.model.scan import MEANINGLESS, FileHead, is_file_end, scan
from xcql.model.tags import parse_tags
from xcql.model.time import START
from xcql.xdm.nodes import ElementNode, descendants
from xcql.xdm.parse import parse_xml
from xcql.xdm.serialize import canonical, serialize

TAGS = parse_tags(
    """<stream:structure xmlns:p="urn:p">
  <tag type="snapshot" id="1" name="list">
    <tag type="snapshot" id="2" name="head"><tag type="snapshot" id="3" name="b"/></tag>
    <tag type="temporal" id="4" name="item">
      <tag type="snapshot" id="5" name="note"><tag type="snapshot" id="6" name="b"/></tag>
      <tag type="temporal" id="7" name="item2"/>
      <tag type="snapshot" id="9" name="p:filler"/>
      <tag ref="4"/>
    </tag>
    <tag type="event" id="8" name="hit"/>
  </tag>
</stream:structure>"""
)
ITEM = '<filler id="{}" tsid="4" validTime="2003-10-01"><item>{}</item></filler>'


def item(id: str, content: str = "") -> str:
    return ITEM.format(id, content)


def read(text: str | bytes) -> FragmentBatch:
    return read_all(text, TAGS)


def ids(batch: FragmentBatch) -> list[str]:
    return [fragment.id for fragment in batch.fragments]


def good(text: str | bytes) -> Fragment:
    batch = read(text)
    assert batch.rejected == ()
    (fragment,) = batch.fragments
    return fragment


def test_a_root_of_any_name_holds_the_fragments() -> None:
    batch = read(f"<?xml version='1.0'?><!-- c --><anything>{item('1')} {item('2')}</anything>\n")
    assert (ids(batch), batch.rejected) == (["1", "2"], ())


def test_a_rootless_sequence_is_accepted() -> None:
    assert ids(read(item("1") + "\n<?pi?>" + item("2"))) == ["1", "2"]
    assert read("") == read("<fragments/>") == FragmentBatch(())


@pytest.mark.parametrize("root", ["fragments", "stream:fragments"])
@pytest.mark.parametrize("declaration", ["", ' xmlns:stream="urn:any"'])
def test_with_the_prefix_stream_declared_or_not(root: str, declaration: str) -> None:
    text = item("1", "<hole id='2'/><stream:hole id='3'/>").replace("filler", "stream:filler")
    fragment = good(f"<{root}{declaration}>{text}</{root}>")
    assert [hole.id for hole in fragment.holes] == ["2", "3"]


@pytest.mark.parametrize("op", ["filler", "repeat", "replace"])
def test_operations_with_an_element(op: str) -> None:
    fragment = good(item("1", "x").replace("filler", op))
    assert (fragment.op, fragment.id, fragment.tsid) == (op, "1", "4")
    assert fragment.valid_time == datetime(2003, 10, 1)
    assert fragment.content == b"<item>x</item>"


@pytest.mark.parametrize(
    ("text", "tsid", "time"),
    [
        ('<remove id="1"/>', None, None),
        ('<remove id="1" tsid="4" validTime="2003-10-1"></remove>', "4", datetime(2003, 10, 1)),
    ],
)
def test_remove(text: str, tsid: str | None, time: datetime | None) -> None:
    fragment = good(text)
    assert (fragment.op, fragment.tsid, fragment.valid_time) == ("remove", tsid, time)


def test_eos_ends_the_file_and_what_follows_gives_a_warning() -> None:
    batch = read(f"<f>{item('1')}<eos/>{item('2')}<filler></f>")
    assert ids(batch) == ["1"]
    assert batch.rejected == ()
    assert "2 fragments" in batch.warnings[0].message
    assert read(f"<f>{item('1')}<stream:eos/> </f>").warnings == ()


def test_a_missing_valid_time_means_start() -> None:
    assert good('<filler id="1" tsid="4"><item/></filler>').valid_time == START


def test_the_id_of_a_reference_is_the_tag_it_refers_to() -> None:
    structure = parse_tags(
        '<s:structure><tag type="snapshot" id="1" name="a"><tag type="temporal" id="2" name="b">'
        '<tag type="temporal" id="3" name="b" ref="2"/></tag></tag></s:structure>'.replace(
            "s:", "stream:"
        )
    )
    batch = read_all('<filler id="1" tsid="3"><b/></filler>', structure)
    assert [fragment.tsid for fragment in batch.fragments] == ["2"]


def test_white_space_inside_is_kept_and_around_it_is_dropped() -> None:
    text = ITEM.format("1", "\n x \n").replace("><item>", ">\n <!--c--> <item>")
    assert good(text).content == b"<item>\n x \n</item>"


def test_everything_in_an_element_survives() -> None:
    content = "<item a='1'  b=\"&lt;\">é&#x41;<!-- c --><?p i?><![CDATA[<filler>]]>"
    content += '<note>x<b/>y</note><hole id="9" />z</item>'
    fragment = good(f'<filler id="1" tsid="4">{content}</filler>')
    assert fragment.content == content.encode()
    (hole,) = fragment.holes
    assert fragment.content[hole.start : hole.end] == b'<hole id="9" />'
    assert hole.parent == "4"


def test_holes_in_order_with_their_places() -> None:
    content = '<hole id="a"/><note><b>t</b><stream:hole id="b"> </stream:hole></note><hole id="a"/>'
    fragment = good(item("1", content))
    assert [(hole.id, hole.parent) for hole in fragment.holes] == [
        ("a", "4"),
        ("b", "5"),
        ("a", "4"),
    ]
    second = fragment.holes[1]
    assert fragment.content[second.start : second.end] == b'<stream:hole id="b"> </stream:hole>'


def test_namespaces_of_the_file_s_root_and_of_the_filler_are_in_scope() -> None:
    fragment = good(
        '<f xmlns:p="urn:p" xmlns:stream="urn:s"><filler id="1" tsid="4" xmlns:q="urn:q">'
        '<item q:x="1"><p:filler/></item></filler></f>'
    )
    tree = content_tree(fragment)
    assert fragment.content == b'<item q:x="1"><p:filler/></item>'
    assert serialize(tree) == ('<item xmlns:p="urn:p" xmlns:q="urn:q" q:x="1"><p:filler/></item>')


def test_names_match_by_expanded_name() -> None:
    good('<filler id="1" tsid="4"><item><z:filler xmlns:z="urn:p"/></item></filler>')
    batch = read('<filler id="1" tsid="4"><item xmlns="urn:p"/></filler>')
    assert [rejected.kind for rejected in batch.rejected] == ["element"]


def test_an_element_may_have_the_name_of_a_fragment() -> None:
    inner = '<filler xmlns="urn:p">x</filler><p:filler xmlns:p="urn:p"/><filler xmlns="urn:p"/>'
    assert ids(read(f"<f>{item('1', inner)}{item('2')}</f>")) == ["1", "2"]


def test_fragments_in_comments_and_sections_are_none() -> None:
    section = item("2", f"<![CDATA[{item('3')}]]>")
    text = f"<f><!--{item('1')}-->{section}<?p {item('4')}?></f>"
    batch = read(text)
    assert (ids(batch), batch.rejected) == (["2"], ())


@pytest.mark.parametrize(
    ("bad", "kind", "reason"),
    [
        (item("x", "<b>"), "malformed", "mismatched tag"),
        ('<filler id="x" tsid="4"><item>', "malformed", "not closed"),
        ('<filler id="x" tsid="4"', "malformed", "not closed"),
        (item("x", "<!-- "), "malformed", "unclosed token"),
        (item("x", "<![CDATA["), "malformed", "unclosed CDATA section"),
        (item("x", "\x01"), "malformed", "invalid token"),
        (item("x", "&unknown;"), "malformed", "entities are not expanded"),
        (item("x", "<z:y/>"), "malformed", "unbound prefix"),
        (item("x").replace("tsid=", "id="), "malformed", "duplicate attribute"),
        (item("x", '<!DOCTYPE a [<!ENTITY e "x">]>'), "malformed", "not well-formed"),
        ("stray text", "not a fragment", "not a fragment:"),
        ("<other/>", "not a fragment", "not a fragment:"),
        ("</item>", "not a fragment", "not a fragment:"),
        (
            item("x").replace("<filler", '<filler xmlns="urn:d"'),
            "not a fragment",
            "write <stream:filler>",
        ),
        ('<filler tsid="4"><item/></filler>', "no id", "has no id"),
        ('<filler id=" " tsid="4"><item/></filler>', "no id", "has no id"),
        ('<remove validTime="2003-10-01"/>', "no id", "the remove has no id"),
        ('<filler id="x"><item/></filler>', "tag", "no tsid"),
        ('<filler id="x" tsid="99"><item/></filler>', "tag", "unknown tsid '99'"),
        ('<remove id="x" tsid="99"/>', "tag", "unknown tsid '99'"),
        ('<filler id="0" tsid="4"><item/></filler>', "tag", "filler 0 must be the root, list"),
        ('<filler id="x" tsid="4"/>', "element", "contains no element"),
        ('<filler id="x" tsid="4"> <!-- c --> </filler>', "element", "contains no element"),
        ('<filler id="x" tsid="4">text</filler>', "element", "contains no element"),
        ('<filler id="x" tsid="4"><item/><item/></filler>', "element", "more than one"),
        ('<filler id="x" tsid="4"><item/>text</filler>', "element", "text beside"),
        ('<filler id="x" tsid="4">text<item/></filler>', "element", "text beside"),
        (
            '<filler id="x" tsid="4"><note/></filler>',
            "element",
            "but the element of tag 4 is",
        ),
        ('<filler id="x" tsid="4"><hole id="1"/></filler>', "element", "is hole"),
        ('<remove id="x"><item/></remove>', "element", "a remove cannot contain an element"),
        (item("x", "<nothing/>"), "undeclared element", "nothing is not declared in item"),
        (item("x", "<note><note/></note>"), "undeclared element", "not declared in note"),
        (item("x", '<hole xmlns="urn:d" id="1"/>'), "undeclared element", "<stream:hole>"),
        (item("x", "<item2/>"), "inline element", "the temporal element item2 is inline in item"),
        (item("x", "<item/>"), "inline element", "the temporal element item is inline in item"),
        (item("x", "<hole/>"), "hole", "has no id"),
        (item("x", "<hole id='1'>text</hole>"), "hole", "not empty"),
        (item("x", "<hole id='1'><note/></hole>"), "hole", "not empty"),
        (item("x").replace("2003-10-01", "yesterday"), "time", "'yesterday' is not a valid time"),
        (item("x").replace("2003-10-01", "now"), "time", "'now' is not a valid time"),
        (item("x").replace("2003-10-01", ""), "time", "'' is not a valid time"),
        ('<filler id="x" tsid="8"><hit/></filler>', "time", "the event hit has no validTime"),
    ],
)
def test_what_is_bad_is_rejected_and_the_rest_is_read(bad: str, kind: str, reason: str) -> None:
    text = f"<f>{item('1')}{bad}{item('2')}{item('3')}</f>"
    batch = read_all(text, TAGS)
    assert ids(batch) == ["1", "2", "3"]
    (rejected,) = batch.rejected
    assert rejected.kind == kind
    assert reason in rejected.reason
    assert rejected.raw == bad.encode()
    assert rejected.offset == len(f"<f>{item('1')}")


def test_a_comment_without_an_end_hides_no_fragment() -> None:
    batch = read(f"<f>{item('1')}<!-- {item('2')}{item('3', '<!-- c -->')}</f>")
    assert ids(batch) == ["1", "2", "3"]
    assert [rejected.raw for rejected in batch.rejected] == [b"<!-- "]


def test_a_dtd_is_refused_and_never_acted_upon(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    bomb = "".join(f"<!ENTITY a{n} '&a;&a;&a;'>" for n in range(9))
    doctype = (
        f'<!DOCTYPE f [<!ENTITY a "x>]"><!ENTITY s SYSTEM "{secret.as_uri()}"><!-- ]> -->{bomb}]>'
    )
    text = f"{doctype}<f>{item('1')}{item('2', '&s;')}{item('3', '&a;')}{item('4')}</f>"
    batch = read(text)
    assert ids(batch) == ["1", "4"]
    assert [rejected.kind for rejected in batch.rejected] == [
        "not a fragment",
        "malformed",
        "malformed",
    ]
    assert batch.rejected[0].raw == doctype.encode()


def test_a_file_that_was_cut_off() -> None:
    text = f"<f>{item('1')}{item('2')}</f>"
    for length in range(len(text) - 1, 3, -1):
        batch = read(text[:length])
        assert len(batch.fragments) + len(batch.rejected) >= 1
        assert batch.rejected, text[:length]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_encodings(encoding: str) -> None:
    name = encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{name}"?><f>{item("1", "é")}</f>'
    assert good(text.encode(encoding)).content == "<item>é</item>".encode()
    assert good(text).content == "<item>é</item>".encode()


def test_offsets_count_the_bytes_of_the_file() -> None:
    data = b"\xef\xbb\xbf<f>" + "é".encode() + item("1").encode() + b"</f>"
    batch = read(data)
    assert batch.rejected[0].offset == 6
    assert data[batch.fragments[0].offset :].startswith(b"<filler")


def test_bytes_that_are_no_text_spoil_one_fragment_only() -> None:
    data = f"<f>{item('1')}{item('2')}</f>".encode().replace(
        b"<item></item>", b"<item>\xff</item>", 1
    )
    batch = read(data)
    assert (ids(batch), len(batch.rejected)) == (["2"], 1)
    assert read(b"\xff\xfe<\x00\x00\xd8\x00").rejected[0].kind == "malformed"


def test_files_folders_and_gzip(tmp_path: Path) -> None:
    (tmp_path / "b.xml").write_text(item("2"))
    (tmp_path / "a.xml.gz").write_bytes(gzip.compress(f"<f>{item('1')}</f>".encode()))
    (tmp_path / ".hidden").write_text("no")
    batch = read_all(tmp_path, TAGS)
    assert ids(batch) == ["1", "2"]
    assert [Path(fragment.file).name for fragment in batch.fragments] == ["a.xml.gz", "b.xml"]
    assert ids(read_all([str(tmp_path / "b.xml"), item("3"), item("4").encode()], TAGS)) == [
        "2",
        "3",
        "4",
    ]


def test_a_file_with_the_same_content_as_one_before_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(item("1"))
    (tmp_path / "b.xml.gz").write_bytes(gzip.compress(item("1").encode()))
    (tmp_path / "c.xml").write_text(item("2"))
    assert ids(read_all(tmp_path, TAGS)) == ["1", "2"]


@pytest.mark.parametrize("name", ["none.xml", "broken.gz", "cut.gz"])
def test_files_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "broken.gz").write_bytes(b"no gzip")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"x" * 100)[:-9])
    with pytest.raises(XcqlError) as caught:
        read_all(tmp_path / name, TAGS)
    assert caught.value.code == "XCQL0300"


def test_a_scan_may_begin_and_end_anywhere() -> None:
    data = f"<f>{item('1')}{item('2', '<!--' + item('3') + '-->')}{item('4')}</f>".encode()
    whole = list(scan(data))
    assert [data[s.start : s.end].count(b"<filler") for s in whole] == [1, 2, 1]
    for cut in [s.start for s in whole]:
        assert [*scan(data, 0, cut), *scan(data, cut)] == whole


PARTS = [item("1"), "<filler id='2'>", "</filler>", "<a>", "<!--", "-->", "<![CDATA[", "]]>"]
PARTS += ["<eos", "x", "</f>", '"', "<f>"]


@given(st.lists(st.sampled_from(PARTS), max_size=12))
def test_no_byte_is_lost_whatever_comes(parts: list[str]) -> None:
    """Every byte is in a fragment, in a rejected record, or insignificant."""
    data = f"<f>{''.join(parts)}</f>".encode()
    batch = read(data)
    spans = [(found.offset, len(item("1"))) for found in batch.fragments]
    spans += [(rejected.offset, len(rejected.raw)) for rejected in batch.rejected]
    position = len("<f>")
    for offset, length in sorted(spans):
        assert offset >= position
        assert MEANINGLESS.fullmatch(data[position:offset])
        position = offset + length
    assert position == len(data) or is_file_end(data[position:], FileHead(0, (), b"</f>"))


@pytest.mark.parametrize(
    "bad", ['<filler id="1"><a>', '<filler id="1"><a><!--</a></filler>', "<?", "<!--"]
)
def test_many_bad_fragments_take_no_longer_than_they_should(bad: str) -> None:
    began = time.process_time()
    batch = read("<f>" + bad * 5_000 + item("2") + "--></f>")
    assert batch.rejected
    assert time.process_time() - began < 10


def test_a_fragment_may_be_deep() -> None:
    structure = parse_tags(
        '<structure><tag type="snapshot" id="1" name="a"><tag ref="1"/></tag></structure>'
    )
    depth = 20_000
    text = f'<filler id="0" tsid="1">{"<a>" * depth}{"</a>" * depth}</filler>'
    (fragment,) = read_all(text, structure).fragments
    assert isinstance(content_tree(fragment), ElementNode)


NESTED = parse_tags(
    """<structure><tag type="snapshot" id="1" name="list"><tag type="temporal" id="4" name="item">
    <tag type="snapshot" id="5" name="n"><tag ref="5"/></tag></tag></tag></structure>"""
)
PIECES = ["<n/>", "<n></n>", "<n a='>' c='\"/>'/>", "<n\n>t</n >", "text", "é\r\n&#10;", "&gt;"]
PIECES += ["<!-- <filler> -->", "<?p />?>", "<![CDATA[</filler>]]>", '<hole id="7"/>']
PIECES += ["<hole id='8' ></hole>", "<stream:hole id='9'>\n</stream:hole >"]
CONTENT = st.recursive(
    st.sampled_from(PIECES),
    lambda inner: st.lists(inner, max_size=4).map(lambda parts: f"<n>{''.join(parts)}</n>"),
    max_leaves=12,
)


@given(contents=st.lists(CONTENT, min_size=1, max_size=5))
def test_what_is_read_is_what_a_parser_sees(contents: list[str]) -> None:
    """Cutting out bytes gives the same elements and holes as parsing the whole file."""
    fillers = [item(str(n), content) for n, content in enumerate(contents, start=1)]
    text = f"<f xmlns:stream='urn:s'>{' '.join(fillers)}</f>"
    batch = read_all(text, NESTED)
    assert batch.rejected == ()
    root = parse_xml(text).document_element
    assert root is not None
    parsed = [child for child in root.children if isinstance(child, ElementNode)]
    for fragment, filler in zip(batch.fragments, parsed, strict=True):
        (element,) = filler.children
        assert canonical(content_tree(fragment)) == canonical(element)
        assert [hole.id for hole in fragment.holes] == [
            node.attribute_value("id")
            for node in descendants(element)
            if isinstance(node, ElementNode) and is_hole(node)
        ]
        for hole in fragment.holes:
            cut = fragment.content[hole.start : hole.end].decode()
            assert cut in PIECES
