"""`--previous`: a series of dumps becomes a history that contains every dump."""

from __future__ import annotations

import io
from datetime import datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.model.rebuilt import canonical_text, rebuilt
from xcql.diagnostics import XcqlError
from xcql.history.changes import fragment_changes
from xcql.history.latest import LatestState, add_to_state
from xcql.history.view import document_at
from xcql.model.documents import read_document
from xcql.model.fragmenter import Fragmented, fragment
from xcql.model.infer import infer_from_document, tag_structure
from xcql.model.keys import read_keys
from xcql.model.read import read_all
from xcql.model.shapes import shape_reader
from xcql.model.tags import TagStructure, parse_tags
from xcql.model.time import format_time
from xcql.xdm.serialize import canonical

TAGS = parse_tags(
    """<stream:structure xmlns:p="urn:p">
    <tag type="snapshot" id="1" name="r">
      <tag type="snapshot" id="2" name="s">
        <tag type="temporal" id="3" name="t">
          <tag ref="3"/>
          <tag type="snapshot" id="4" name="in"><tag type="temporal" id="5" name="p:u"/></tag>
          <tag type="event" id="6" name="e"><tag type="temporal" id="7" name="c"/></tag>
        </tag>
        <tag type="event" id="8" name="e"><tag type="temporal" id="9" name="c"/></tag>
      </tag>
    </tag></stream:structure>"""
)
FIRST = datetime(2003, 10, 20)


def document(text: str, name: str = "doc.xml"):
    return read_document(io.BytesIO(text.encode()), name)


def time(number: int) -> datetime:
    return FIRST + timedelta(days=number)


def changes(
    files: list[bytes], text: str, tags: TagStructure = TAGS, keys: tuple[str, ...] = ()
) -> tuple[bytes, Fragmented]:
    shape_of = shape_reader(tags, read_keys(keys, tags))
    state = LatestState()
    for number, file in enumerate(files):
        add_to_state(state, read_document(io.BytesIO(file), f"{number}.xml"), tags, shape_of)
    output = io.BytesIO()
    result = fragment_changes(document(text), tags, state, shape_of, time(len(files)), output)
    assert result.bytes_written == len(output.getvalue())
    return output.getvalue(), result


def history(
    dumps: list[str], tags: TagStructure = TAGS, keys: tuple[str, ...] = ()
) -> tuple[list[bytes], Fragmented]:
    """The files for a series of dumps, and the messages for the last one."""
    output = io.BytesIO()
    result = fragment(document(dumps[0]), tags, format_time(FIRST), output)
    files = [output.getvalue()]
    for dump in dumps[1:]:
        file, result = changes(files, dump, tags, keys)
        files.append(file)
    return files, result


def sent(file: bytes, tags: TagStructure = TAGS) -> list[tuple[str, str, str]]:
    batch = read_all(file, tags)
    assert not batch.rejected
    return [(f.op, f.id, f.content.decode()) for f in batch.fragments]


def test_only_what_changed_is_sent() -> None:
    files, result = history(
        [
            "<r><s><t id='a'>1</t><t id='b'>2</t></s></r>",
            "<r><s><t id='a'>1</t><t id='b'>3</t></s></r>",
        ]
    )
    assert sent(files[1]) == [("filler", "2", "<t id='b'>3</t>")]
    assert not result.warnings


def test_how_it_is_written_is_no_change() -> None:
    files, _ = history(
        [
            "<r><s><t id='a' k='x'>1<in></in></t></s></r>",
            """<r ><s><t k="x"  id="a">&#49;<in/></t ></s></r>""",
        ]
    )
    assert sent(files[1]) == []


def test_a_child_that_came() -> None:
    files, result = history(
        ["<r><s><t id='a'/></s></r>", "<r><s><t id='b'>new</t><t id='a'/></s></r>"]
    )
    assert sent(files[1]) == [
        ("filler", "2", "<t id='b'>new</t>"),
        ("filler", "0", '<r><s><hole id="2" tsid="3"/><hole id="1" tsid="3"/></s></r>'),
    ]
    assert not result.warnings


