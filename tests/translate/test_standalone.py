"""Self-contained modules, and the clean copies of files that no processor could read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.translate import saxon
from xcql.diagnostics import XcqlError
from xcql.model.tags import parse_tags
from xcql.translate import translate
from xcql.translate.standalone import standalone

NOW = "2004-01-01T00:00:00"
TAGS = """
<structure>
  <tag type="snapshot" id="1" name="list">
    <tag type="temporal" id="2" name="item"><tag type="snapshot" id="3" name="name"/></tag>
    <tag type="snapshot" id="4" name="box"><tag type="temporal" id="5" name="item"/></tag>
  </tag>
</structure>
"""
QUERIES = [
    'stream("s")',
    'stream("s")//item',
    'stream("s")/list/item/name',
    'stream("s")//box/item',
]
ROOT = '<filler id="0" tsid="1"><list><hole id="7"/><hole id="8"/></list></filler>'
ITEM = '<filler id="7" tsid="2" validTime="2003-1-2"><item><name>a</name></item></filler>'


def _copies(text: str | bytes, tmp_path: Path, name: str = "fragments.xml") -> tuple[str, ...]:
    """Check the answers over a file, and return why it was copied, if it was."""
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    for query in QUERIES:
        saxon.agree(query, {"s": (file, TAGS)}, NOW, tmp_path)
    tags = {"s": parse_tags(TAGS)}
    module = standalone(translate(QUERIES[0], tags), {"s": file}, tags, NOW, tmp_path)
    return tuple(copy.reason for copy in module.copies)


def test_a_good_file_is_read_as_it_is(tmp_path: Path) -> None:
    assert _copies(f"<fragments>{ROOT}{ITEM}</fragments>", tmp_path) == ()


def test_no_root(tmp_path: Path) -> None:
    assert "well-formed" in _copies(ROOT + ITEM, tmp_path)[0]


def test_undeclared_prefix(tmp_path: Path) -> None:
    text = f"<x>{ROOT}{ITEM}</x>".replace("<filler", "<stream:filler")
    text = text.replace("</filler", "</stream:filler").replace("<hole", "<stream:hole")
    assert "well-formed" in _copies(text, tmp_path)[0]


def test_declared_prefix(tmp_path: Path) -> None:
    text = f'<x xmlns:stream="urn:s" xmlns:p="urn:p">{ROOT}{ITEM}</x>'
    text = text.replace("<hole", "<stream:hole")
    assert "namespaces" in _copies(text, tmp_path)[0]


def test_rejected_fragments(tmp_path: Path) -> None:
    bad = '<filler id="9" tsid="99"><x/></filler><filler id="7" tsid="5"><item/></filler>'
    assert "do not belong" in _copies(f"<fragments>{ROOT}{ITEM}{bad}</fragments>", tmp_path)[0]


def test_a_hole_in_the_wrong_place(tmp_path: Path) -> None:
    wrong = '<filler id="8" tsid="5"><item>not here</item></filler>'
    assert "not declared" in _copies(f"<fragments>{ROOT}{ITEM}{wrong}</fragments>", tmp_path)[0]


def test_a_hole_where_nothing_can_come(tmp_path: Path) -> None:
    item = ITEM.replace(">a<", '>a<hole id="none"/>b<')
    assert "no filler can be" in _copies(f"<fragments>{ROOT}{item}</fragments>", tmp_path)[0]


def test_a_snapshot_in_a_filler_of_its_own(tmp_path: Path) -> None:
    box = (
        '<filler id="8" tsid="4"><box><hole id="10"/></box></filler>'
        '<filler id="10" tsid="5" validTime="2003-01-01"><item>x</item></filler>'
    )
    assert "snapshot" in _copies(f"<fragments>{ROOT}{ITEM}{box}</fragments>", tmp_path)[0]


def test_what_comes_after_the_end(tmp_path: Path) -> None:
    late = '<eos/><filler id="8" tsid="2"><item>late</item></filler>'
    _copies(f"<fragments>{ROOT}{ITEM}{late}</fragments>", tmp_path)


def test_entities_and_references_are_not_fetched(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    doctype = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    text = f"{doctype}<x>{ROOT}{ITEM.replace('>a<', '>&e;<')}</x>"
    file = tmp_path / "f.xml"
    file.write_text(text)
    for strategy in ("caq", "qac", "qac+"):
        module = saxon.translated('stream("s")', {"s": (file, TAGS)}, NOW, strategy, tmp_path)
        assert "secret" not in "".join(saxon.run(module))


def test_several_files(tmp_path: Path) -> None:
    files = []
    for number, text in enumerate([ROOT, ITEM]):
        files.append(tmp_path / f"{number}.xml")
        files[-1].write_text(f"<fragments>{text}</fragments>")
    tags = {"s": parse_tags(TAGS)}
    module = standalone(translate(QUERIES[1], tags), {"s": files}, tags, NOW, tmp_path)
    assert [copy.reason for copy in module.copies] == ["there are several files"]
    assert len(saxon.run(module.text)) == 1


def test_namespaces_of_data(tmp_path: Path) -> None:
    tags = """<structure xmlns:p="urn:p"><tag type="snapshot" id="1" name="p:a">
      <tag type="temporal" id="2" name="p:b"/><tag type="snapshot" id="3" name="c"/>
      </tag></structure>"""
    text = """<fragments>
      <filler id="0" tsid="1"><q:a xmlns:q="urn:p"><hole id="1"/><c>1</c></q:a></filler>
      <filler id="1" tsid="2" validTime="2003-01-01"><b xmlns="urn:p">x</b></filler>
    </fragments>"""
    file = tmp_path / "f.xml"
    file.write_text(text)
    head = 'declare namespace z = "urn:p"; '
    default = 'declare default element namespace "urn:p"; '
    for query in (
        'stream("s")',
        head + 'stream("s")//z:b',
        head + 'stream("s")/z:a/z:b/text()',
        default + 'stream("s")/a/b',
        default + 'stream("s")//b/string()',
        'stream("s")/*:a/c',
        default + '<x>{ stream("s")/a/b }</x>',
        '<x xmlns="urn:p">{ stream("s")/a/b }</x>',
    ):
        saxon.agree(query, {"s": (file, tags)}, NOW, tmp_path)


def test_a_prolog_of_the_query(tmp_path: Path) -> None:
    file = tmp_path / "f.xml"
    file.write_text(f"<fragments>{ROOT}{ITEM}</fragments>")
    query = """declare boundary-space preserve;
        declare namespace map = "http://www.w3.org/2005/xpath-functions/map";
        declare default function namespace "http://www.w3.org/2005/xquery-local-functions";
        declare variable $s := 5;
        declare function f($x) { fn:count($x) + $s };
        f(fn:stream("s")//item), map:size(map { 1 : 2 })"""
    assert saxon.agree(query, {"s": (file, TAGS)}, NOW, tmp_path) == ["6", "1"]


def test_fragments_must_be_given(tmp_path: Path) -> None:
    tags = {"s": parse_tags(TAGS)}
    with pytest.raises(XcqlError) as problem:
        standalone(translate(QUERIES[0], tags), {}, tags, NOW, tmp_path)
    assert problem.value.code == "XCQL0404"
