"""Everything that XCQL adds to XQuery, sentence by sentence of the language's definition."""

from __future__ import annotations

import pytest

from tests.parser.canonical import body, canonical, rejected
from xcql import parse
from xcql.syntax.functions import FunctionCall
from xcql.syntax.operators import Binary
from xcql.syntax.path import AxisStep, Filter, Lookup, Path
from xcql.syntax.temporal import (
    ALLEN_RELATIONS,
    AllenComparison,
    DateLiteral,
    DateTimeLiteral,
    DurationLiteral,
    IntervalProjection,
    LastVersion,
    Now,
    Start,
    TimeInterval,
    VersionProjection,
)

# ---------------------------------------------------------------- the signs


@pytest.mark.parametrize(
    "query",
    [
        "$a?[now]",
        "$a ?[now]",
        "$a? [now]",
        "$a ? [ now ]",
        "$a?\n\t[now]",
        "$a(: x :)?(: [ :)[(: ] :)now(: ( :)]",
        "$a?(: outer (: inner :) :)[now]",
    ],
)
def test_white_space_and_comments_between_tokens(query: str) -> None:
    assert canonical(query) == "$a?[now]"


def test_both_projections_with_one_and_two_bounds() -> None:
    assert isinstance(body("$a?[now]"), IntervalProjection)
    assert canonical("$a?[start,now]") == "$a?[start, now]"
    assert isinstance(body("$a#[1]"), VersionProjection)
    assert canonical("$a # [ 1 , last ]") == "$a#[1, last]"
    rejected("$a?[]")
    rejected("$a#[]")
    rejected("$a?[1, 2, 3]")
    rejected("$a#[1, 2, 3]")


@pytest.mark.parametrize(
    "query",
    [
        "$m?a?[now]",
        "$m?1?[now]",
        "$m?*?[now]",
        "$m?(a)?[now]",
        "f#1#[1]",
        "f#[1]",
        "f(?)?[now]",
        "?a?[now]",
        '"x"?[now]',
    ],
)
def test_lookups_and_arities_are_not_projections(query: str) -> None:
    assert isinstance(body(query), IntervalProjection | VersionProjection)
    assert isinstance(body("$m?a"), Lookup)


# ---------------------------------------------------------------- what a projection applies to


def test_a_projection_applies_to_the_whole_path() -> None:
    tree = body('stream("c")//t[vendor="ABC"]#[1,10]')
    assert isinstance(tree, VersionProjection)
    assert isinstance(tree.base, Path)
    assert len(tree.base.steps) == 3


def test_a_path_continues_after_a_projection() -> None:
    tree = body("a/b?[now]/c#[1]/d")
    assert isinstance(tree, Path)
    versions, last_step = tree.steps
    assert isinstance(versions, VersionProjection)
    assert isinstance(last_step, AxisStep)
    assert canonical("a/b?[now]/c#[1]/d") == "a/b?[now]/c#[1]/d"
    assert canonical("a?[now]//b") == "a?[now]//b"


def test_a_predicate_after_a_projection_filters_its_value() -> None:
    tree = body("a/b?[now][1]")
    assert isinstance(tree, Filter)
    assert isinstance(tree.base, IntervalProjection)
    before = body("a/b[1]?[now]")
    assert isinstance(before, IntervalProjection)


def test_parentheses_make_a_projection_a_step() -> None:
    tree = body("a/(b?[now])")
    assert isinstance(tree, Path)
    assert isinstance(tree.steps[1], IntervalProjection)
    assert canonical("a/(b?[now])") == "a/(b?[now])"
    assert canonical("(a/b)?[now]") == "a/b?[now]"


def test_projections_chain() -> None:
    assert canonical("$a?[start,now]#[last]?[now]") == "$a?[start, now]#[last]?[now]"


def test_projections_bind_tighter_than_operators() -> None:
    assert canonical("1 + $a?[now]") == "1 + $a?[now]"
    assert canonical("(1 + $a)?[now]") == "(1 + $a)?[now]"
    assert canonical("-$a?[now]") == "-$a?[now]"
    assert canonical("$a!b?[now]") == "$a ! b?[now]"