def test_a_child_that_went_keeps_its_hole_in_a_snapshot_parent() -> None:
    dumps = [
        "<r><s><t id='a'/><t id='b'/><t id='c'/></s></r>",
        "<r><s><t id='b'/></s></r>",
        "<r><s/></r>",
        "<r><s><t id='c'>again</t></s></r>",
    ]
    files, _ = history(dumps)
    assert sent(files[1]) == [("remove", "1", ""), ("remove", "3", "")] or sent(files[1]) == [
        ("remove", "3", ""),
        ("remove", "1", ""),
    ]
    assert sent(files[2]) == [("remove", "2", "")]
    assert sent(files[3]) == [("filler", "3", "<t id='c'>again</t>")]
    for number, dump in enumerate(dumps):
        assert rebuilt(files, TAGS, time(number)) == canonical_text(dump)


def test_holes_go_into_an_element_that_became_empty() -> None:
    dumps = ["<r><s>\n<t/></s><s/></r>", "<r><s/><s x='/>'/></r>", "<r><s><t>2</t></s><s/></r>"]
    files, result = history(dumps)
    assert sent(files[1])[0] == (
        "filler",
        "0",
        '<r><s><hole id="1" tsid="3"/></s><s x=\'/>\'/></r>',
    )
    assert rebuilt(files, TAGS, time(2)) == canonical_text(dumps[2])
    assert [w.code for w in result.warnings] == ["XCQL0255"]


def test_in_a_temporal_parent_the_hole_goes() -> None:
    files, _ = history(
        ["<r><s><t id='a'><t id='b'><t/></t></t></s></r>", "<r><s><t id='a'/></s></r>"]
    )
    assert sent(files[1]) == [
        ("filler", "1", "<t id='a'/>"),
        ("remove", "2", ""),
        ("remove", "3", ""),
    ]


def test_by_position_where_there_is_no_key() -> None:
    files, _ = history(["<r><s><t>1</t><t>2</t></s></r>", "<r><s><t>1</t><t>3</t></s></r>"])
    assert sent(files[1]) == [("filler", "2", "<t>3</t>")]


def test_by_another_key() -> None:
    dumps = [
        "<r><s><t k='x' id='1'/><t k='y' id='2'/></s></r>",
        "<r><s><t k='x' id='2'/><t k='y' id='2'/></s></r>",
    ]
    files, _ = history(dumps, keys=("//t=@k",))
    assert sent(files[1]) == [("filler", "1", "<t k='x' id='2'/>")]


@pytest.mark.parametrize("key", ["//t", "//x=@k", "//t=k", "=@k", "//t=@"])
def test_bad_keys(key: str) -> None:
    with pytest.raises(XcqlError) as problem:
        read_keys([key], TAGS)
    assert problem.value.code == "XCQL0260"


def test_equal_keys_go_by_their_order() -> None:
    files, _ = history(
        ["<r><s><t id='a'/><t id='a'>1</t></s></r>", "<r><s><t id='a'/><t id='a'>2</t></s></r>"]
    )
    assert sent(files[1]) == [("filler", "2", "<t id='a'>2</t>")]


def test_a_change_outside_all_temporal_tags_has_no_history() -> None:
    files, result = history(["<r><s>x<t/></s></r>", "<r><s>y<t/></s></r>"])
    assert sent(files[1]) == [("filler", "0", '<r><s>y<hole id="1" tsid="3"/></s></r>')]
    assert [w.code for w in result.warnings] == ["XCQL0255"]
    assert "a change in /r outside its temporal elements" in result.warnings[0].message


def test_another_order_in_a_snapshot_parent_has_no_history() -> None:
    files, result = history(
        ["<r><s><t id='a'/><t id='b'/></s></r>", "<r><s><t id='b'/><t id='a'/></s></r>"]
    )
    assert len(sent(files[1])) == 1
    assert [w.code for w in result.warnings] == ["XCQL0255"]


def test_white_space_that_comes_with_children_is_not_told() -> None:
    dumps = ["<r>\n <s>\n  <t/>\n </s>\n</r>", "<r>\n <s>\n  <t/>\n  <t/>\n </s>\n</r>"]
    files, result = history(dumps)
    assert not result.warnings
    assert rebuilt(files, TAGS, time(1)) == canonical_text(dumps[1])


def test_an_event_gets_a_child() -> None:
    dumps = ["<r><s><e id='1'>x</e></s></r>", "<r><s><e id='1'>x<c>charged</c></e></s></r>"]
    files, result = history(dumps)
    assert sent(files[1]) == [
        ("filler", "2", "<c>charged</c>"),
        ("replace", "1", '<e id=\'1\'>x<hole id="2" tsid="9"/></e>'),
    ]
    assert [f.valid_time for f in read_all(files[1], TAGS).fragments] == [time(1), time(0)]
    assert not result.warnings
    for number, dump in enumerate(dumps):
        assert rebuilt(files, TAGS, time(number)) == canonical_text(dump)


