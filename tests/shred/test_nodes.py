"""The table of nodes has exactly the nodes of the trees, however elements are written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shred.test_shredder import TAGS as SMALL
from xcql.model.fragments import Namespaces
from xcql.model.tags import STREAM_NAMESPACE, Tag, parse_tags
from xcql.shred.namespaces import context, declarations, namespaces_of
from xcql.shred.node_paths import KINDS, MAX_EXACT, MAX_TAGS, attribute_step, tag_step
from xcql.shred.nodes import NODES, NodeTable, nodes_of, write_nodes
from xcql.shred.normal import element_text
from xcql.xdm.nodes import (
    AttributeNode,
    CommentNode,
    ElementNode,
    Node,
    ProcessingInstructionNode,
    TextNode,
)
from xcql.xdm.parse import parse_element
from xcql.xdm.serialize import canonical, escape_attribute, escape_text

EXAMPLES = 2000 if os.environ.get("XCQL_TEST_FULL") else 150

TAGS = parse_tags("""<structure xmlns:p="urn:p" xmlns:d="urn:d/e">
  <tag type="snapshot" id="1" name="r">
    <tag type="snapshot" id="x/y" name="a">
      <tag type="snapshot" id="*" name="b"/>
      <tag ref="x/y"/>
    </tag>
    <tag type="snapshot" id="4" name="p:c"><tag type="snapshot" id="@é" name="ü-1.2"/></tag>
    <tag type="snapshot" id="5" name="list">
      <tag type="snapshot" id="6" name="item"><tag ref="5"/></tag>
    </tag>
    <tag type="snapshot" id="7" name="d:r"/>
    <tag type="temporal" id="8" name="t"/>
  </tag>
