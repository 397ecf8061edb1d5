"""Reading fillers in bulk gives exactly the same as reading them one by one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.shred.test_shredder import ROOT, TAGS
from xcql.shred.plain import read_in_bulk
from xcql.shred.shape import Slot, walk, widen
from xcql.shred.staging import StagedChunk, plan_chunks, plan_exact_chunks, stage_chunk
from xcql.shred.tables import WRITE_PLAN, RowSource, read_staged, table_rows, write_table
from xcql.shred.tokens import elements_of, is_well_formed, tokenize

EXAMPLES = 2000 if os.environ.get("XCQL_TEST_FULL") else 100
TIME = ' validTime="2003-01-01"'
STARTS = st.sampled_from(
    [
        *[f'<filler id="7" tsid="1"{TIME}>'] * 6,
        '<filler id="8" tsid="1">',
        '<repeat tsid="1" id="9" validTime="start">',
        '<stream:replace  id="é"\n tsid="1" >\n',
        '<filler id=" 7" tsid="1">',
        "<filler id='7' tsid=\"1\">",
        '<filler id="" tsid="1">',
        '<filler id="7" tsid="77">',
        '<filler id="7" tsid="7">',
        '<filler id="0" tsid="2">',
        '<filler id="a&amp;b" tsid="1">',
        '<filler id="7" tsid="1" validTime="nonsense">',
        '<filler id="7" tsid="1" x="1">',
        '<filler id="7" tsid="1" xmlns:p="urn:q">',
        '<filler id="7" tsid="1">x',
        "<filler>",
    ]
)
MORE = st.sampled_from(
    [
        *["<r/>", '<r x="1"><a><b>1</b></a><a y="&lt;&#x9;\t"/></r>'] * 3,
        "<r>\r\n<a>\r\n</a> </r>",
        "<r><a>\r\n&#13;<b>]]&gt;</b>></a></r>",
        '<r x=">"/>',
        "<r x='\"'/>",
        "<r  x = \"1\"  y='>' ></r >",
        "<r><p:c xmlns:p='urn:p'/></r>",
        '<r><p:c q:x="1"/></r>',
        "<r><t/></r>",
        "<r><x/></r>",
        "<r/><r/>",
        "<a/>",
        "<r>&#32;<a/>&#x20;</r>",
        '<r><hole id="&#x20;1"/></r>',
        '<r><hole id="1&#x9;2" tsid="3"/><a><hole id="é"></hole></a></r>',
        '<r><hole/><hole id="1"> </hole></r>',
        '<r><hole id="1"><a/></hole></r>',
        '<r><stream:hole id="1"/></r>',
        "<r><a><b>x<hole id='1'/>y</b></a></r>",
        '<r><a><b>x<hole id="1"/>y</b></a></r>',
        "<r><list>x<item><list><item/></list></item>y</list></r>",
        "<r><list><item><x/></item></list></r>",
        "<r><a><filler id='1'/></a></r>",
        "",
    ]
)
FILLER = st.builds(
    lambda start, body: f"{start}{body}</{start[1:].split()[0].rstrip('>')}>",
    STARTS,
    st.one_of(ROOT, MORE, MORE),
)
BETWEEN = st.sampled_from(["", "\n", " \r\n", "<!-- <filler> -->", "<?p <filler?>"])
OTHERS = st.sampled_from(
    ['<remove id="7"/>', f'<remove id="7"{TIME}/>', "<remove/>", '<stream:remove id="1" tsid="1"/>']
)
STRAY = st.sampled_from(
    ["x", "<eos/>", '<other><filler id="7" tsid="1"><r/></filler></other>', "<![CDATA[<filler>]]>"]
)
MALFORMED = st.sampled_from(
    ["<filler>", '<filler id="7" tsid="1"><r></filler>', "</filler>", "&e;", "<!--", "<![CDATA["]
)


def text(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pieces = st.lists(st.tuples(st.one_of(*parts), BETWEEN), min_size=1, max_size=8)
    return pieces.map(lambda found: "".join(one + gap for one, gap in found))


def staged(data: bytes, folder: Path, size: int) -> list[StagedChunk]:
    """The staged chunks of a file; some are planned again where that is needed."""
    path = folder / "f.xml"
    path.write_bytes(data)
    chunks, _ = plan_chunks(str(path), "f", 0, size)
    found = []
    while chunks:
        chunk = chunks.pop(0)
        result = stage_chunk(chunk, TAGS, folder / f"{size}-{len(found)}-{chunk.is_certain}")
        if result is None:
            chunks = plan_exact_chunks(chunk, size)
        else:
            found.append(result)
            if result.eos is not None:  # whatever follows is ignored
                break
    return found


def one_by_one(data: bytes, folder: Path) -> list[StagedChunk]:
    path = folder / "g.xml"
    path.write_bytes(data)
    chunks, _ = plan_chunks(str(path), "f", 0, len(data))
    with patch("xcql.shred.staging.read_in_bulk", lambda *_: None):
        assert len(chunks) == 1
        return [
            result
            for chunk in plan_exact_chunks(chunks[0], len(data))
            if (result := stage_chunk(chunk, TAGS, folder / "one"))
        ]


def tables_of(chunks: list[StagedChunk], folder: Path, shapes: dict[str, Slot]) -> Any:
    """The contents of all chunks, with elements laid out by the shapes."""
    eos = min((chunk.eos for chunk in chunks if chunk.eos is not None), default=1 << 40)
    sources: dict[str, list[RowSource]] = {}
    for chunk in chunks:
        for table in chunk.tables:
            sources.setdefault(table.tsid, []).append(table.source)
    rows = {}
    for tsid, those in sources.items():
        parts = [read_staged(source.rows) for source in those]
        numbers = [(n, row) for n, part in enumerate(parts) for row in range(part.num_rows)]
        path = folder / f"{tsid}.parquet"
        nothing = dict.fromkeys(
            ("seq", "number", "vtFrom", "vtTo", "since", "until", "places"), [None] * len(numbers)
        )
        columns = {"source": [n for n, _ in numbers], "row": [row for _, row in numbers], **nothing}
        plan = pa.table(columns, WRITE_PLAN)
        write_table(table_rows(TAGS, tsid, shapes[tsid], those, plan), path)
        offsets = [offset for part in parts for offset in part.column("offset").to_pylist()]
        written = pq.read_table(path).to_pylist()
        found = sorted(zip(offsets, written, strict=True), key=lambda one: one[0])
        rows[tsid] = [one for one in found if one[0] < eos]
    others = [
        sorted(
            (
                row
                for chunk in chunks
                for row in read_staged(getattr(chunk, kind)).to_pylist()
                if row["offset"] < eos
            ),
            key=repr,
        )
        for kind in ("removes", "rejected")
    ]
    return {tsid: those for tsid, those in rows.items() if those}, others


def shapes_of(chunks: list[StagedChunk]) -> dict[str, Slot]:
    shapes: dict[str, Slot] = {}
    for chunk in chunks:
        for table in chunk.tables:
            shapes[table.tsid] = widen(shapes.get(table.tsid), table.source.shape)
    return shapes


def flags(slot: Slot) -> Any:
    """The contents of a shape, except the order of columns and insignificant white space."""
    return {
        (
            one.tag,
            one.is_leaf,
            one.opaque,
            one.repeats,
            one.opaque or one.spaced,
            one.opaque or one.commented,
            one.indexed,
            frozenset(attribute.name for attribute in one.attributes),
        )
        for one in walk(slot)
    }


def check_alike(content: str, root: str, size: int) -> None:
    data = f"<{root}>{content}</{root.split()[0]}>".encode()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        expected, found = one_by_one(data, folder), staged(data, folder, size)
        shapes = shapes_of(expected)
        assert {tsid: flags(shape) for tsid, shape in shapes_of(found).items()} == {
            tsid: flags(shape) for tsid, shape in shapes.items()
        }
        # reading one by one may find ways that have no texts
        for tsid, shape in shapes_of(found).items():
            shapes[tsid] = widen(shapes[tsid], shape)
        assert tables_of(found, folder, shapes) == tables_of(expected, folder, shapes)


ROOTS = st.sampled_from(["f", 'f xmlns:p="urn:p" xmlns:q="urn:q"', 'f xmlns:stream="urn:s"'])


@settings(max_examples=EXAMPLES, deadline=None)
@given(text(FILLER, FILLER, FILLER, OTHERS), ROOTS, st.sampled_from([60, 1 << 20]))
@example('<filler id="7" tsid="1"><r>x<!-- y --></r></filler>', "f", 60)
def test_good_and_bad_fillers(content: str, root: str, size: int) -> None:
    check_alike(content, root, size)


@settings(max_examples=EXAMPLES, deadline=None)
@given(text(FILLER, FILLER, OTHERS, STRAY), ROOTS, st.sampled_from([60, 1 << 20]))
def test_with_other_things_between(content: str, root: str, size: int) -> None:
    check_alike(content, root, size)


@settings(max_examples=EXAMPLES, deadline=None)
@given(text(FILLER, FILLER, OTHERS, STRAY, MALFORMED), ROOTS, st.sampled_from([60, 1 << 20]))
def test_with_what_is_not_well_formed(content: str, root: str, size: int) -> None:
    check_alike(content, root, size)


def test_what_is_common_is_read_at_once() -> None:
    """Otherwise the tests above would pass without testing the bulk reader."""
    content = b"""<filler id="1" tsid="1" validTime="2003-01-01T00:00:00"><r x="1">
      <a y="&lt;"><b>x &amp; y</b></a><a/><hole id="2"/><list>a <item>b</item> c</list></r></filler>
      <!-- between -->
      <filler id="2" tsid="7" validTime="2003-01-01"><t/></filler>"""
    assert is_well_formed(content, ())
    plain = read_in_bulk(content, TAGS)
    assert plain is not None
    assert not plain.needs_slow_path.any()


INNER_TEXTS = st.sampled_from(["", "x", " ", "&amp;", "<!-- c -->", "<![CDATA[>]]>"])
INNER_ITEM = st.deferred(lambda: inside("item", st.one_of(INNER_TEXTS, INNER_LIST)))
INNER_LIST = st.deferred(lambda: inside("list", st.one_of(INNER_TEXTS, INNER_ITEM)))


def inside(name: str, parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(parts, max_size=4)
    return several.map(lambda found: f"<{name}>{''.join(found)}</{name}>")


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(INNER_LIST, min_size=1, max_size=4), st.sampled_from([60, 1 << 20]))
@example(["<list>" + "<item><list>" * 7 + "x" + "</list></item>" * 7 + "</list>", "<list/>"], 60)
def test_recursive_and_mixed_content(parts: list[str], size: int) -> None:
    fillers = [f'<filler id="{n}" tsid="1"><r>{one}</r></filler>' for n, one in enumerate(parts)]
    check_alike("".join(fillers), "f", size)


@pytest.mark.parametrize(
    "content", ["x<![CDATA[&e;]]>", "<!-- &e; -->", "<![CDATA[&#x110000;]]>", "<?p &#xD800;?>"]
)
def test_what_is_no_reference(content: str) -> None:
    check_alike(f'<filler id="1" tsid="1"><r>{content}</r></filler>', "f", 1 << 20)


@pytest.mark.parametrize("depth", [2, 150, 5000])
def test_deep_nesting(depth: int) -> None:
    content = "<list><item>" * depth + "x" + "</item></list>" * depth
    check_alike(f'<filler id="1" tsid="1"><r>{content}</r></filler>', "f", 1 << 20)


def test_tokens() -> None:
    tokens = tokenize(b"""<a x="1" y = "&#x41;\n"><!-- > " <b> --><b z='>"'/>&gt;&#9;\r\n>"</a>""")
    assert tokens is not None
    names = [tokens.name_list[name] for name in tokens.names]
    assert list(zip(names, tokens.kinds.tolist(), strict=True)) == [("a", 1), ("b", 0), ("a", -1)]
    assert [tokens.attribute_list[name] for name in tokens.attribute_names] == ["x", "y"]
    assert tokens.attribute_values.to_pylist() == [b"1", b"A "]
    assert tokens.texts.to_pylist()[1:] == [b'>\t\n>"', b""]
    assert len(tokens.skipped) == 2
    elements = elements_of(tokens)
    assert elements is not None
    assert elements.parents.tolist() == [-1, 0]
    assert elements.last_tags.tolist() == [2, 1]
    assert elements.owners.tolist() == [0, 0, -1]