def test_events_do_not_change_and_do_not_end() -> None:
    dumps = ["<r><s><e id='1'>x</e></s></r>", "<r><s><e id='1'>y</e></s></r>", "<r><s/></r>"]
    files, result = history(dumps)
    assert sent(files[1]) == [
        ("filler", "2", "<e id='1'>y</e>"),
        ("filler", "0", '<r><s><hole id="1" tsid="8"/><hole id="2" tsid="8"/></s></r>'),
    ]
    assert sent(files[2]) == []
    assert "have disappeared or changed in the document" in result.warnings[0].message
    assert rebuilt(files, TAGS, time(0)) == canonical_text(dumps[0])


def test_events_are_known_by_what_they_say() -> None:
    files, _ = history(["<r><s><e>1</e><e>2</e></s></r>", "<r><s><e>2</e><e>3</e></s></r>"])
    assert [content for _, _, content in sent(files[1])] == [
        "<e>3</e>",
        '<r><s><hole id="1" tsid="8"/><hole id="2" tsid="8"/><hole id="3" tsid="8"/></s></r>',
    ]


def test_an_event_in_a_temporal_parent_may_change() -> None:
    dumps = ["<r><s><t><e id='1'>x</e></t></s></r>", "<r><s><t><e id='1'>y</e></t></s></r>"]
    files, result = history(dumps)
    assert not result.warnings
    for number, dump in enumerate(dumps):
        assert rebuilt(files, TAGS, time(number)) == canonical_text(dump)


def test_a_plain_document_as_the_previous_state() -> None:
    first = "<r><s><t id='a'/><e id='1'/></s></r>"
    files, _ = history([first, "<r><s><t id='a'>2</t><e id='1'/></s></r>"])
    changed, _ = changes([first.encode()], "<r><s><t id='a'>2</t><e id='1'/></s></r>")
    assert changed == files[1]
    with pytest.raises(XcqlError) as problem:
        changes([first.encode()], "<r><s><t id='a'/><e id='1'><c/></e></s></r>")
    assert problem.value.code == "XCQL0254"
    with pytest.raises(XcqlError) as problem:
        changes([*files, first.encode()], first)
    assert "there are fragments before it" in problem.value.message


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (b"<fragments/>", "no root"),
        (b'<f><filler id="0" tsid="1" validTime="2003"><r/></filler></f>', "2003"),
        (b'<f><filler id="0" tsid="1"><r/></filler>', "the end of the file is missing"),
        (b'<f><filler id="0" tsid="1"><r/></filler>x<eos/></f>', "something else"),
        (
            b'<f><filler id="0" tsid="1" validTime="2004-01-01"><r/></filler></f>',
            "fragments at 2004",
        ),
    ],
)
def test_states_that_are_no_good(file: bytes, text: str) -> None:
    with pytest.raises(XcqlError) as problem:
        changes([file], "<r/>")
    assert problem.value.code == "XCQL0254"
    assert text in problem.value.message


def test_a_state_knows_removals_repeats_and_replacements() -> None:
    root = '<filler id="0" tsid="1"><r><s><hole id="7"/><hole id="8"/></s></r></filler>'
    state = f"""<f><remove id="7" validTime="2003-10-03"/>{root}
      <filler id="7" tsid="3" validTime="2003-10-02"><t id="a"/></filler>
      <stream:filler id="8" tsid="3" validTime="2003-10-02"><t id="b">1</t></stream:filler>
      <replace id="8" tsid="3" validTime="2003-10-01"><t id="b">2</t></replace>
      <eos/></f>""".encode()
    same, _ = changes([state], "<r><s><t id='b'>2</t></s></r>")
    assert sent(same) == []
    back, _ = changes([state], "<r><s><t id='a'/><t id='b'>2</t></s></r>")
    assert sent(back) == [("filler", "7", "<t id='a'/>")]


# random histories

TEXT = st.sampled_from(["", "x", "y", " ", "&amp;", "<!--z-->"])


