"""Projections, lifespans, Allen's relations: sections 1, 2, 4, 5 and 6 of the language."""

from __future__ import annotations

from typing import Any

import pytest

import xcql
from tests.evaluate.answers import answer, failure

NOW = "2004-01-01T00:00:00"
# a list (no lifespan of its own) with an item of two versions, one event, and a note without time
VIEW = """<list>
<item vtFrom="2003-01-01T00:00:00" vtTo="2003-06-01T00:00:00" n="1"><v>a</v>
  <sub vtFrom="start" vtTo="2003-03-01T00:00:00">s</sub></item>
<item vtFrom="2003-06-01T00:00:00" vtTo="now" n="2"><v>b</v></item>
<event vtFrom="2003-05-05T00:00:00" vtTo="2003-05-05T00:00:00"/>
<note>always</note>
</list>"""


def ask(query: str, **options: Any) -> str:
    options.setdefault("streams", {"s": VIEW})
    options.setdefault("now", NOW)
    return answer(query, **options)


def wrong(query: str, **options: Any) -> str:
    options.setdefault("streams", {"s": VIEW})
    return failure(query, now=NOW, **options).code


class TestTime:
    def test_now_is_one_instant_without_a_zone(self) -> None:
        assert ask("now(), current-dateTime()") == "2004-01-01T00:00:00 2004-01-01T00:00:00Z"
        assert ask("now()", now="2004-01-01T01:00:00+01:00") == "2004-01-01T00:00:00"

    def test_start(self) -> None:
        assert ask("start()") == "0001-01-01T00:00:00"

    def test_the_wall_clock_is_the_default(self) -> None:
        query = "now() > xs:dateTime('2024-01-01T00:00:00'), now() eq now()"
        assert ask(query, now=None) == "true true"

    def test_paper_spellings(self) -> None:
        assert ask("currentDateTime(), currentDate()") == "2004-01-01T00:00:00Z 2004-01-01Z"

    def test_time_words_are_names_elsewhere(self) -> None:
        assert answer("/now/last", "<now><last>x</last></now>") == "<last>x</last>"


class TestLifespan:
    def test_of_an_element_with_attributes(self) -> None:
        assert ask("stream('s')//item[1] ! (vtFrom(.), vtTo(.))") == (
            "2003-01-01T00:00:00 2003-06-01T00:00:00"
        )

    def test_the_symbol_now_is_the_instant_of_evaluation(self) -> None:
        assert ask("vtTo(stream('s')//item[2])") == NOW

    def test_of_another_element_covers_its_children(self) -> None:
        # the note has no lifespan and no child elements: it is valid from start to now
        assert ask("stream('s')/list ! (vtFrom(.), vtTo(.))") == f"0001-01-01T00:00:00 {NOW}"
        built = "<x>{ stream('s')//event }</x> ! (vtFrom(.), vtTo(.))"
        assert ask(built) == "2003-05-05T00:00:00 2003-05-05T00:00:00"
        assert ask("vtFrom(document { stream('s')//event })") == "2003-05-05T00:00:00"

    def test_of_a_leaf_is_all_of_time(self) -> None:
        assert ask("vtFrom(<a>x</a>), vtTo(<a>x</a>)") == f"0001-01-01T00:00:00 {NOW}"

    def test_of_an_empty_sequence_is_empty_and_of_several_nodes_an_error(self) -> None:
        assert ask("vtFrom(()), vtTo(())") == ""
        assert wrong("vtFrom(stream('s')//item)") == "XPTY0004"
        assert wrong("vtFrom(1)") == "XPTY0004"

    def test_of_an_attribute_or_text_is_that_of_the_nearest_element_with_its_own(self) -> None:
        assert ask("vtFrom(stream('s')//item[1]/@n)") == "2003-01-01T00:00:00"
        assert ask("vtFrom(stream('s')//item[1]/v/text())") == "2003-01-01T00:00:00"
        assert ask("vtTo(stream('s')//sub/text())") == "2003-03-01T00:00:00"
        always = f"0001-01-01T00:00:00 {NOW}"
        assert ask("stream('s')//note/text() ! (vtFrom(.), vtTo(.))") == always
        # the content of an element affects the element, not its attributes
        built = "<x a='1'>{ stream('s')//event }</x>"
        assert ask(f"vtFrom({built}/@a), vtFrom({built})") == (
            "0001-01-01T00:00:00 2003-05-05T00:00:00"
        )
        assert ask("attribute a {1} ! vtFrom(.)") == "0001-01-01T00:00:00"
        assert ask("stream('s')//item[@n before [2003-07-01, now]]/v/string()") == "a"

    def test_invalid_times(self) -> None:
        assert wrong("vtFrom(<a vtFrom='soon' vtTo='now'/>)") == "XCQL0002"


