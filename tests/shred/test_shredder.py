"""Shredding: spans return elements byte for byte, and columns have their values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xcql.model.tags import parse_tags
from xcql.shred.columns import flat, nest
from xcql.shred.shape import MAX_WAYS, Slot, slot_from_json, slot_to_json, widen
from xcql.shred.shredder import NotShreddable, Shredder
from xcql.xdm.nodes import ElementNode, TextNode
from xcql.xdm.parse import parse_xml

TAGS = parse_tags("""<structure xmlns:p="urn:p">
  <tag type="snapshot" id="1" name="r">
    <tag type="snapshot" id="2" name="a"><tag type="snapshot" id="3" name="b"/></tag>
    <tag type="snapshot" id="4" name="p:c"/>
    <tag type="snapshot" id="5" name="list">
      <tag type="snapshot" id="6" name="item"><tag ref="5"/></tag>
    </tag>
    <tag type="temporal" id="7" name="t"/>
  </tag>
</structure>""")


def shred(*elements: str) -> tuple[Slot, pa.StructArray]:
    shredder = Shredder(TAGS, TAGS.root)
    for element in elements:
        shredder.add(element.encode())
    shape = widen(None, shredder.root.shape())
    bodies = [(element.encode(), "") for element in elements]
    return shape, nest(shape, flat(shredder.root), bodies)


def test_leaves_attributes_and_repetition() -> None:
    shape, rows = shred(
        "<r x='1'><a><b>one</b></a><a y='2'/></r>",
        "<r><a><b> &lt;2&#x33;<![CDATA[&]]></b></a></r>",
    )
    assert shape.child("2") is not None
    assert shape.child("2").repeats  # type: ignore[union-attr]
    assert rows.to_pylist() == [
        {
            "_start": 0,
            "_length": 40,
            "@x": "1",
            "a": [
                {
                    "_start": 9,
                    "_length": 17,
                    "@y": None,
                    "b": {"_start": 12, "_length": 10, "_text": "one"},
                },
                {"_start": 26, "_length": 10, "@y": "2", "b": None},
            ],
        },
        {
            "_start": 0,
            "_length": 46,
            "@x": None,
            "a": [
                {
                    "_start": 3,
                    "_length": 39,
                    "@y": None,
                    "b": {"_start": 6, "_length": 32, "_text": " <23&"},
                }
            ],
        },
    ]


def test_mixed_content_is_opaque_also_in_the_elements_before_it_was_seen() -> None:
    shape, rows = shred("<r><a><b>1</b></a></r>", "<r><a>x<b>2</b>y</a></r>", "<r><a>z</a></r>")
    slot = shape.child("2")
    assert slot is not None
    assert slot.opaque
    assert not slot.children
    assert [row["a"]["_text"] for row in rows.to_pylist()] == ["1", "x2y", "z"]


def test_recursive_elements_are_opaque() -> None:
    shape, rows = shred("<r><list><item><list/></item></list></r>")
    slot = shape.child("5")
    assert slot is not None
    assert slot.opaque
    assert rows.to_pylist()[0]["list"] == {"_start": 3, "_length": 33, "_text": ""}


def test_texts_inside_are_kept_by_the_ways_to_them() -> None:
    shape, rows = shred(
        "<r><list><item>1<list><item> </item><item>2</item></list></item></list></r>",
        "<r><list>x<item>3<!-- c -->4<?p?>5<![CDATA[&]]>6&lt;\r\n</item>y</list></r>",
        "<r><list/></r>",
    )
    slot = shape.child("5")
    assert slot is not None
    assert slot.indexed
    assert slot.way_columns == ["item", "item/list/item"]
    assert [row["list"]["/ways"] for row in rows.to_pylist()] == [
        {"item": ["1"], "item/list/item": [" ", "2"]},
        {"item": ["3", "4", "5&6<\n"], "item/list/item": []},
        {"item": [], "item/list/item": []},
    ]


def test_texts_inside_are_kept_of_elements_before_mixed_content_was_seen() -> None:
    shape, rows = shred(
        "<r><a><b>1</b><b/>\n</a></r>",
        "<r><a/></r>",
        "<r><a><b>2</b></a><a><b>3</b>x<b>4</b></a><a><b>5</b></a></r>",
    )
    slot = shape.child("2")
    assert slot is not None
    assert slot.indexed
    assert [[a["/ways"] for a in row["a"]] for row in rows.to_pylist()] == [
        [{"b": ["1"]}],
        [{"b": []}],
        [{"b": ["2"]}, {"b": ["3", "4"]}, {"b": ["5"]}],
    ]


@pytest.mark.parametrize(
    "odd",
    [
        '<r><list><item>1<hole id="7"/>2</item></list></r>',
        '<r><list>x<hole id="7"/>y</list></r>',
        f"<r>{'<list><item>' * 7}x{'</item></list>' * 7}</r>",
    ],
)
def test_ways_that_are_not_known(odd: str) -> None:
    plain = "<r><list><item>1</item></list></r>"
    shape, rows = shred(plain, odd, plain)
    slot = shape.child("5")
    assert slot is not None
    assert not slot.indexed
    assert not slot.ways
    assert "/ways" not in rows.to_pylist()[0]["list"]


def test_elements_in_namespaces_have_no_ways() -> None:
    shape, _ = shred('<r>x<p:c xmlns:p="urn:p">y</p:c></r>')
    assert shape.opaque
    assert not shape.indexed
    before, _ = shred('<r><p:c xmlns:p="urn:p">y</p:c></r>')
    assert not widen(before, shred("<r>x<a/></r>")[0]).indexed


def test_too_many_ways() -> None:
    names = [f"n{number}" for number in range(MAX_WAYS + 1)]
    declared = "".join(
        f'<tag type="snapshot" id="{2 + number}" name="{name}"/>'
        for number, name in enumerate(names)
    )
    tags = parse_tags(
        f'<structure><tag type="snapshot" id="1" name="r">{declared}</tag></structure>'
    )
    for size in (MAX_WAYS, MAX_WAYS + 1):
        shredder = Shredder(tags, tags.root)
        for name in names[:size]:
            shredder.add(f"<r>x<{name}>y</{name}></r>".encode())
        shape = widen(None, shredder.root.shape())
        assert shape.indexed == (size == MAX_WAYS)
        assert len(shape.ways) == (MAX_WAYS if shape.indexed else 0)


def test_names_that_sql_cannot_tell_apart_get_columns_of_their_own() -> None:
    shape, rows = shred("<r X='1' x='2'><a/></r>", '<r xmlns:q="urn:q" q:x="3" A="4"/>')
    columns = {attribute.name: attribute.column for attribute in shape.attributes}
    assert len({column.lower() for column in columns.values()}) == 4
    assert rows.to_pylist()[1][columns["Q{urn:q}x"]] == "3"


def test_an_attribute_has_one_column_whatever_its_prefix() -> None:
    texts = [f"<r xmlns:{prefix}='urn:q' {prefix}:x='{prefix}'/>" for prefix in "pqp"]
    shape, rows = shred(*texts)
    assert [one.name for one in shape.attributes] == ["Q{urn:q}x"]
    assert [row["@x"] for row in rows.to_pylist()] == ["p", "q", "p"]


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "<a/>",
        "<r/><r/>",
        "<r>",
        "<r><a></r>",
        "<r><x/></r>",
        "<r><t/></r>",
        "<r><list><item><x/></item></list></r>",
        "<r><hole/></r>",
        '<r><hole id="1">x</hole></r>',
        '<r><hole id="1"><a/></hole></r>',
        "x<r/>",
        "<r/>x",
        "<!-- c --><r/>",
        "<r>&entity;</r>",
        "<r/></context><context>",
    ],
)
def test_what_is_refused_leaves_no_trace(bad: str) -> None:
    shredder = Shredder(TAGS, TAGS.root)
    shredder.add(b"<r><a y='1'><b>1</b></a></r>")
    with pytest.raises(NotShreddable):
        shredder.add(bad.encode())
    with pytest.raises(NotShreddable):
        shredder.add(b"<r><a y='2'><b>2</b><x/></a></r>")
    shredder.add(b"<r><a><b>3</b></a></r>")
    shape = widen(None, shredder.root.shape())
    rows = nest(shape, flat(shredder.root), [])
    assert [(row["a"]["@y"], row["a"]["b"]["_text"]) for row in rows.to_pylist()] == [
        ("1", "1"),
        (None, "3"),
    ]


def test_holes() -> None:
    element = (
        b'<r xmlns:stream="urn:x"><hole id=" 7 "/><a><stream:hole id="8"> </stream:hole></a></r>'
    )
    holes = Shredder(TAGS, TAGS.root).add(element)
    assert [(hole.id, hole.parent) for hole in holes] == [("7", "1"), ("8", "2")]
    assert element[holes[0].start : holes[0].end] == b'<hole id=" 7 "/>'
    assert element[holes[1].start : holes[1].end] == b'<stream:hole id="8"> </stream:hole>'


TEXTS = st.sampled_from(
    ["", "x", " ", "é&amp;", "/>", "<!-- /> -->", "<?p />?>", "<![CDATA[</a>]]>"]
)
ATTRIBUTES = st.sampled_from(["", " y='/>'", ' y="2"  x = "&gt;"'])
LEAF = st.builds(lambda t, a: f"<b{a}>{t}</b>" if t else f"<b{a}/>", TEXTS, ATTRIBUTES)
INNER = st.builds(
    lambda parts, a: f"<a{a}>{''.join(parts)}</a >" if parts else f"<a{a}/>",
    st.lists(st.one_of(LEAF, TEXTS, st.just('<hole id="9"/>')), max_size=4),
    ATTRIBUTES,
)
ITEMS = st.recursive(
    st.one_of(st.just("<list/>"), TEXTS),
    lambda inner: st.builds(
        lambda items, t: f"<list>{''.join(f'<item>{i}</item>{t}' for i in items)}</list>",
        st.lists(inner, max_size=3),
        TEXTS,
    ),
)
ROOT = st.builds(
    lambda parts, a: f"<r{a}>{''.join(parts)}</r>",
    st.lists(
        st.one_of(INNER, ITEMS, TEXTS, st.sampled_from(['<c xmlns="urn:p"/>', "<a>x</a>"])),
        max_size=5,
    ),
    ATTRIBUTES,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(ROOT, min_size=1, max_size=6))
def test_every_column_says_what_the_tree_says(elements: list[str]) -> None:
    shape, rows = shred(*elements)
    assert slot_from_json(slot_to_json(shape)) == shape
    for element, row in zip(elements, rows.to_pylist(), strict=True):
        root = parse_xml(element).document_element
        assert root is not None
        assert_says(shape, row, root, element.encode())


def texts_inside(node: ElementNode, way: str = "") -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for child in node.children:
        if isinstance(child, TextNode) and way:
            found.setdefault(way, []).append(child.value)
        if isinstance(child, ElementNode):
            path = f"{way}/{child.name.local}" if way else child.name.local
            for below, texts in texts_inside(child, path).items():
                found.setdefault(below, []).extend(texts)
    return found


def assert_says(slot: Slot, value: dict[str, Any], node: ElementNode, raw: bytes) -> None:
    tag = TAGS.by_id(slot.tag)
    assert tag is not None
    span = raw[value["_start"] : value["_start"] + value["_length"]]
    assert span.startswith(b"<" + str(node.name).encode())
    again = parse_xml(span).document_element
    assert again is not None
    assert again.string_value() == node.string_value()
    if slot.has_text:
        assert value["_text"] == node.string_value()
    if slot.opaque:
        inside = texts_inside(node)
        assert not slot.indexed or set(inside) <= {way.path for way in slot.ways}
        ways = value.get("/ways", {})
        assert {path: found for path, found in ways.items() if found} == {
            path: texts for path, texts in inside.items() if path in slot.way_columns
        }
    for attribute in slot.attributes:
        assert value[attribute.column] == node.attribute_value(attribute.name)
    children = [child for child in node.children if isinstance(child, ElementNode)]
    for child in slot.children:
        child_tag = TAGS.by_id(child.tag)
        assert child_tag is not None
        nodes = [one for one in children if one.name == child_tag.name]
        values = value[child.column]
        values = values if child.repeats else [values] if values else []
        assert len(values) == len(nodes)
        for one, its_node in zip(values, nodes, strict=True):
            assert_says(child, one, its_node, raw)
