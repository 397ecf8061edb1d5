"""The fragmenter: what is cut, what stays byte for byte, and what is rejected."""

from __future__ import annotations

import gzip
import io
import lzma
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model.rebuilt import canonical_text, rebuilt
from xcql.diagnostics import XcqlError
from xcql.model import fragmenter
from xcql.model.documents import Document, read_document
from xcql.model.fragmenter import Fragmented, fragment
from xcql.model.infer import infer_from_document, tag_structure
from xcql.model.read import read_all
from xcql.model.tags import TagStructure, parse_tags

XMARK = Path(__file__).parents[3] / "shared" / "xmark"
AT = datetime(2003, 10, 23)

# a: snapshot root; t and u temporal (t in t, too), e event, s and n snapshot
TAGS = parse_tags(
    """<stream:structure xmlns:p="urn:p" xmlns:d="urn:d">
    <tag type="snapshot" id="1" name="a">
      <tag type="temporal" id="2" name="t">
        <tag ref="2"/> <tag type="snapshot" id="3" name="s"/>
        <tag type="event" id="4" name="e"/> <tag type="temporal" id="5" name="p:u"/>
      </tag>
      <tag type="snapshot" id="6" name="s">
        <tag type="temporal" id="7" name="t"/> <tag ref="6"/>
        <tag type="temporal" id="8" name="p:u"/>
      </tag>
      <tag type="temporal" id="9" name="d:t">
        <tag type="temporal" id="10" name="d:u"/> <tag type="temporal" id="11" name="u"/>
      </tag>
    </tag></stream:structure>"""
)

DOCUMENTS = [
    "<a/>",
    "<a></a >",
    "<a>\n  <t/>\n</a>",
    "<a>x<t>y</t>z<t/>&amp;&#233;<s><t>1</t ><t>2</t></s></a>",
    "<a><t><t><t/><s>x</s></t></t></a>",
    "<a><t>/></t><t a='/>'/><t a=\"'>\"></t><s>/></s></a>",
    "<a><t><![CDATA[<t>]]></t><!-- <t> --><?p <t/> ?><t><!--x--><?q?></t></a>",
    "<a><t>\r\n a\tb <e k='v'/> \u00e9\u4e2d\U0001f600 </t></a>",
    "<a xmlns:p='urn:p'><t><p:u p:k='v'/></t><s><p:u>p:x</p:u></s></a>",
    "<a xmlns:p='urn:p'><t k='p:name'/><t>&#112;:name</t><t/></a>",
    "<a xmlns:q='urn:no'><t xmlns:q='urn:p'><q:u/></t></a>",
    "<a><t xmlns='urn:d'>x<u/><u xmlns=''>y</u></t><d:t xmlns:d='urn:d'><d:u/><u/></d:t></a>",
]


def fragments_of(document: str | bytes, structure: TagStructure = TAGS) -> bytes:
    return run(document, structure)[0]


def run(document: str | bytes, structure: TagStructure = TAGS) -> tuple[bytes, Fragmented]:
    data = document.encode() if isinstance(document, str) else document
    output = io.BytesIO()
    result = fragment(read_document(io.BytesIO(data), "doc.xml"), structure, "2003-10-01", output)
    assert result.bytes_written == len(output.getvalue())
    return output.getvalue(), result


@pytest.mark.parametrize("document", DOCUMENTS)
def test_nothing_is_lost(document: str) -> None:
    assert rebuilt([fragments_of(document)], TAGS, AT) == canonical_text(document)


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_the_size_of_the_chunks_makes_no_difference(document: str, size: int) -> None:
    data = document.encode()
    chunks = (data[i : i + size] for i in range(0, len(data), size))
    output = io.BytesIO()
    fragment(Document("doc.xml", chunks), TAGS, "2003-10-01", output)
    assert output.getvalue() == fragments_of(document)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_long_fillers_wait_in_files(document: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragmenter, "_MAX_BYTES", 0)
    monkeypatch.setattr(fragmenter, "_MAX_PARTS", 0)
    monkeypatch.setattr(fragmenter, "_HEAD", 8)
    data = document.encode()
    output = io.BytesIO()
    chunks = (data[i : i + 5] for i in range(0, len(data), 5))
    result = fragment(Document("doc.xml", chunks), TAGS, "2003-10-01", output)
    assert rebuilt([output.getvalue()], TAGS, AT) == canonical_text(document)
    assert result.bytes_written == len(output.getvalue())