class TestIntervalProjection:
    def test_keeps_what_is_valid_and_clips_it(self) -> None:
        assert ask("stream('s')//item?[2003-02-01, 2003-07-01]") == (
            '<item vtFrom="2003-02-01T00:00:00" vtTo="2003-06-01T00:00:00" n="1"><v>a</v>\n'
            '  <sub vtFrom="2003-02-01T00:00:00" vtTo="2003-03-01T00:00:00">s</sub></item>'
            ' <item vtFrom="2003-06-01T00:00:00" vtTo="2003-07-01T00:00:00" n="2"><v>b</v></item>'
        )

    def test_now_becomes_an_instant(self) -> None:
        assert ask("stream('s')//item?[now]/@vtTo/string()") == NOW
        assert ask("stream('s')//item?[start, now]/@vtTo/string()") == f"2003-06-01T00:00:00 {NOW}"

    def test_start_stays_where_lifespan_and_projection_begin_there(self) -> None:
        assert ask("stream('s')//sub?[start, now]/@vtFrom/string()") == "start"
        assert ask("stream('s')//sub?[2003-01-01, now]/@vtFrom/string()") == "2003-01-01T00:00:00"
        assert ask("stream('s')//item?[start, now]/@vtFrom/string()") == (
            "2003-01-01T00:00:00 2003-06-01T00:00:00"
        )

    def test_at_the_instant_of_a_change_both_versions_are_valid(self) -> None:
        assert ask("stream('s')//item?[2003-06-01]/v/string()") == "a b"
        assert ask("stream('s')//item?[2003-06-01T00:00:00.000001]/v/string()") == "b"

    def test_elements_without_a_lifespan_stay(self) -> None:
        assert ask("count(stream('s')?[1999-01-01]//*), stream('s')?[1999-01-01]/list/note") == (
            "2 <note>always</note>"
        )

    def test_of_a_document_is_a_document(self) -> None:
        assert ask("stream('s')?[now] instance of document-node(element(list))") == "true"

    def test_gives_new_trees_without_a_parent(self) -> None:
        assert ask("count(stream('s')//item?[now]/..)") == "0"
        assert ask("let $i := stream('s')//item[2] return $i?[now] is $i") == "false"
        assert ask("stream('s') is stream('s')") == "true"
        assert ask("let $p := stream('s')//item?[start, now] return $p[1] << $p[2]") == "true"

    def test_other_items_pass_through(self) -> None:
        assert ask("(1, 'a')?[1999-01-01]") == "1 a"

    def test_attributes_and_text_follow_their_element(self) -> None:
        assert ask("stream('s')//item/@n?[2003-02-01]") == 'n="1"'
        assert ask("stream('s')//item/v/text()?[2003-07-01]") == "b"
        assert ask("stream('s')//note/text()?[1999-01-01]") == "always"
        assert ask("stream('s')//note/text()?[2999-01-01]") == ""
        assert ask("stream('s')//item/@n#[last]") == 'n="2"'
        assert ask("count(stream('s')//item/@n?[now]/..), count(stream('s')//v/text()#[1]/..)") == (
            "0 0"
        )

    def test_an_element_keeps_its_attributes_and_text(self) -> None:
        assert ask("stream('s')//item[1]/v?[1999-01-01]") == "<v>a</v>"

    def test_applies_to_the_whole_path_and_predicates_after_it_filter_its_value(self) -> None:
        assert ask("stream('s')//item[v = 'b']?[now][1]/@n/string()") == "2"
        assert ask("count(stream('s')/list/item?[2003-06-01][2])") == "1"

    def test_bounds_are_any_expression(self) -> None:
        assert ask("stream('s')//item?[now - P1Y, now - PT1H]/@n/string()") == "1 2"
        begin = "vtFrom(stream('s')//event)"
        assert ask(f"stream('s')//event?[{begin} - PT1S, now] ! name()") == "event"
        assert ask("stream('s')//item?['2003-2-1']/v/string()") == "a"
        assert ask("stream('s')//item?[stream('s')//event/@vtFrom]/v/string()") == "a"
        assert ask("stream('s')//item?['now', 'now']/v/string()") == "b"
        assert ask("let $d := xs:date('2003-02-01') return stream('s')//item?[$d]/@n/string()") == (
            "1"
        )

    def test_zones_are_respected(self) -> None:
        # one hour east of Greenwich, midnight is one hour earlier
        assert ask("count(stream('s')//event?[2003-05-05T01:00:00+01:00])") == "1"
        assert ask("count(stream('s')//event?[2003-05-05T00:00:00+01:00])") == "0"

    def test_empty_and_backward_intervals_give_nothing(self) -> None:
        assert ask("stream('s')?[2003-02-01, 2003-01-01]") == ""
        assert ask("stream('s')?[(), now], stream('s')//item?[()]") == ""

    def test_wrong_bounds(self) -> None:
        assert wrong("stream('s')?[1]") == "XCQL0002"
        assert wrong("stream('s')?['soon']") == "XCQL0002"
        assert wrong("stream('s')?[(now, now)]") == "XPTY0004"
        assert wrong("stream('s')?[2003-02-31]") == "XPST0003"

    def test_constructed_elements_have_lifespans_too(self) -> None:
        made = "<a vtFrom='2003-01-01' vtTo='2003-02-01'>x</a>"
        assert ask(f"{made}?[2003-01-15, now]") == (
            '<a vtFrom="2003-01-15T00:00:00" vtTo="2003-02-01T00:00:00">x</a>'
        )
        assert ask(f"{made}?[now]") == ""

    def test_mixed_content_comments_and_namespaces_are_kept(self) -> None:
        query = "<p:a xmlns:p='u' p:k='1'>x<b/>y<!--c--><?d e?></p:a>?[now]"
        assert ask(query) == '<p:a xmlns:p="u" p:k="1">x<b/>y<!--c--><?d e?></p:a>'