@pytest.mark.parametrize("query", ["/?[now]", "/ ? [now]", "(/)?[now]"])
def test_the_root_can_be_projected(query: str) -> None:
    assert canonical(query) == "/?[now]"
    assert canonical("/#[1]") == "/#[1]"
    assert canonical("/?[now]/a") == "/?[now]/a"
    assert canonical("//a?[now]") == "//a?[now]"


def test_a_call_after_a_projection() -> None:
    assert canonical("$f?[now](1)?a") == "$f?[now](1)?a"


# ---------------------------------------------------------------- literals of time


@pytest.mark.parametrize(
    "text", ["2003-11-01", "2003-11-01Z", "2003-11-01+02:00", "2003-11-01-14:00", "0001-01-01"]
)
def test_dates(text: str) -> None:
    tree = body(f"$a?[{text}]")
    assert isinstance(tree, IntervalProjection)
    assert isinstance(tree.interval.begin, DateLiteral)
    assert tree.interval.begin.text == text


@pytest.mark.parametrize(
    "text",
    [
        "2003-10-23T12:23:34",
        "2003-10-23T12:23:34.5",
        "2003-10-23T12:23:34.123456789",
        "2003-10-23T12:23:34Z",
        "2003-10-23T12:23:34.25-05:00",
    ],
)
def test_date_times(text: str) -> None:
    tree = body(f"$a?[start, {text}]")
    assert isinstance(tree, IntervalProjection)
    assert isinstance(tree.interval.end, DateTimeLiteral)
    assert tree.interval.end.text == text


@pytest.mark.parametrize(
    "text",
    [
        "PT1M",
        "P1Y2M",
        "P3DT4H",
        "P1Y",
        "P1M",
        "P1D",
        "PT1H",
        "PT1.5S",
        "PT1H2M3S",
        "P1Y2M3DT4H5M6S",
    ],
)
def test_durations(text: str) -> None:
    tree = body(f"$a?[now-{text}, now]")
    assert isinstance(tree, IntervalProjection)
    difference = tree.interval.begin
    assert isinstance(difference, Binary)
    assert isinstance(difference.left, Now)
    assert isinstance(difference.right, DurationLiteral)
    assert difference.right.text == text


@pytest.mark.parametrize(
    ("query", "reading"),
    [
        ("$a?[now-PT1H]", "$a?[now - PT1H]"),
        ("$a?[now - PT1H, now]", "$a?[now - PT1H, now]"),
        ("$a?[2003-11-01-P1D]", "$a?[2003-11-01 - P1D]"),
        ("$a?[2003-11-01T00:00:00-PT1H]", "$a?[2003-11-01T00:00:00 - PT1H]"),
        ("$a?[start+P1Y]", "$a?[start + P1Y]"),
        ("$a?[-P1D+now]", "$a?[-P1D + now]"),
        ("$a#[last-1]", "$a#[last - 1]"),
        ("$a#[last-1,last]", "$a#[last - 1, last]"),
        ("$a#[now-x]", "$a#[now - x]"),
        ("$a?[vtFrom($a)+PT1M, now]", "$a?[vtFrom($a) + PT1M, now]"),
        ("$a?[(now)]", "$a?[now]"),
        ("$a?[if (x) then now else start]", "$a?[if (x) then now else start]"),
        ("$a?[now()]", "$a?[now()]"),
        ("$a?[b[last()]]", "$a?[b[last()]]"),
    ],
)
def test_literals_end_before_a_minus(query: str, reading: str) -> None:
    assert canonical(query) == reading


@pytest.mark.parametrize(
    "query",
    [
        "$a?[$start-date]",
        "$a?[$now-1]",
        "$a?[./child::now]",
        "$a?[b/child::last]",
        "$a?[@now]",
        "$a?[nowhere]",
        "$a?[startled-x]",
        "$a?[lasting]",
        "$a?[Pa]",
        "$a?[p:now]",
        "$a?[p:now-x]",
        '$m?[$m?("now")]',
    ],
)
def test_names_that_only_look_like_times(query: str) -> None:
    assert canonical(query) == query