def test_ids_follow_document_order_and_the_root_is_0() -> None:
    batch = read_all(fragments_of("<a><t><e/></t><s><t/></s></a>"), TAGS)
    found = {f.id: (f.tsid, f.content) for f in batch.fragments}
    assert found == {
        "0": ("1", b'<a><hole id="1" tsid="2"/><s><hole id="3" tsid="7"/></s></a>'),
        "1": ("2", b'<t><hole id="2" tsid="4"/></t>'),
        "2": ("4", b"<e/>"),
        "3": ("7", b"<t/>"),
    }
    assert {f.valid_time for f in batch.fragments} == {datetime(2003, 10, 1)}


def test_only_namespaces_that_may_be_needed_are_declared_again() -> None:
    out = fragments_of("<a xmlns:p='urn:p' xmlns:q='q'><t>x</t><t k='p:x'/><s><p:u/></s></a>")
    assert b"<t>x</t>" in out
    assert b"<t xmlns:p=\"urn:p\" k='p:x'/>" in out
    assert b'<p:u xmlns:p="urn:p"/>' in out


def test_a_hole_is_in_no_namespace() -> None:
    out = fragments_of("<a><d:t xmlns:d='urn:d' xmlns='urn:d'><u/></d:t></a>")
    assert b'<hole id="2" tsid="10" xmlns=""/>' in out


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1", "windows-1252", "cp037"])
def test_encodings(encoding: str) -> None:
    name = "utf-8" if encoding == "utf-8-sig" else encoding
    document = f"<?xml version='1.0' encoding='{name}'?><a>é<t>ü &#x20ac;</t></a>"
    data = document.encode(encoding)
    if encoding == "cp037":
        with pytest.raises(XcqlError) as problem:
            fragments_of(data)
        assert problem.value.code == "FODC0006"
        return
    assert rebuilt([fragments_of(data)], TAGS, AT) == canonical_text("<a>é<t>ü €</t></a>")


def test_compressed_documents() -> None:
    document = b"<a><t>x</t></a>"
    assert fragments_of(gzip.compress(document)) == fragments_of(document)
    assert fragments_of(lzma.compress(document)) == fragments_of(document)
    with pytest.raises(XcqlError) as problem:
        fragments_of(gzip.compress(document)[:-9])
    assert problem.value.code == "FODC0002"


def test_what_the_own_dtd_says_is_applied() -> None:
    document = """<!DOCTYPE a SYSTEM "a.dtd" [
      <!-- a comment --> <!ENTITY who "J &amp; K"> <!ENTITY more "<t>&who;</t>">
      <!ATTLIST t k CDATA "v" l NMTOKENS #IMPLIED> ]>
    <a>&who;<t l="  x  y " m="&who;&#10;"/>&more;<!-- c --><t><![CDATA[&who;]]>&#13;</t></a>"""
    out, result = run(document)
    expected = (
        "<a>J &amp; K<t k='v' l='x y' m='J &amp; K&#10;'/><t k='v'>J &amp; K</t><!-- c -->"
        "<t k='v'>&amp;who;&#13;</t></a>"
    )
    assert rebuilt([out], TAGS, AT) == canonical_text(expected)
    assert [w.code for w in result.warnings] == ["XCQL0253"]
    assert "'a.dtd', which is not read" in result.warnings[0].message


