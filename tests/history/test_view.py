"""Sections 3 and 4 of the language, sentence by sentence; each test is named after a sentence."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcql.diagnostics import XcqlError
from xcql.history import view as view_module
from xcql.history.definition import histories
from xcql.history.stream import plain_view, stream_view
from xcql.history.view import View, document_at, temporal_view, view_of_histories
from xcql.model.fragments import content_tree
from xcql.model.read import read_all
from xcql.model.tags import parse_tags
from xcql.model.time import parse_time
from xcql.xdm.nodes import AttributeNode, descendants
from xcql.xdm.serialize import serialize

TAGS = parse_tags(
    """<stream:structure>
  <tag type="snapshot" id="1" name="list">
    <tag type="snapshot" id="2" name="box"><tag type="temporal" id="3" name="lid"/></tag>
    <tag type="temporal" id="4" name="item">
      <tag type="snapshot" id="5" name="name"/>
      <tag type="temporal" id="6" name="price"/>
      <tag type="event" id="7" name="sale"><tag type="temporal" id="8" name="state"/></tag>
      <tag type="temporal" id="9" name="item" ref="4"/>
    </tag>
    <tag type="event" id="10" name="note"/>
  </tag>
</stream:structure>"""
)
NAMES = {"list": 1, "box": 2, "lid": 3, "item": 4, "price": 6, "sale": 7, "state": 8, "note": 10}


def filler(
    id: int | str, time: str | int | None, content: str, op: str = "filler", tsid: int | None = None
) -> str:
    """A fragment; a number as the time means a day of January 2001."""
    name = content[1:].replace(">", " ").replace("/", " ").split()[0]
    return f'<{op} id="{id}" tsid="{tsid or NAMES[name]}"{valid_time(time)}>{content}</{op}>'


def valid_time(time: str | int | None) -> str:
    if time is None:
        return ""
    return f' validTime="{f"2001-01-{time:02}" if isinstance(time, int) else time}"'


def remove(id: int | str, time: int | None = None) -> str:
    return f'<remove id="{id}"{valid_time(time)}/>'


def hole(id: int | str) -> str:
    return f'<hole id="{id}"/>'


def root(*ids: int | str) -> str:
    return filler(0, None, f"<list>{''.join(map(hole, ids))}</list>")


def look(*fragments: str, now: str = "2002-01-01") -> View:
    return stream_view("".join(fragments), TAGS, parse_time(now))


def shown(*fragments: str, now: str = "2002-01-01") -> str:
    """The view as text, in short form: `[2-5]` is a lifespan in days of January 2001."""
    view = look(*fragments, now=now)
    assert view.rejected == ()
    assert view.warnings == ()
    return short(serialize(view.document))


def short(text: str) -> str:
    for day in range(1, 32):
        text = text.replace(f"2001-01-{day:02}T00:00:00", str(day))
    text = text.replace(' vtFrom="', "[").replace('" vtTo="', "-")
    return text.replace('">', "]>").replace('"/>', "]/>")


def at(time: int, *fragments: str, now: str = "2002-01-01") -> str:
    batch = read_all("".join(fragments), TAGS)
    view = document_at(batch.fragments, TAGS, parse_time(f"2001-01-{time:02}"), parse_time(now))
    return serialize(view.document)


# --- fillers and versions ---------------------------------------------------------------------


def test_filler_0_is_the_root() -> None:
    assert shown(filler(0, 1, "<list>text</list>")) == "<list>text</list>"


def test_a_temporal_filler_has_versions_ordered_by_valid_time_not_by_arrival() -> None:
    assert (
        shown(root(1), filler(1, 5, "<item>b</item>"), filler(1, 2, "<item>a</item>"))
        == "<list><item[2-5]>a</item><item[5-now]>b</item></list>"
    )


def test_each_version_is_valid_to_the_next_one_s_time_and_the_last_to_now() -> None:
    versions = [filler(1, day, f"<item>{day}</item>") for day in (1, 3, 9)]
    assert shown(root(1), *versions) == (
        "<list><item[1-3]>1</item><item[3-9]>3</item><item[9-now]>9</item></list>"
    )


def test_a_snapshot_has_no_history_the_one_with_the_latest_time_counts() -> None:
    fragments = [
        filler(0, 5, "<list>late</list>"),
        filler(0, 2, "<list>early</list>"),
    ]
    assert shown(*fragments) == "<list>late</list>"
    assert shown(*reversed(fragments)) == "<list>late</list>"


def test_a_snapshot_s_element_has_no_lifespan_of_its_own() -> None:
    assert shown(root(1), filler(1, 5, "<box/>")) == "<list><box/></list>"


def test_adding_a_child_to_the_root_is_sending_it_again_with_one_more_hole() -> None:
    children = [filler(1, 1, "<item>a</item>"), filler(2, 1, "<item>b</item>")]
    first, second = (
        filler(0, 1, f"<list>{hole(1)}</list>"),
        filler(0, 2, f"<list>{hole(1)}{hole(2)}</list>"),
    )
    assert shown(first, *children) == "<list><item[1-now]>a</item></list>"
    assert shown(first, *children, second) == (
        "<list><item[1-now]>a</item><item[1-now]>b</item></list>"
    )


def test_an_event_is_valid_at_its_time_only() -> None:
    assert shown(root(1), filler(1, 5, "<note/>")) == "<list><note[5-5]/></list>"


def test_several_events_with_one_id_are_several_events_not_versions() -> None:
    assert shown(root(1), filler(1, 5, "<note>b</note>"), filler(1, 2, "<note>a</note>")) == (
        "<list><note[2-2]>a</note><note[5-5]>b</note></list>"
    )


def test_two_events_with_one_time_and_different_bodies_are_two_in_arrival_order() -> None:
    assert shown(root(1), filler(1, 5, "<note>b</note>"), filler(1, 5, "<note>a</note>")) == (
        "<list><note[5-5]>b</note><note[5-5]>a</note></list>"
    )


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2001-01-01", "<list/>"),
        ("2001-01-02", "<list><item[2-now]>a</item></list>"),
        ("2001-01-06", "<list><item[2-now]>a</item><note[6-6]/></list>"),
        ("2001-01-08", "<list><item[2-8]>a</item><note[6-6]/></list>"),
        ("2001-01-09", "<list><item[2-8]>a</item><item[9-now]>b</item><note[6-6]/></list>"),
    ],
)
def test_what_is_later_than_now_is_not_in_the_view(now: str, expected: str) -> None:
    fragments = [
        root(1, 2),
        filler(1, 9, "<item>b</item>"),
        filler(1, 2, "<item>a</item>"),
        remove(1, 8),
        filler(2, 6, "<note/>"),
    ]
    assert shown(*fragments, now=now) == expected


def test_now_may_have_a_zone() -> None:
    fragments = read_all(root(1) + filler(1, "2001-01-02T00:30:00", "<note/>"), TAGS).fragments
    zone = timezone(timedelta(hours=1))
    earlier, later = datetime(2001, 1, 2, 1, 29), datetime(2001, 1, 2, 1, 30)
    for now, count in [(earlier, 0), (later, 1)]:
        view = temporal_view(fragments, TAGS, now.replace(tzinfo=zone))
        assert serialize(view.document).count("<note") == count


def test_a_snapshot_later_than_now_does_not_count() -> None:
    fragments = [filler(0, 2, "<list>a</list>"), filler(0, 4, "<list>b</list>")]
    assert shown(*fragments, now="2001-01-03") == "<list>a</list>"


# --- repetitions, replacements, removals ------------------------------------------------------


@pytest.mark.parametrize("op", ["filler", "repeat"])
def test_the_same_again_is_a_repetition_and_changes_nothing(op: str) -> None:
    fragments = [
        root(1, 2),
        filler(1, 2, "<item a='1' b='2'><name/></item>"),
        filler(1, 2, '<item b="2"  a="1"><name></name></item>', op),
        filler(2, 3, "<note>x</note>"),
        filler(2, 3, "<note><![CDATA[x]]></note>", op),
    ]
    view = short(serialize(look(*fragments).document))
    assert view.count("<item") == 1
    assert view.count("<note") == 1


def test_another_body_at_the_same_time_replaces_that_version() -> None:
    assert shown(
        root(1), filler(1, 2, "<item>a</item>"), filler(1, 5, "<item>c</item>"),
        filler(1, 2, "<item>b</item>"),
    ) == "<list><item[2-5]>b</item><item[5-now]>c</item></list>"  # fmt: skip
    assert shown(filler(0, 1, "<list>a</list>"), filler(0, 1, "<list>b</list>")) == "<list>b</list>"


def test_the_later_arrival_wins_even_if_it_says_what_was_said_before() -> None:
    a, b = filler(1, 2, "<item>a</item>"), filler(1, 2, "<item>b</item>")
    assert shown(root(1), a, b, a) == "<list><item[2-now]>a</item></list>"


def test_replace_removes_every_version_that_arrived_before_and_adds_its_own() -> None:
    assert shown(
        root(1), filler(1, 2, "<item>a</item>"), filler(1, 9, "<item>b</item>"),
        filler(1, 5, "<item>c</item>", "replace"), filler(1, 7, "<item>d</item>"),
    ) == "<list><item[5-7]>c</item><item[7-now]>d</item></list>"  # fmt: skip


def test_replace_of_events() -> None:
    assert shown(
        root(1), filler(1, 2, "<note>a</note>"), filler(1, 3, "<note>b</note>", "replace")
    ) == "<list><note[3-3]>b</note></list>"  # fmt: skip


def test_replace_of_a_snapshot_counts_though_it_is_earlier() -> None:
    assert shown(filler(0, 5, "<list>a</list>"), filler(0, 2, "<list>b</list>", "replace")) == (
        "<list>b</list>"
    )


def test_a_replace_later_than_now_has_not_happened() -> None:
    fragments = [root(1), filler(1, 2, "<item>a</item>"), filler(1, 9, "<item>b</item>", "replace")]
    assert shown(*fragments, now="2001-01-05") == "<list><item[2-now]>a</item></list>"


def test_remove_with_a_time_is_an_empty_version() -> None:
    fragments = [root(1), filler(1, 2, "<item>a</item>"), remove(1, 4)]
    assert shown(*fragments) == "<list><item[2-4]>a</item></list>"
    assert shown(*fragments, filler(1, 7, "<item>b</item>")) == (
        "<list><item[2-4]>a</item><item[7-now]>b</item></list>"
    )


def test_a_remove_may_arrive_before_what_it_removes() -> None:
    assert shown(root(1), remove(1, 4), filler(1, 2, "<item>a</item>")) == (
        "<list><item[2-4]>a</item></list>"
    )


def test_a_remove_at_the_time_of_a_version_takes_its_place_and_the_other_way_round() -> None:
    version = filler(1, 2, "<item>a</item>")
    assert shown(root(1), version, remove(1, 2)) == "<list/>"
    assert shown(root(1), remove(1, 2), version) == "<list><item[2-now]>a</item></list>"


def test_remove_of_an_event_id_removes_the_events_at_that_time() -> None:
    assert shown(
        root(1), filler(1, 2, "<note>a</note>"), filler(1, 3, "<note>b</note>"),
        filler(1, 3, "<note>c</note>"), remove(1, 3),
    ) == "<list><note[2-2]>a</note></list>"  # fmt: skip


def test_remove_without_a_time_removes_the_id_with_all_that_arrived_before() -> None:
    fragments = [
        root(1, 2),
        filler(1, 2, "<item>a</item>"),
        remove(1, 4),
        filler(2, 2, "<note/>"),
        remove(1),
        remove(2),
    ]
    assert shown(*fragments) == "<list/>"
    assert shown(*fragments, filler(1, 3, "<item>b</item>")) == (
        "<list><item[3-now]>b</item></list>"
    )


def test_remove_of_a_snapshot() -> None:
    assert shown(root(1), filler(1, 2, "<box/>"), remove(1, 4)) == "<list/>"
    assert shown(root(1), filler(1, 6, "<box/>"), remove(1, 4)) == "<list><box/></list>"
    assert shown(filler(0, 1, "<list/>"), remove(0, 4)) == ""


def test_remove_of_what_never_was() -> None:
    assert shown(root(), remove(77), remove(78, 3)) == "<list/>"


def test_eos_ends_the_stream() -> None:
    view = look(root(1), "<eos/>", filler(1, 2, "<item/>"))
    assert serialize(view.document) == "<list/>"
    assert "<eos/>" in view.warnings[0].message


def test_a_missing_valid_time_means_start() -> None:
    assert shown(root(1), filler(1, None, "<item>a</item>"), filler(1, 3, "<item>b</item>")) == (
        "<list><item[start-3]>a</item><item[3-now]>b</item></list>"
    )


def test_an_event_without_a_valid_time_is_quarantined() -> None:
    view = look(root(1), filler(1, None, "<note/>"))
    assert [rejected.kind for rejected in view.rejected] == ["time"]
    assert serialize(view.document) == "<list/>"


# --- what is quarantined, what is not in the view ---------------------------------------------


def test_a_filler_whose_id_has_another_tsid_is_quarantined() -> None:
    view = look(root(1), filler(1, 2, "<item>a</item>"), filler(1, 3, "<note/>"))
    assert [rejected.kind for rejected in view.rejected] == ["tag conflict"]
    assert "'1' belongs to item (tag 4)" in view.rejected[0].reason
    assert short(serialize(view.document)) == "<list><item[2-now]>a</item></list>"


def test_what_is_quarantined_does_not_depend_on_now() -> None:
    fragments = [root(1), filler(1, 9, "<item>a</item>"), filler(1, 3, "<note/>")]
    assert look(*fragments, now="2001-01-05").rejected == look(*fragments).rejected


def test_an_id_that_was_removed_may_begin_anew_as_another_tag() -> None:
    assert shown(root(1), filler(1, 2, "<item/>"), remove(1), filler(1, 3, "<note/>")) == (
        "<list><note[3-3]/></list>"
    )


def test_a_hole_s_tsid_is_only_a_hint() -> None:
    text = filler(0, 1, '<list><hole id="1" tsid="999"/></list>')
    assert shown(text, filler(1, 2, "<item/>")) == "<list><item[2-now]/></list>"


def test_a_filler_whose_tag_is_not_declared_where_the_hole_stands_is_not_in_the_view() -> None:
    assert shown(root(1), filler(1, 2, "<price>1</price>")) == "<list/>"
    assert shown(root(1), filler(1, 2, "<lid/>")) == "<list/>"
    inside = filler(0, 1, f"<list><box>{hole(1)}</box></list>")
    assert shown(inside, filler(1, 2, "<lid/>")) == "<list><box><lid[2-now]/></box></list>"


def test_a_filler_may_arrive_before_the_fragment_with_its_hole() -> None:
    assert shown(filler(1, 2, "<item/>"), root(1)) == "<list><item[2-now]/></list>"


def test_a_filler_is_in_the_view_only_while_a_hole_refers_to_it() -> None:
    assert shown(root(), filler(1, 2, "<item/>")) == "<list/>"


def test_a_hole_whose_filler_has_not_come_is_empty() -> None:
    assert shown(filler(0, 1, f"<list>a{hole(1)}b</list>")) == "<list>ab</list>"


@pytest.mark.parametrize("last", [1, 2])
def test_a_hole_that_names_a_filler_it_stands_inside_is_empty_with_a_warning(last: int) -> None:
    view = look(
        root(1), filler(1, 2, f"<item>{hole(2)}</item>"), filler(2, 2, f"<item>{hole(last)}</item>")
    )
    assert short(serialize(view.document)) == ("<list><item[2-now]><item[2-now]/></item></list>")
    assert [warning.code for warning in view.warnings] == ["XCQL0302"]
    assert f"refers to the filler '{last}'" in view.warnings[0].message


def test_a_stream_without_a_root_is_an_empty_document() -> None:
    assert shown(filler(1, 2, "<item/>")) == ""
    assert look().document.children == []


# --- copies and order -------------------------------------------------------------------------


def test_a_hole_of_a_version_is_in_the_view_for_that_version() -> None:
    assert shown(
        root(1), filler(1, 2, f"<item>{hole(2)}</item>"), filler(1, 5, "<item/>"),
        filler(2, 3, "<price>9</price>"),
    ) == "<list><item[2-5]><price[3-now]>9</price></item><item[5-now]/></list>"  # fmt: skip


def test_a_filler_that_three_versions_refer_to_stands_three_times() -> None:
    versions = [filler(1, day, f"<item>{hole(2)}</item>") for day in (2, 3, 4)]
    bodies = [version.replace("<item>", f"<item n='{n}'>") for n, version in enumerate(versions)]
    view = look(root(1), *bodies, filler(2, 3, "<price>9</price>"))
    assert short(serialize(view.document)).count("<price[3-now]>9</price>") == 3


def test_a_hole_id_twice_in_one_parent_gives_two_copies() -> None:
    assert shown(root(1, 1), filler(1, 2, "<item/>")) == (
        "<list><item[2-now]/><item[2-now]/></list>"
    )


def test_order_is_that_of_the_holes_then_time() -> None:
    fragments = [
        root(3, 1, 2),
        filler(1, 4, "<item>1b</item>"),
        filler(1, 2, "<item>1a</item>"),
        filler(2, 1, "<note>2</note>"),
        filler(3, 9, "<note>3b</note>"),
        filler(3, 8, "<note>3a</note>"),
    ]
    assert shown(*fragments) == (
        "<list><note[8-8]>3a</note><note[9-9]>3b</note><item[2-4]>1a</item>"
        "<item[4-now]>1b</item><note[1-1]>2</note></list>"
    )


def test_white_space_inside_a_filler_s_element_is_kept_around_it_it_is_dropped() -> None:
    text = root(1) + '<filler id="1" tsid="4" validTime="2001-01-02">\n <item> a </item>\n</filler>'
    assert shown(text) == "<list><item[2-now]> a </item></list>"


def test_the_paper_s_chain_of_holes() -> None:
    assert shown(
        root(1), filler(1, 2, f"<item><name>n</name>{hole(2)}</item>"),
        filler(2, 3, f"<sale>{hole(3)}</sale>"),
        filler(3, 4, "<state>charged</state>"), filler(3, 6, "<state>suspended</state>"),
    ) == (
        "<list><item[2-now]><name>n</name><sale[3-3]><state[4-6]>charged</state>"
        "<state[6-now]>suspended</state></sale></item></list>"
    )  # fmt: skip


def test_a_plain_document_may_stand_for_a_stream() -> None:
    assert serialize(plain_view("<a><b/></a>").document) == "<a><b/></a>"


def test_the_root_may_be_temporal() -> None:
    tags = parse_tags('<structure><tag type="temporal" id="1" name="a"/></structure>')
    text = (
        '<filler id="0" tsid="1" validTime="2001-01-03"><a>2</a></filler>'
        '<filler id="0" tsid="1" validTime="2001-01-02"><a>1</a></filler>'
    )
    view = stream_view(text, tags, datetime(2002, 1, 1))
    assert short(serialize(view.document)) == "<a[2-3]>1</a><a[3-now]>2</a>"


# --- lifespans --------------------------------------------------------------------------------


def test_the_system_s_lifespan_overwrites_what_came_with_the_data() -> None:
    fragment = filler(1, 2, '<item vtTo="x" a="1" vtFrom="y"/>')
    view = look(root(1), fragment)
    assert serialize(view.document) == (
        '<list><item a="1" vtFrom="2001-01-02T00:00:00" vtTo="now"/></list>'
    )


def test_elements_inside_a_filler_s_element_keep_their_attributes() -> None:
    view = look(root(1), filler(1, 2, '<item><name vtFrom="x" vtTo="y"/></item>'))
    assert '<name vtFrom="x" vtTo="y"/>' in serialize(view.document)


def test_times_are_written_in_utc_without_a_zone() -> None:
    view = look(root(1), filler(1, "2001-1-2T01:00:00.50+02:00", "<note/>"))
    assert 'vtFrom="2001-01-01T23:00:00.5"' in serialize(view.document)


# --- everything survives ----------------------------------------------------------------------


def test_comments_instructions_namespaces_and_mixed_content_survive() -> None:
    tags = parse_tags(
        """<structure xmlns:p="urn:p"><tag type="snapshot" id="1" name="p:a">
        <tag type="temporal" id="2" name="b"><tag type="snapshot" id="3" name="p:c"/></tag>
        </tag></structure>"""
    )
    text = (
        '<f xmlns:q="urn:p" xmlns:stream="urn:any"><stream:filler id="0" tsid="1"><q:a>x'
        '<stream:hole id="1"/>y</q:a></stream:filler>'
        '<filler id="1" tsid="2" xmlns:r="urn:r"><b r:k="1"><!--c--><?d e?><z:c xmlns:z="urn:p"/>'
        "&#xD;&lt;<![CDATA[&]]></b></filler></f>"
    )
    view = stream_view(text, tags, datetime(2002, 1, 1))
    assert view.rejected == ()
    assert serialize(view.document) == (
        '<q:a xmlns:q="urn:p">x<b xmlns:r="urn:r" r:k="1" vtFrom="start" vtTo="now"><!--c--><?d e?>'
        '<z:c xmlns:z="urn:p"/>&#xD;&lt;&amp;</b>y</q:a>'
    )


def test_an_element_in_no_namespace_does_not_come_into_its_parent_s() -> None:
    tags = parse_tags(
        """<structure xmlns:p="urn:p"><tag type="snapshot" id="1" name="p:a">
        <tag type="temporal" id="2" name="b"/></tag></structure>"""
    )
    text = (
        '<filler id="0" tsid="1"><a xmlns="urn:p"><stream:hole id="1"/></a></filler>'
        '<filler id="1" tsid="2"><b/></filler>'
    )
    view = stream_view(text, tags, datetime(2002, 1, 1))
    assert '<b xmlns="" vtFrom' in serialize(view.document)


def test_a_chain_of_fillers_may_be_long() -> None:
    length = 3_000
    chain = [filler(n, 2, f"<item>{hole(n + 1)}</item>") for n in range(1, length)]
    view = look(root(1), *chain)
    assert serialize(view.document).count("<item ") == length - 1


def test_a_view_that_no_machine_can_hold_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_module, "MAX_ELEMENTS", 1000)
    doubling = [filler(n, 2, f"<item>{hole(n + 1)}{hole(n + 1)}</item>") for n in range(1, 50)]
    with pytest.raises(XcqlError) as caught:
        look(root(1), *doubling)
    assert caught.value.code == "XCQL0303"


# --- the document at an instant ---------------------------------------------------------------

HISTORY = [
    root(1, 2, 3),
    filler(1, 2, f"<item>a{hole(4)}</item>"),
    filler(1, 5, f"<item>b{hole(4)}</item>"),
    remove(1, 8),
    filler(2, 3, "<note>x</note>"),
    filler(2, 6, "<note>y</note>"),
    filler(4, 4, "<price>1</price>"),
    filler(4, 7, "<price>2</price>"),
]


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (1, "<list/>"),
        (2, "<list><item>a</item></list>"),
        (3, "<list><item>a</item><note>x</note></list>"),
        (4, "<list><item>a<price>1</price></item><note>x</note></list>"),
        (5, "<list><item>b<price>1</price></item><note>x</note></list>"),
        (7, "<list><item>b<price>2</price></item><note>x</note><note>y</note></list>"),
        (8, "<list><note>x</note><note>y</note></list>"),
        (9, "<list><note>x</note><note>y</note></list>"),
    ],
)
def test_the_document_at_an_instant(day: int, expected: str) -> None:
    assert at(day, *HISTORY) == expected


def test_the_document_at_an_instant_keeps_the_data_s_own_attributes() -> None:
    assert at(3, root(1), filler(1, 2, '<item vtFrom="x"/>')) == ('<list><item vtFrom="x"/></list>')


def test_a_snapshot_is_at_every_instant_as_it_is_now() -> None:
    fragments = [filler(0, 2, "<list>a</list>"), filler(0, 6, "<list>b</list>")]
    assert at(3, *fragments) == "<list>b</list>"
    assert at(3, *fragments, now="2001-01-04") == "<list>a</list>"


# --- properties -------------------------------------------------------------------------------

CHANGES = st.lists(
    st.tuples(
        st.sampled_from([1, 2, 3]),
        st.integers(1, 28),
        st.sampled_from(["a", "b", "remove"]),
    ),
    max_size=12,
    # one change per instant, so that the order of arrival does not matter
    unique_by=lambda change: change[:2],
)


def change(id: int, day: int, what: str) -> str:
    if what == "remove":
        return remove(id, day)
    return filler(id, day, f"<item>{what}</item>")


@given(changes=CHANGES, data=st.data())
def test_the_order_of_arrival_does_not_matter(
    changes: list[tuple[int, int, str]], data: st.DataObject
) -> None:
    fragments = [root(1, 2, 3), *(change(*c) for c in changes)]
    shuffled = data.draw(st.permutations(fragments + fragments[:3]))
    assert shown(*shuffled) == shown(*fragments)


@given(changes=CHANGES, day=st.integers(0, 29))
def test_the_document_at_an_instant_is_the_last_change_of_each(
    changes: list[tuple[int, int, str]], day: int
) -> None:
    expected = ""
    for id in (1, 2, 3):
        past = sorted(c for c in changes if c[0] == id and c[1] <= day)
        if past and past[-1][2] != "remove":
            expected += f"<item>{past[-1][2]}</item>"
    batch = read_all("".join([root(1, 2, 3), *(change(*c) for c in changes)]), TAGS)
    instant = datetime(2000, 12, 31) + timedelta(days=day)
    document = document_at(batch.fragments, TAGS, instant, datetime(2002, 1, 1)).document
    assert document.string_value() == expected.replace("<item>", "").replace("</item>", "")
    assert (serialize(document) == f"<list>{expected}</list>") or (
        not expected and serialize(document) == "<list/>"
    )


@given(changes=CHANGES, day=st.integers(1, 29))
def test_an_earlier_now_is_the_view_without_what_came_later(
    changes: list[tuple[int, int, str]], day: int
) -> None:
    now = datetime(2000, 12, 31) + timedelta(days=day)
    fragments = read_all("".join(change(*c) for c in changes), TAGS).fragments
    past = [f for f in fragments if f.valid_time is not None and f.valid_time <= now]
    assert histories(fragments, TAGS, now).by_id == histories(past, TAGS, now).by_id
    assert serialize(temporal_view(past, TAGS, now).document) == ""


@pytest.mark.parametrize(
    "content",
    [
        '<note by="a" lang="x">one<!-- c --><?p q?> two &lt; <![CDATA[<b>]]>&#65;</note>',
        '<note vtFrom="1999-01-01" vtTo="mine" by="a"/>',
        "<note xml:space='preserve' xml:id=' n '> </note>",
        '<note xmlns:p="urn:p" p:by="a"/>',
        "<note>a hole</note>",
        "<note/>",
    ],
)
@pytest.mark.parametrize("around", ["", ' xmlns:q="urn:q"', ' xmlns:stream="urn:s"'])
def test_content_is_the_same_whether_it_is_copied_or_parsed_in_its_place(
    content: str, around: str
) -> None:
    stream = f"<stream{around}>{root(1)}{filler(1, 2, content)}{filler(1, 3, content)}</stream>"
    batch = read_all(stream, TAGS)
    assert not batch.rejected
    found = histories(batch.fragments, TAGS, datetime(2002, 1, 1))
    views = [
        view_of_histories(found, TAGS).document,
        view_of_histories(found, TAGS, tree_of=content_tree).document,
    ]
    assert serialize(views[0]) == serialize(views[1])
    for view in views:
        nodes = [
            node for one in descendants(view) for node in (one, *getattr(one, "attributes", ()))
        ]
        assert nodes == sorted(nodes, key=lambda node: node.order)
        for node in nodes:
            if isinstance(node, AttributeNode):
                assert node.declared_type == ("ID" if str(node.name) == "xml:id" else "CDATA")


_TEXTS = ("x", " ", "\r", "]]", "<name>n</name>", "<!--c-->", "<![CDATA[<hole/>]]>", "&lt;")
_HOLES = ('<{}hole id="2"/>', '<{}hole id="3"></{}hole>', '<{}hole id="4"/>', '<{}hole id="1"/>')
_PIECES = st.lists(st.sampled_from((*_TEXTS, *_HOLES)), max_size=6).map("".join)


@given(_PIECES, _PIECES, st.sampled_from(["", ' stream:n="1"']))
def test_fragments_are_read_in_place_as_trees_of_them_are_copied(
    first: str, second: str, attribute: str
) -> None:
    def shown(prefix: str) -> str:
        item = f"<item{attribute}>{first}</item>".replace("{}", prefix)
        later = f"<item>{second}</item>".replace("{}", prefix)
        parts = [
            filler(0, None, f"<list>{hole(1)}</list>"),
            filler(1, 1, item),
            filler(1, 5, later),
            filler(2, 2, "<price>20</price>"),
            filler(3, 3, f'<sale>s<{prefix}hole id="5"/>t</sale>'),
            filler(3, 4, "<sale/>"),
            filler(5, 4, "<state>sold</state>"),
        ]
        text = f'<fragments xmlns:stream="urn:s">{"".join(parts)}</fragments>'
        batch = read_all(text, TAGS)
        assert not batch.rejected
        return serialize(temporal_view(batch.fragments, TAGS, datetime(2001, 2, 1)).document)

    assert shown("") == shown("stream:")