</structure>""")
ROWS = st.lists(st.tuples(st.deferred(lambda: ELEMENT), st.sampled_from(range(3))), min_size=1)
AROUND: list[Namespaces] = [
    (("stream", STREAM_NAMESPACE),),
    (("p", "urn:p"), ("q", "urn:q"), ("stream", STREAM_NAMESPACE)),
    (("d", "urn:d/e"), ("p", "urn:p"), ("r", "urn:p"), ("stream", "urn:other")),
]

# content, as it may arrive; the prefixes p and d are declared where they are used
PIECES = st.sampled_from(
    [
        *["x", " ", "\n  ", "zwei ü", "&lt;&amp;&gt;", "&#x41;&#13;", ">", "]] >", "'\"", "\r\n"],
        *["<![CDATA[<a>&amp;]]>", "<![CDATA[]]>", "x<![CDATA[y]]>z", "\x7f\u2028"],
        *["<!---->", "<!-- <a> & -->", "<?p?>", "<?p q > r?>", "<?xml-x <b/>  ?>"],
        *[
            '<hole id="1"/>',
            "<hole id=' 2 ' tsid='8' ></hole>",
            '<stream:hole id="3"> </stream:hole>',
        ],
        *['<hole id="4"><!-- x --></hole>', "<hole id='é' x='>'/>"],
    ]
)
ATTRIBUTES = st.lists(
    st.sampled_from(
        [
            *[' x="1"', " y = 'it&apos;s'", ' z="a>b"', " w='\"'", '\n n="\t&#9;é "', ' e=""'],
            *[' xml:lang="en"', ' xml:id=" i  j "', ' P:x="2"', " ü.-1='&lt;'", ' stream:s=""'],
        ]
    ),
    max_size=3,
    unique_by=lambda one: one.partition("=")[0].strip(),
)
P, D = " xmlns:P='urn:p'", ' xmlns="urn:d/e"'


@st.composite
def content(draw: st.DrawFn, name: str, depth: int) -> str:
    children = {
        "r": ["a", "P:c", "list", "d"],
        "a": ["b", "a"],
        "P:c": ["ü-1.2"],
        "list": ["item"],
        "item": ["list"],
    }.get(name, [])
    parts = []
    for _ in range(draw(st.integers(0, 3))):
        child = draw(st.sampled_from([*children, ""] if depth else [""]))
        if child == "d":
            parts.append(
                f"<r{D}>{draw(PIECES)}</r>".replace("<hole", "<stream:hole").replace(
                    "</hole", "</stream:hole"
                )
            )
        else:
            parts.append(draw(element(child, depth - 1)) if child else draw(PIECES))
    return "".join(parts)


@st.composite
def element(draw: st.DrawFn, name: str = "r", depth: int = 4) -> str:
    attributes = "".join(draw(ATTRIBUTES))
    if name in ("r", "P:c") or "P:" in attributes:
        attributes += P
    inner = draw(content(name, depth))
    if not inner:
        return draw(st.sampled_from([f"<{name}{attributes}/>", f"<{name}{attributes} ></{name}>"]))
    return f"<{name}{attributes}>{inner}</{name}>"


ELEMENT = element()


def rows_of(
    written: Sequence[tuple[str, int]], *, is_normal: bool = True, is_default_used: bool = True
) -> pa.Table:
    """Elements as rows of the table of their tag, in any order of their seqs."""
    raw, declared = [], []
    for text, number in written:
        content = text.encode()
        declared.append(declarations(AROUND[number], content, is_default_used))
        raw.append(
            element_text(content, namespaces_of(declared[-1]), context(declared[-1])[0])
            if is_normal
            else content
        )
    seqs = [(number * 7) % 101 + (1 << 40) for number in range(len(raw))]
    return pa.table({"raw": raw, "namespaces": declared, "seq": seqs})


def by_definition(rows: pa.Table, tag: Tag) -> Iterator[tuple[int, int, Node, dict[str, Any]]]:
    """All nodes, row by row in document order: the row's seq, the parent's number, and the rest."""
    for row in sorted(rows.to_pylist(), key=lambda row: row["seq"]):
        namespaces = {"stream": STREAM_NAMESPACE, **namespaces_of(row["namespaces"])}
        top = parse_element(row["raw"], namespaces)
        found: list[tuple[int, int, Node, dict[str, Any]]] = []

        def add(
            parent: int,
            node: Node,
            path: str,
            level: int,
            value: str | None,
            row: Any = row,
            found: Any = found,
        ) -> None:
            about = {"path": path, "level": level, "value": value}
            found.append((row["seq"], parent, node, about))

        def walk(
            node: ElementNode,
            tag: Tag,
            parent: int,
            path: str,
            level: int,
            found: Any = found,
            add: Any = add,
        ) -> None:
            number = len(found)
            is_text = all(isinstance(child, TextNode) for child in node.children)
            add(parent, node, path, level, node.string_value() if is_text else None)
            for one in node.attributes:
                name = one.name.clark if one.name.uri else one.name.local
                add(number, one, f"{path}/{attribute_step(name)}", level + 1, one.value)
            for child in node.children:
                if isinstance(child, TextNode):
                    add(number, child, f"{path}/text()", level + 1, child.value)
                elif isinstance(child, CommentNode):
                    add(number, child, f"{path}/comment()", level + 1, child.value)
                elif isinstance(child, ProcessingInstructionNode):
                    value = f"{child.target} {child.value}" if child.value else child.target
                    add(number, child, f"{path}/processing-instruction()", level + 1, value)
                elif isinstance(child, ElementNode) and is_hole(child):
                    id = next(one.value for one in child.attributes if one.name.local == "id")
                    add(number, child, f"{path}/hole()", level + 1, id.strip())
                elif isinstance(child, ElementNode):
                    below = TAGS.child(tag, child.name.uri, child.name.local)
                    assert below is not None
                    walk(child, below, number, f"{path}/{tag_step(below.id)}", level + 1)

        walk(top, tag, -1, tag_step(tag.id), 0)
        yield from found


def is_hole(node: ElementNode) -> bool:
    return node.name.local == "hole" and (node.name.prefix == "stream" or not node.name.uri)


def vague(path: str, exact: set[str]) -> str:
    """The path itself, or its vague form."""
    if path in exact:
        return path
    steps = path.split("/", path.split("/@")[0].count("/") + 1)
    is_element = not steps[-1].endswith("()") and not steps[-1].startswith("@")
    return "*/" + "/".join(steps[-1:] if is_element else steps[-2:])


def exact_paths(nodes: Sequence[tuple[int, int, Node, dict[str, Any]]], limits: Any) -> set[str]:
    found = {(about["level"], about["path"]) for _, _, _, about in nodes}
    few = sorted(
        (level, path)
        for level, path in found
        if level + (is_element_path(path)) <= limits["xcql.shred.nodes.MAX_TAGS"]
    )
    return {path for _, path in few[: limits["xcql.shred.nodes.MAX_EXACT"]]}


def is_element_path(path: str) -> bool:
    return "@" not in path and not path.endswith("()")


def in_document_order(nodes: NodeTable) -> list[dict[str, Any]]:
    table = nodes.table.cast(NODES)
    keys = ("kind", "name", "path", "seq", "start")
    assert table.equals(table.sort_by([(name, "ascending") for name in keys]))
    return sorted(table.to_pylist(), key=lambda row: (row["seq"], row["start"]))


def check(rows: pa.Table, limits: dict[str, Any], *, is_normal: bool = True) -> None:
    nodes = nodes_of(TAGS, "1", rows)
    assert nodes is not None
    found, expected = in_document_order(nodes), list(by_definition(rows, TAGS.root))
    exact = exact_paths(expected, limits)
    assert len(found) == len(expected)
    raw = dict(zip(rows["seq"].to_pylist(), rows["raw"].to_pylist(), strict=True))
    starts: dict[int, list[int]] = {}
    complete: dict[str, bool] = {}
    for row, (seq, parent, node, about) in zip(found, expected, strict=True):
        mine = starts.setdefault(seq, [])
        path = vague(about["path"], exact)
        assert row["seq"] == seq
        assert (row["path"], row["level"], row["value"]) == (path, about["level"], about["value"])
        assert row["parent"] == (mine[parent] if parent >= 0 else -1)
        assert (row["kind"], row["name"]) == kind_and_name(node)
        mine.append(row["start"])
        complete[path] = complete.get(path, True) and about["value"] is not None
        check_bytes(raw[seq][row["start"] : row["start"] + row["length"]], node, row, is_normal)
    assert nodes.paths == complete


def kind_and_name(node: Node) -> tuple[int, str]:
    if isinstance(node, ElementNode) and is_hole(node):
        return KINDS["hole"], ""
    if isinstance(node, ElementNode | AttributeNode):
        kind = KINDS["element" if isinstance(node, ElementNode) else "attribute"]
        return kind, node.name.clark if node.name.uri else node.name.local
    if isinstance(node, TextNode):
        return KINDS["text"], ""
    return KINDS["comment" if isinstance(node, CommentNode) else "processing-instruction"], ""


def check_bytes(data: bytes, node: Node, row: dict[str, Any], is_normal: bool) -> None:
    if isinstance(node, ElementNode):
        namespaces = {**node.namespaces(), "stream": STREAM_NAMESPACE}
        assert canonical(parse_element(data, namespaces)) == canonical(node)
    elif isinstance(node, CommentNode):
        assert data == f"<!--{node.value}-->".encode()
    elif isinstance(node, ProcessingInstructionNode):
        assert data.startswith(f"<?{node.target}".encode())
        assert data.endswith(f"{node.value}?>".encode())
    elif isinstance(node, TextNode):
        assert data == escape_text(node.value).encode() or not is_normal
    else:
        assert data[-1:] in (b'"', b"'")
        assert data == f'{node.name}="{escape_attribute(row["value"])}"'.encode() or not is_normal


LIMITS = st.fixed_dictionaries(
    {
        "xcql.shred.nodes._CHUNK": st.sampled_from([1, 64, 4 << 20]),
        "xcql.shred.nodes._MAX_SCOPES": st.sampled_from([1, 16]),
        "xcql.shred.nodes._MAX_BITS": st.sampled_from([1, 1 << 22]),
        "xcql.shred.nodes.MAX_EXACT": st.sampled_from([1, 7, MAX_EXACT, MAX_EXACT]),
        "xcql.shred.nodes.MAX_TAGS": st.sampled_from([1, 3, MAX_TAGS, MAX_TAGS]),
    }
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(ROWS, LIMITS)
def test_nodes_are_those_of_the_trees(written: Any, limits: dict[str, Any]) -> None:
    with patched(limits):
        check(rows_of(written), limits)
        # as earlier versions stored them
        check(rows_of(written, is_normal=False), limits, is_normal=False)


@settings(max_examples=EXAMPLES, deadline=None)
@given(ROWS, LIMITS)
def test_both_readers_find_the_same(written: Any, limits: dict[str, Any]) -> None:
    rows = rows_of(written)
    with patched(limits):
        nodes = nodes_of(TAGS, "1", rows)
        with patch(
            "xcql.shred.nodes.read_plain", lambda _, b, *rest: (None, np.ones(len(b) - 1, bool))
        ):
            others = nodes_of(TAGS, "1", rows)
    assert nodes is not None
    assert others is not None
    assert nodes.table.cast(NODES).equals(others.table.cast(NODES))
    assert nodes.paths == others.paths


def patched(limits: dict[str, Any]) -> ExitStack:
    stack = ExitStack()
    for name, value in limits.items():
        stack.enter_context(patch(name, value))
    return stack


def nodes_in(*raw: str, seqs: Sequence[int] | None = None) -> NodeTable:
    columns = {
        "raw": [one.encode() for one in raw],
        "namespaces": [""] * len(raw),
        "seq": seqs or list(range(len(raw))),
    }
    nodes = nodes_of(SMALL, "1", pa.table(columns))
    assert nodes is not None
    return nodes


def test_a_version_with_several_rows_has_its_nodes_once() -> None:
    nodes = nodes_in("<r><a/></r>", "<r/>", "<r><a/></r>", seqs=[5, 9, 5])
    assert nodes.table.column("seq").to_pylist() == [5, 5, 9]
    assert nodes.table.column("path").to_pylist() == ["1/2", "1", "1"]


@pytest.mark.parametrize("levels", [30, 190, 250, 5000])
def test_deep_nesting(levels: int) -> None:
    inner = "<list><item>" * levels + "x" + "</item></list>" * levels
    nodes = nodes_in("<r><a/></r>", f"<r>{inner}</r>")
    assert {path.count("/") + 1 for path in nodes.paths if "*" not in path} == {*range(1, 25)}
    assert {path for path in nodes.paths if "*" in path} == {"*/5", "*/6", "*/6/text()"}
    table = nodes.table.cast(NODES)
    assert table.num_rows == 3 + 2 * levels + 1
    assert max(table.column("level").to_pylist()) == 2 * levels + 1
    assert table.filter(pc.equal(table.column("path"), "*/6/text()")).to_pylist() == [
        {
            "kind": KINDS["text"],
            "name": "",
            "path": "*/6/text()",
            "seq": 1,
            "start": 3 + 12 * levels,
            "length": 1,
            "parent": 3 + 12 * levels - 6,
            "level": 2 * levels + 1,
            "value": "x",
        }
    ]


def test_levels_beyond_the_column_are_not_distinguished() -> None:
    inner = "<list><item>" * 20_000 + "</item></list>" * 20_000
    nodes = nodes_in(f"<r>{inner}</r>")
    assert max(nodes.table.column("level").to_pylist()) == 2**15 - 1


def test_many_attribute_names() -> None:
    def attributes(count: int) -> str:
        return "".join(f' a{number}="1"' for number in range(count))

    nodes = nodes_in(f"<r><a{attributes(3000)}/></r>", "<r><a><b/></a></r>")
    assert len([path for path in nodes.paths if "*" not in path]) == MAX_EXACT
    assert set(nodes.paths) == (
        {"1", "1/2", "1/2/3"}
        | {f"1/2/@a{number}" for number in sorted(range(3000), key=str)[: MAX_EXACT - 3]}
        | {f"*/2/@a{number}" for number in sorted(range(3000), key=str)[MAX_EXACT - 3 :]}
    )
    # there are too many for a commit
    columns = {"raw": [f"<r{attributes(9000)}/>".encode()], "namespaces": [""], "seq": [0]}
    assert nodes_of(SMALL, "1", pa.table(columns)) is None


def test_long_texts_are_left_in_place() -> None:
    long, short = "x" * 200, "y" * 100
    nodes = nodes_in(*[f'<r z="{long}"><a><b>{long}</b></a><list>{short}</list></r>'] * 700)
    assert {path for path, has_values in nodes.paths.items() if not has_values} == {
        *("1", "1/2", "1/2/3", "1/2/3/text()")
    }
    table = nodes.table.cast(NODES)
    values = {row["path"]: row["value"] for row in table.to_pylist()}
    assert values["1/2/3"] is None
    assert values["1/2/3/text()"] is None
    assert values["1/5"] == values["1/5/text()"] == short
    assert values["1/@z"] == long
    # a few long ones are no reason to leave them out
    assert all(nodes_in(f"<r>{long}</r>").paths.values())


@pytest.mark.parametrize("raw", ["<r><x/></r>", "<a/>", "<r><!-- x --></s>"])
def test_what_is_no_element_of_the_tag_is_an_error(raw: str) -> None:
    with pytest.raises(ValueError, match=r"declare|well-formed"):
        nodes_in(raw)


def test_a_file_has_statistics_for_each_row_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that queries read only the row groups of their names and paths."""
    monkeypatch.setattr("xcql.shred.nodes._GROUP_ROWS", 8)
    nodes = nodes_in(*["<r><a><b>x</b></a></r>"] * 6)
    write_nodes(nodes.table, tmp_path / "n.parquet")
    assert pq.read_table(tmp_path / "n.parquet").equals(nodes.table.cast(NODES))
    metadata = pq.read_metadata(tmp_path / "n.parquet")
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    found = [
        [(group.column(n).statistics.min, group.column(n).statistics.max) for n in range(3)]
        for group in groups
    ]
    assert found == [
        [(0, 0), ("a", "b"), ("1/2", "1/2/3")],
        [(0, 0), ("b", "r"), ("1", "1/2/3")],
        [(0, 2), ("", "r"), ("1", "1/2/3/text()")],
    ]