@st.composite
def temporal(draw: st.DrawFn, depth: int, key: str | None) -> str:
    """A t with any content, in any order, all of which has a history."""
    parts = [draw(TEXT)]
    for _ in range(draw(st.integers(0, 2))):
        kind = draw(st.sampled_from(["t", "in", "e", "text"] if depth else ["in", "e", "text"]))
        child_key = draw(st.sampled_from(["a", "b", None]))
        if kind == "t":
            parts.append(draw(temporal(depth - 1, child_key)))
        elif kind == "in":
            inner = draw(st.lists(st.sampled_from(["<p:u/>", "<p:u id='k'>1</p:u>"]), max_size=2))
            parts.append(f"<in xmlns:p='urn:p'>{''.join(inner)}</in>")
        elif kind == "e":
            parts.append(draw(event(draw(st.integers(0, 2)))))
        parts.append(draw(TEXT))
    attribute = f" id='{key}'" if key else ""
    return f"<t{attribute}>{''.join(parts)}</t>"


@st.composite
def event(draw: st.DrawFn, number: int) -> str:
    """An event itself does not change, but its content may have a history."""
    child = draw(st.sampled_from(["", "<c/>", "<c>1</c>"]))
    attribute = f" id='{number}'" if number else ""
    return f"<e{attribute}>{number}{child}</e>"


@st.composite
def dumps(draw: st.DrawFn) -> list[str]:
    """A root whose own content never changes, except for temporal and event children."""
    result = []
    happened = [0, 0]
    for _ in range(draw(st.integers(2, 4))):
        sections = []
        for section in range(2):
            keys = sorted(draw(st.sets(st.sampled_from("abc"), max_size=3)))
            children = [draw(temporal(1, key)) for key in keys]
            children += [draw(temporal(0, None)) for _ in range(draw(st.integers(0, 2)))]
            happened[section] += draw(st.integers(0, 1))
            children += [draw(event(number)) for number in range(happened[section])]
            default = " xmlns='' " if section else ""
            sections.append(f"<s{default}>{''.join(children)}</s>")
        result.append(f"<r k='1'>{''.join(sections)}</r>")
    return result


@settings(max_examples=40, deadline=None)
@given(dumps())
# before the last dump, a and b never occur together; in the last, b comes after a
@example(
    [
        "<r><s><t id='b'/><t/></s></r>",
        "<r><s><t id='a'/><t/></s></r>",
        "<r><s><t id='a'/><t id='b'/></s></r>",
        "<r><s><t id='a'/><t id='b'/><t/></s></r>",
    ]
)
def test_every_dump_is_found_again(series: list[str]) -> None:
    files, _ = history(series)
    fragments = [fragment for file in files for fragment in read_all(file, TAGS).fragments]
    for number, dump in enumerate(series):
        assert rebuilt(files, TAGS, time(number)) == canonical_text(dump)
        view = document_at(fragments, TAGS, time(number), now=time(len(series)))
        assert not view.rejected
        assert canonical(view.document) == canonical_text(dump)
        assert sent(changes(files[: number + 1], dump)[0]) == []


def test_ten_levels_and_five_versions_of_everything() -> None:
    def dump(version: int) -> str:
        content = f"leaf {version}"
        for level in range(9, 0, -1):
            # the odd levels are temporal, in a namespace, and contain their version number
            if level % 2:
                pair = "".join(
                    f"<n:l{level} k='{version}' id='{side}'>a<b>{version}</b>&lt;{content}"
                    f"<!--{version}--><![CDATA[<{side}>]]></n:l{level}>"
                    for side in ("x", "y")
                )
                content = f"\n {pair}\n"
            else:
                content = f"<l{level} xmlns='urn:d{level}' q='n:x'>{content}</l{level}>"
        return f"<l0 xmlns:n='urn:n'>{content}</l0>"

    dumps = [dump(version) for version in range(5)]
    tags = tag_structure(
        infer_from_document(document(dumps[0])),
        temporal=[f"//l{level}" for level in (1, 3, 5, 7, 9)],
    )
    files, result = history(dumps, tags)
    assert not result.warnings
    fragments = [fragment for file in files for fragment in read_all(file, tags).fragments]
    assert len(fragments) == 1 + 5 * (2 + 4 + 8 + 16 + 32)
    for number, text in enumerate(dumps):
        view = document_at(fragments, tags, time(number), now=time(9))
        assert canonical(view.document) == canonical_text(text)
        assert rebuilt(files, tags, time(number)) == canonical_text(text)