def test_an_element_called_now_is_written_with_a_path() -> None:
    tree = body("$a?[./now]")
    assert tree == body("$a?[./child::now]")
    assert isinstance(tree, IntervalProjection)
    assert isinstance(tree.interval.begin, Path)
    assert canonical("$a?[b//now-x]") == "$a?[b//child::now-x]"


@pytest.mark.parametrize(
    ("query", "reading"),
    [
        ("2003-11-01", "2003 - 11 - 1"),
        ("now", "now"),
        ("now-PT1H", "now-PT1H"),
        ("last-1", "last-1"),
        ("PT1M", "PT1M"),
        ("start", "start"),
        ("$a[now]", "$a[now]"),
        ("$a[2003-11-01]", "$a[2003 - 11 - 1]"),
        ("[2003-11-01, now]", "[2003 - 11 - 1, now]"),
        ("now()", "now()"),
        ("start()", "start()"),
        ("$a?[now], now-1", "$a?[now], now-1"),
        ("$a?[b[c]], 2003-11-01", "$a?[b[c]], 2003 - 11 - 1"),
    ],
)
def test_outside_an_interval_they_mean_what_xquery_says(query: str, reading: str) -> None:
    assert canonical(query) == reading
    if query in ("now", "start"):
        assert isinstance(body(query), AxisStep)
    if query == "now()":
        assert isinstance(body(query), FunctionCall)


def test_dates_in_a_version_interval_are_subtractions() -> None:
    assert canonical("$a#[2003-11-01]") == "$a#[2003 - 11 - 1]"
    assert canonical("$a#[PT1M]") == "$a#[child::PT1M]"
    tree = body("$a#[now, start]")
    assert isinstance(tree, VersionProjection)
    assert isinstance(tree.first, Now)
    assert isinstance(tree.last, Start)


def test_the_innermost_interval_counts() -> None:
    assert canonical("$a?[$b#[2003-11-01]]") == "$a?[$b#[2003 - 11 - 1]]"
    assert canonical("$a#[$b?[2003-11-01]]") == "$a#[$b?[2003-11-01]]"
    assert canonical("$a?[$b#[last], 2003-11-01]") == "$a?[$b#[last], 2003-11-01]"
    assert canonical("$a?[f(b[2003-11-01])]") == "$a?[f(b[2003-11-01])]"


def test_inside_constructors_in_an_interval() -> None:
    assert canonical("$a?[<now now='now'>{now}</now>]") == '$a?[<now now="now">{ now }</now>]'
    assert canonical("$a?[``[now `{now-PT1H}`]``]") == "$a?[``[now `{ now - PT1H }`]``]"
    assert canonical("<a>{$x?[now]} now-1</a>") == "<a>{ $x?[now] } now-1</a>"
    assert canonical("<a b='{$x?[now]}'/>") == '<a b="{ $x?[now] }"/>'


@pytest.mark.parametrize(
    "query",
    [
        "$a?[b/(now)]",
        "$a?[/(PT1M)//(2003-11-01)]",
        "$a#[b/(last[1])]",
        "$a?[now/b]",
        "$a?[(now)()]",
    ],
)
def test_a_literal_as_a_step_keeps_its_parentheses(query: str) -> None:
    assert canonical(query) == query


def test_in_string_templates() -> None:
    assert canonical("``[a `{$x?[2003-11-01]}` #[1] ?[now]]``") == (
        "``[a `{ $x?[2003-11-01] }` #[1] ?[now]]``"
    )


def test_last_belongs_to_versions() -> None:
    tree = body("$a#[last]")
    assert isinstance(tree, VersionProjection)
    assert isinstance(tree.first, LastVersion)
    problem = rejected("$a?[last]")
    assert "#[ ]" in problem.message
    rejected("$a#[$b?[last]]")
    rejected("$a before [last]")


@pytest.mark.parametrize(
    "text",
    [
        "2003-13-01",
        "2003-02-29",
        "2003-00-10",
        "2003-10-23T25:00:00",
        "2003-10-23T12:60:00",
        "0000-01-01",
        "2003-11-01+15:00",
        "2003-11-01+99:99",
        "2003-10-23T12:00:00+14:01",
    ],
)
def test_invalid_dates_and_times(text: str) -> None:
    problem = rejected(f"$a?[\n  {text}]")
    assert text in problem.message
    assert (problem.line, problem.column) == (2, 3)