class TestVersionProjection:
    def test_selects_items_of_the_value(self) -> None:
        assert ask("stream('s')//item#[1]/@n/string()") == "1"
        assert ask("stream('s')//item#[last]/@n/string()") == "2"
        assert ask("stream('s')//item#[last-1]/@n/string()") == "1"
        assert ask("stream('s')//item#[1, last]/@n/string()") == "1 2"
        assert ask("stream('s')//item#[1, 10]/@n/string()") == "1 2"
        assert ask("(1, 2, 3)#[2, 3]") == "2 3"

    def test_keeps_the_items_attributes_and_slices_their_content(self) -> None:
        view = """<a vtFrom="2003-01-01T00:00:00" vtTo="now">
          <b vtFrom="start" vtTo="now">1</b><b vtFrom="2000-01-01" vtTo="2001-01-01">0</b></a>"""
        assert ask("stream('s')/a#[1]", streams={"s": view}) == (
            '<a vtFrom="2003-01-01T00:00:00" vtTo="now">\n          '
            f'<b vtFrom="2003-01-01T00:00:00" vtTo="{NOW}">1</b></a>'
        )

    def test_out_of_range_is_empty(self) -> None:
        assert ask("stream('s')//item#[0], stream('s')//item#[3], ()#[last]") == ""
        assert ask("stream('s')//item#[2, 1]") == ""
        assert ask("count(stream('s')//item#[0, 1]), count(stream('s')//item#[()])") == "1 0"

    def test_bounds_must_be_integers(self) -> None:
        assert wrong("stream('s')//item#['a']") == "XPTY0004"
        assert wrong("stream('s')//item#[1.5]") == "XPTY0004"
        assert wrong("stream('s')//item#[(1, 2)]") == "XPTY0004"
        assert wrong("stream('s')//item#[xs:untypedAtomic('x')]") == "XPTY0004"

    def test_inner_projections_have_their_own_last(self) -> None:
        assert ask("stream('s')//item#[count((1 to 5)#[last])]/@n/string()") == "1"