@pytest.mark.parametrize(
    ("document", "code", "text"),
    [
        ("<a><t>\n<x/></t></a>", "XCQL0251", "does not declare x in t"),
        ("<b/>", "XCQL0251", "the root element is b; the tag structure is for a"),
        ("<a xmlns='urn:x'/>", "XCQL0251", "the root element is Q{urn:x}a"),
        ("<a><t></a>", "FODC0006", "mismatched tag"),
        ("<a>", "FODC0006", "no element found"),
        ("", "FODC0006", "no element found"),
        ("<a>&x;</a>", "FODC0006", "undefined entity"),
        ("<!DOCTYPE a SYSTEM 'x'><a>&x;</a>", "FODC0006", "undefined entity"),
        ("<!DOCTYPE a SYSTEM 'x'><a k='&x;'/>", "FODC0006", "undefined entity"),
        ("<!DOCTYPE a [<!ENTITY % p SYSTEM 'x'> %p;]><a k='&x;'/>", "FODC0006", "undefined entity"),
        (
            "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>",
            "XCQL0253",
            "external",
        ),
        ("<a>\x01</a>", "FODC0006", "invalid token"),
        (b"<a>\xff</a>", "FODC0006", "invalid token"),
    ],
)
def test_refused(document: str | bytes, code: str, text: str) -> None:
    with pytest.raises(XcqlError) as problem:
        fragments_of(document)
    assert problem.value.code == code
    assert text in problem.value.message


def test_an_entity_bomb_is_refused() -> None:
    levels = "".join(
        f"<!ENTITY e{i} '{f'&e{i - 1};' * 10 if i else 'boom' * 10}'>" for i in range(10)
    )
    with pytest.raises(XcqlError) as problem:
        fragments_of(f"<!DOCTYPE a [{levels}]><a>&e9;</a>")
    assert problem.value.code == "FODC0006"


def test_the_place_of_an_undeclared_element() -> None:
    with pytest.raises(XcqlError) as problem:
        fragments_of("<a>\n" + "<t>x</t>\n" * 70_000 + " <t><s/><S k='1'>y</S></t></a>")
    assert str(problem.value) == (
        "error[XCQL0251]: the tag structure does not declare S in t\n"
        "     --> doc.xml:70002:9\n"
        "      |\n"
        "70002 |  <t><s/><S k='1'>y</S></t></a>\n"
        "      |         ^^^^^^^^^\n"
        "help: 'xcqlc infer-tags' makes a tag structure that fits a document"
    )


def test_the_place_in_a_very_long_line() -> None:
    with pytest.raises(XcqlError) as problem:
        fragments_of("<a>" + "<t>x</t>" * 70_000 + "<x/></a>")
    assert (problem.value.line, problem.value.column) == (1, 560_004)
    assert len(str(problem.value)) < 600


def test_what_stands_outside_the_root_is_told() -> None:
    _, result = run("<!--1--><?x?><a><!--in--></a><!--2-->")
    assert [w.code for w in result.warnings] == ["XCQL0256"]
    assert result.warnings[0].message.startswith("3 comments or processing instructions")


def test_lifespans_in_the_data_are_told() -> None:
    _, result = run("<a vtFromX='1'><t vtFrom='2003'/></a>")
    assert [w.code for w in result.warnings] == ["XCQL0257"]


def test_elements_that_would_be_holes_are_refused() -> None:
    tags = parse_tags(
        '<structure><tag type="snapshot" id="1" name="a">'
        '<tag type="snapshot" id="2" name="hole"/></tag></structure>'
    )
    with pytest.raises(XcqlError) as problem:
        fragments_of("<a/>", tags)
    assert problem.value.code == "XCQL0252"
    tags = parse_tags(
        '<structure xmlns:g="golf"><tag type="snapshot" id="1" name="a">'
        '<tag type="snapshot" id="2" name="g:hole"/></tag></structure>'
    )
    out = fragments_of("<a><g:hole xmlns:g='golf'/></a>", tags)
    assert b"<a><g:hole xmlns:g='golf'/></a>" in out
    with pytest.raises(XcqlError) as problem:
        fragments_of("<a><stream:hole xmlns:stream='golf'/></a>", tags)
    assert problem.value.code == "XCQL0252"