def test_a_window_inside_an_interval_keeps_its_start() -> None:
    query = "$a?[for tumbling window $w in b start when c end when d return now]"
    assert canonical(query) == query


# ---------------------------------------------------------------- Allen's relations


@pytest.mark.parametrize("relation", ALLEN_RELATIONS)
def test_every_relation(relation: str) -> None:
    tree = body(f"$a {relation} $b")
    assert isinstance(tree, AllenComparison)
    assert tree.relation == relation
    both = body(f"[2003-11-01, now] {relation} [start, 2003-10-23T12:23:34 - PT1M]")
    assert isinstance(both, AllenComparison)
    assert isinstance(both.left, TimeInterval)
    assert isinstance(both.left.begin, DateLiteral)
    assert isinstance(both.right, TimeInterval)
    assert isinstance(both.right.begin, Start)


@pytest.mark.parametrize("relation", ALLEN_RELATIONS)
def test_relation_words_are_names_everywhere_else(relation: str) -> None:
    assert canonical(f"{relation} {relation} {relation}") == f"{relation} {relation} {relation}"
    for query in (
        relation,
        f"$a/{relation}",
        f"${relation}",
        f"@{relation}",
        f"{relation}(1, 2)",
        f"{relation}[1]",
        f"<{relation}/>",
        f"element {relation} {{}}",
        f"{relation}#2",
        f"$a => {relation}(1)",
    ):
        assert canonical(query) == query


def test_contains_is_still_a_function() -> None:
    assert isinstance(body('contains("a", "b")'), FunctionCall)
    assert canonical('a[contains(., "b")]') == 'a[contains(., "b")]'
    assert isinstance(body('a contains ("b")'), AllenComparison)


@pytest.mark.parametrize(
    "query",
    [
        "a[. before [2003-11-01, now]]",
        "a[b/c during [start, now] and d]",
        "for $x in a where $x before [2003-11-01] return $x",
        "if (a overlaps b) then c else d",
        "text before [2003-11-01]",
        "count before [2003-11-01, now]",
        "$t/order before [2003-11-01]",
        "text() before [2003-11-01]",
        "[2003-11-01] before order",
        "a[[2003-11-01] before b]",
        "f([2003-11-01] before b, [now] after c)",
        "<!--x--> before [2003-11-01]",
        "``[x]`` before [2003-11-01]",
        '"x" before [2003-11-01]',
        "$x treat as item()? before [2003-11-01]",
        "$x cast as xs:string? before [2003-11-01]",
        "typeswitch (1)\n  case a? return [2003-11-01] before b\n  default return 1",
        "typeswitch (1)\n  case %a %b(1) function(*)? return [now] before b\n  default return 1",
        "typeswitch (1)\n  case a* | item()? return [2003-11-01] before b\n  default return 1",
        "a/([now] before b)",
        "a//(b, [now, now] before c)",
        "$a?[now] before [2003-11-01]",
        "$a?[now] before $b?[now]",
        "<a>{ b before [2003-11-01] }</a>",
        "$a?[if (b before [2003-11-01]) then now else start]",
        "[now] before [vtFrom($x), vtTo($x)]",
        "a before b or c before d",
        "not(a before b)",
    ],
)
def test_intervals_next_to_a_relation_are_times(query: str) -> None:
    assert canonical(query) == query


@pytest.mark.parametrize(
    ("query", "reading"),
    [
        ("for $x in a return before[2003-11-01]", "for $x in a return before[2003 - 11 - 1]"),
        (
            "for $x in a order by before[2003-11-01] return 1",
            "for $x in a order by before[2003 - 11 - 1] return 1",
        ),
        ("if (a) then before[now] else after[now]", "if (a) then before[now] else after[now]"),
        ("a/before[2003-11-01]", "a/before[2003 - 11 - 1]"),
        ("a, before[2003-11-01]", "a, before[2003 - 11 - 1]"),
        ("1 + before[2003-11-01]", "1 + before[2003 - 11 - 1]"),
        ("a[2003-11-01] before b", "a[2003 - 11 - 1] before b"),
        ("([2003-11-01]) before b", "([2003 - 11 - 1]) before b"),
        ("a/[2003-11-01] before b", "a/[2003 - 11 - 1] before b"),
    ],
)
def test_brackets_that_are_not_intervals(query: str, reading: str) -> None:
    assert canonical(query) == reading