ALLEN = [
    ("[2003-01-01, 2003-02-01]", "[2003-03-01, 2003-04-01]", "before"),
    ("[2003-01-01, 2003-02-01]", "[2003-02-01, 2003-04-01]", "meets"),
    ("[2003-01-01, 2003-03-01]", "[2003-02-01, 2003-04-01]", "overlaps"),
    ("[2003-01-01, 2003-02-01]", "[2003-01-01, 2003-04-01]", "starts"),
    ("[2003-02-01, 2003-03-01]", "[2003-01-01, 2003-04-01]", "during"),
    ("[2003-02-01, 2003-04-01]", "[2003-01-01, 2003-04-01]", "finishes"),
    ("[2003-01-01, 2003-04-01]", "[2003-01-01, 2003-04-01]", "equals"),
]
INVERSE = {
    "before": "after",
    "meets": "met-by",
    "overlaps": "overlapped-by",
    "starts": "started-by",
    "during": "contains",
    "finishes": "finished-by",
    "equals": "equals",
}


class TestAllen:
    @pytest.mark.parametrize(("a", "b", "relation"), ALLEN)
    def test_each_relation_holds_only_where_it_should(self, a: str, b: str, relation: str) -> None:
        relations = {*INVERSE, *INVERSE.values()}
        assert {r for r in relations if ask(f"{a} {r} {b}") == "true"} == {relation}
        assert {r for r in relations if ask(f"{b} {r} {a}") == "true"} == {INVERSE[relation]}

    def test_operands_are_nodes_or_intervals(self) -> None:
        assert ask("stream('s')//item[1] meets stream('s')//item[2]") == "true"
        assert ask("stream('s')//event during stream('s')//item[1]") == "true"
        assert ask("stream('s')//item[1] before [now]") == "true"
        assert ask("stream('s')//item[. during [start, 2003-12-31]]/@n/string()") == "1"

    def test_with_instants_several_relations_can_hold(self) -> None:
        point = "[2003-01-01]"
        assert ask(f"{point} equals {point}, {point} meets {point}") == "true true"

    def test_empty_operands(self) -> None:
        assert ask("() before [now], stream('s')//nothing meets stream('s')//item[1]") == ""
        assert ask("[(), now] before [now], [now, start] before [now]") == ""

    def test_wrong_operands(self) -> None:
        assert wrong("stream('s')//item before [now]") == "XPTY0004"
        assert wrong("1 before [now]") == "XPTY0004"


class TestStreams:
    def test_the_only_stream_needs_no_name(self) -> None:
        assert ask("name(stream()/*)") == "list"
        assert wrong("stream()", streams={"a": VIEW, "b": VIEW}) == "XCQL0004"

    def test_an_unknown_stream_gets_a_suggestion(self) -> None:
        problem = failure('stream("credits")', streams={"credit": VIEW})
        assert problem.code == "XCQL0004"
        assert problem.diagnostic.hints == ('did you mean stream("credit")?',)

    def test_a_later_now_sees_more(self) -> None:
        tags = """<structure><tag type="snapshot" id="1" name="l">
          <tag type="temporal" id="2" name="x"/></tag></structure>"""
        fragments = """<f><filler id="0" tsid="1"><l><hole id="1" tsid="2"/></l></filler>
          <filler id="1" tsid="2" validTime="2003-01-01"><x>a</x></filler>
          <filler id="1" tsid="2" validTime="2003-02-01"><x>b</x></filler></f>"""
        streams = {"s": (fragments, tags)}
        assert ask("stream('s')//x/string()", streams=streams, now="2002-01-01") == ""
        assert ask("stream('s')//x", streams=streams, now="2003-01-15") == (
            '<x vtFrom="2003-01-01T00:00:00" vtTo="now">a</x>'
        )
        assert ask("stream('s')//x/string()", streams=streams) == "a b"
        assert ask("stream('s')?[now]//x/string()", streams=streams) == "b"

    def test_invalid_fragments_give_warnings(self) -> None:
        tags = '<structure><tag type="snapshot" id="1" name="l"/></structure>'
        fragments = """<f><filler id="0" tsid="1"><l/></filler>
          <filler id="1" tsid="9"><x/></filler></f>"""
        result = xcql.evaluate("stream('s')/*", streams={"s": (fragments, tags)})
        assert result.serialize() == "<l/>"
        assert [warning.code for warning in result.warnings] == ["XCQL0007"]