def test_a_root_that_recurs_is_cut_only_once() -> None:
    tags = parse_tags(
        '<structure><tag type="snapshot" id="1" name="a"><tag ref="1"/></tag></structure>'
    )
    assert b"<a><a><a/></a></a>" in fragments_of("<a><a><a/></a></a>", tags)


def test_memory_does_not_grow_with_the_document() -> None:
    import tracemalloc

    def peak(count: int) -> int:
        item = b"<t>" + b"x" * 1000 + b"</t>"
        chunks = iter([b"<a>", *[item * 200] * count, b"</a>"])
        tracemalloc.start()
        try:
            with open("/dev/null", "wb") as nowhere:
                fragment(Document("doc.xml", chunks), TAGS, "2003-10-01", nowhere)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    assert peak(300) < 3 * peak(30) + 2_000_000


@pytest.mark.skipif(not XMARK.exists(), reason="the XMark documents are not there")
def test_xmark_round_trip() -> None:
    with open(XMARK / "auction-0.01.xml.gz", "rb") as file:
        tree = infer_from_document(read_document(file, "auction"))
    paths = ["//item", "//person", "//open_auction", "//bidder", "//parlist", "//listitem"]
    tags = tag_structure(tree, temporal=paths, event=["//mail"])
    data = (XMARK / "auction-0.01.xml.gz").read_bytes()
    out, result = run(data, tags)
    assert result.fillers > 2000
    assert rebuilt([out], tags, AT) == canonical_text(gzip.decompress(data))


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Documents of the tag structure above, with all features of XML."""
    text = st.sampled_from(["", "x", " ", "\n", "&lt;", "&#x70;:a", "]]&gt;", "/>", "é", "p:q"])
    aside = st.sampled_from(["", "", "", "<!--<t>-->", "<?t <t>?>", "<![CDATA[<t/>]]>"])
    attribute = st.sampled_from(["", " k='v'", ' k="p:v>"', " xmlns:q='urn:q'", " xmlns:p='urn:p'"])
    inside = {"a": "ts", "t": "tsep", "s": "ts", "e": "", "p": ""}

    def element(name: str, depth: int, in_s: bool) -> str:
        # a t inside s is empty
        below = "" if depth == 0 or (in_s and name == "t") else inside[name]
        if name == "s" and not in_s and depth < 3:
            below = below if depth == 2 else ""
        content = [draw(text), draw(aside)]
        for child in draw(st.lists(st.sampled_from(below), max_size=3)) if below else []:
            content += [element(child, depth - 1, name == "s"), draw(text), draw(aside)]
        written = "p:u" if name == "p" else name
        extra = draw(attribute)
        if name == "p":
            extra = " xmlns:p='urn:p'"
        body = "".join(content)
        if not body and draw(st.booleans()):
            return f"<{written}{extra} />"
        return f"<{written}{extra}>{body}</{written}>"

    return element("a", 3, False)


@settings(max_examples=150, deadline=None)
@given(documents(), st.integers(1, 50))
def test_any_document_in_any_chunks(document: str, size: int) -> None:
    with open("/dev/null", "wb") as nowhere:
        try:
            fragment(Document("d", iter([document.encode()])), TAGS, "2003-10-01", nowhere)
        except XcqlError as problem:
            assert problem.code == "XCQL0251"  # noqa: PT017 - s in t has no content
            return
    data = document.encode()
    output = io.BytesIO()
    chunks = (data[i : i + size] for i in range(0, len(data), size))
    fragment(Document("d", chunks), TAGS, "2003-10-01", output)
    assert rebuilt([output.getvalue()], TAGS, AT) == canonical_text(document)