def test_an_array_in_parentheses_is_an_array() -> None:
    tree = body("([1, 2]) before $b")
    assert isinstance(tree, AllenComparison)
    assert not isinstance(tree.left, TimeInterval)


@pytest.mark.parametrize(
    "query",
    ["a before b before c", "a before b = c", "a = b before c", "[] before a", "[1,2,3] before a"],
)
def test_relations_do_not_associate(query: str) -> None:
    rejected(query)


def test_relations_have_the_precedence_of_comparisons() -> None:
    tree = body("a || b before c + 1")
    assert isinstance(tree, AllenComparison)
    assert isinstance(body("a before b and c before d"), Binary)


# ---------------------------------------------------------------- spellings of the papers


@pytest.mark.parametrize(
    ("query", "standard", "words"),
    [
        ("<a id={ $x }/>", '<a id="{ $x }"/>', 'id="{ ... }"'),
        ("<a id={1} b='2' c = {3}>x</a>", '<a id="{ 1 }" b="2" c="{ 3 }">x</a>', 'id="{ ... }"'),
        ("currentDateTime()", "current-dateTime()", "current-dateTime"),
        ("currentDate()", "current-date()", "current-date"),
        ("max($a, 5)", "max(($a, 5))", "max((a, b))"),
        ("min($a, -1.5)", "min(($a, -1.5))", "min((a, b))"),
        ("max($a, $b + 1)", "max(($a, $b + 1))", "max((a, b))"),
        (
            "define function f($x) { $x } f(1)",
            "declare function local:f($x) { $x };\nlocal:f(1)",
            "declare function local:f",
        ),
        (
            "define function f($x) { g#1 };"
            "define function g($y as node()) as node() { f($y) }; f#1",
            "declare function local:f($x) { local:g#1 };\n"
            "declare function local:g($y as node()) as node() { local:f($y) };\nlocal:f#1",
            "declare function local:f",
        ),
        (
            "for $x in a return $x sortby (b descending, c)",
            "for $x in a order by b descending, c return $x",
            "order by",
        ),
        ("stream(credit)//a", 'stream("credit")//a', '"credit"'),
        ("stream(order)", 'stream("order")', '"order"'),
    ],
)
def test_a_paper_spelling_parses_with_a_warning(query: str, standard: str, words: str) -> None:
    tree = parse(query)
    assert canonical(query) == standard
    assert tree.warnings
    assert words in tree.warnings[0].hints[0]
    assert tree.warnings[0].severity == "warning"
    assert tree.warnings[0].span is not None
    assert parse(standard) == tree
    assert not parse(standard).warnings


def test_a_stream_without_a_name_gives_a_warning() -> None:
    [warning] = parse("stream()//a").warnings
    assert warning.code == "XCQL0001"
    assert 'stream("name")' in warning.hints[0]


@pytest.mark.parametrize(
    "query",
    [
        'stream("a")',
        "stream($a)",
        "stream(./a)",
        "stream(a/b)",
        "stream(@a)",
        "max($a)",
        'max($a, "http://example.org/collation")',
        "max($a, $b)",
        "f:max($a, 5)",
        "my:stream(a)",
        "currentDate(1)",
        "sortby",
        "define",
        "define + sortby",
        '<a id="{ 1 }"/>',
    ],
)
def test_standard_spellings_give_no_warning(query: str) -> None:
    assert not parse(query).warnings
    assert canonical(query) == query


def test_a_library_module_has_warnings_too() -> None:
    query = 'module namespace p = "urn:p"; declare function p:f() { currentDate() };'
    assert len(parse(query).warnings) == 1
