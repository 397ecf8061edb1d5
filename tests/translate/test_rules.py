"""The rules one by one: the translation of each kind of step and use."""

from __future__ import annotations

import time

import pytest

from xcql.diagnostics import XcqlError
from xcql.source import Span
from xcql.syntax.node import walk
from xcql.translate import translate

TAGS = """
<structure>
  <tag type="snapshot" id="1" name="r">
    <tag type="snapshot" id="2" name="s"><tag type="snapshot" id="3" name="x"/></tag>
    <tag type="temporal" id="4" name="t">
      <tag type="snapshot" id="5" name="x"/>
      <tag type="event" id="6" name="e"><tag type="snapshot" id="7" name="v"/></tag>
      <tag type="temporal" id="8" name="n"><tag ref="8"/></tag>
    </tag>
  </tag>
</structure>
"""


def body(query: str, strategy: str = "qac") -> str:
    """The query's own expression, on one line."""
    text = translate(query, {"d": TAGS}, strategy).text  # type: ignore[arg-type]
    flat = " ".join(text.split(";\n")[-1].split())
    return flat.replace("( ", "(").replace(" )", ")")


ROOT = "xcql:get_fillers($d, 0)/r"
IN_ROOT = "xcql:raw_fillers($d, 0) ! r/hole/@id"
T = f"xcql:get_fillers($d, {IN_ROOT})/t"
IN_T = f"xcql:raw_fillers($d, {IN_ROOT}) ! t/hole/@id"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # e/A
        ('stream("d")/r/s/x', f"{ROOT}/s/x"),
        ('stream("d")/r/t/x', f"{T}/x"),
        ('stream("d")/r/t/e/v', f"xcql:get_fillers($d, {IN_T})/e/v"),
        # e//A: inside a filler; one path; several paths
        ('stream("d")/r/s//x', f"{ROOT}/s//x"),
        ('stream("d")//v', f"xcql:get_fillers($d, {IN_T})/e/v"),
        (
            'stream("d")//x',
            "local:temporalize($d, xcql:get_fillers($d, 0))//x",
        ),
        # e/*
        ('stream("d")/r/s/*', f"{ROOT}/s/*"),
        ('count(stream("d")/r/*)', f"count(local:temporalize-r($d, {ROOT})/*)"),
        # e/@A
        ('stream("d")/r/t/@k/string()', f"{T}/@k/string()"),
        # e[pred]
        ('stream("d")/r/t[x = 1]/x', f"{T}[x = 1]/x"),
        ('stream("d")/r/t[e]/x', f"{T}[xcql:get_fillers($d, hole/@id)/e]/x"),
        ('stream("d")/r/t[1]/x', f"xcql:get_fillers_list($d, {ROOT})/filler/t[1]/x"),
        # e?[tb, te], e#[vb, ve]
        (
            'stream("d")/r/t/e?[2003-01-01, now]',
            f'xcql:interval_projection(xcql:get_fillers($d, {IN_T})/e, "2003-01-01", $xcql:now)',
        ),
        (
            'stream("d")/r/t/e#[last]',
            f"let $versions := xcql:get_fillers($d, {IN_T})/e return"
            " xcql:version_projection($versions, count($versions), count($versions))",
        ),
        # holes are filled where the query reads the inside, and only there
        ('count(stream("d")/r/t)', f"count({T})"),
        ('stream("d")/r/t', f"local:temporalize-t($d, {T})"),
        ('stream("d")/r/t ! string()', f"{T} ! string(local:temporalize-t($d, .))"),
        ('stream("d")/r/t = "a"', f'local:temporalize-t($d, {T}) = "a"'),
        ('<a>{ stream("d")/r/t/e }</a>', f"<a>{{ xcql:get_fillers($d, {IN_T})/e }}</a>"),
        # loops that do not use fillers' elements themselves need no copies of them
        (
            'for $t in stream("d")/r/t[x = 1] return $t/x',
            f"for $t in xcql:raw_fillers($d, {IN_ROOT}) ! t[x = 1] return $t/x",
        ),
        (
            'for $x in stream("d")/r/t/x where $x/text() = 1 return 1',
            f"for $x in xcql:raw_fillers($d, {IN_ROOT}) ! t/x where $x/text() = 1 return 1",
        ),
        (
            'for $t in stream("d")/r/t return vtFrom($t)',
            f"for $t in {T} return xcql:vtFrom($t)",
        ),
        (
            'for $t in stream("d")/r/t[@vtTo = "now"] return $t/x',
            f'for $t in {T}[@vtTo = "now"] return $t/x',
        ),
        # time
        ('for $e in stream("d")//e return vtFrom($e) + 5', None),
    ],
)
def test_qac(query: str, expected: str | None) -> None:
    if expected is None:
        assert "xcql:plus(xcql:vtFrom($e), 5)" in body(query)
    else:
        assert body(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('count(stream("d")/r/t)', 'count(xcql:get_fillers_by_tsid($d-fragments, "4")/t)'),
        ('stream("d")//e/v', 'xcql:get_fillers_by_tsid($d-fragments, "6")/e/v'),
        ('stream("d")//t[x]/e', None),
        ('stream("d")//t[1]/x', None),
        ('stream("d")//n', None),
    ],
)
def test_qac_plus(query: str, expected: str | None) -> None:
    if expected is not None:
        assert body(query, "qac+") == expected
    elif "[x]" in query:
        assert 'raw_fillers_by_tsid($d-fragments, "4") ! t[x]/hole/@id' in body(query, "qac+")
    else:
        # a position counts per parent; a recursive tag occurs in many places
        assert "by_tsid" not in body(query, "qac+")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ('stream("d")//e/..', "parent axis"),
        ('stream("d")//e/ancestor::t', "ancestor axis"),
        ('stream("d")//e/following-sibling::*', "following-sibling axis"),
        ('stream("d")//e | stream("d")//x', "identity or order"),
        ('stream("d")//e/root()', "root()"),
        ('let $x := for $t in stream("d")//t return $t/e return $x/v', "several places"),
        ('map { 1 : stream("d")//e }?1/v', "are unknown"),
    ],
)
def test_view_where_fragments_will_not_do(query: str, reason: str) -> None:
    (note,) = translate(query, {"d": TAGS}, "qac").notes
    assert "a view with fillers of tsid" in note
    assert reason in note


def test_a_view_holds_what_is_looked_at() -> None:
    translation = translate('count(stream("d")//e/..)', {"d": TAGS}, "qac")
    assert "local:temporalize-r(xcql:stream($d-fragments))" in translation.text
    # of the two kinds of fillers in t, only the requested one
    assert 'if (xcql:tsid($stream, $n2/@id) = "6")' in translation.text


def test_caq_leaves_paths_alone() -> None:
    assert body('stream("d")//t[1]/e/..', "caq") == "$d//t[1]/e/.."


def test_nothing_can_match() -> None:
    translation = translate('stream("d")/r/tt/x', {"d": TAGS}, "qac")
    assert translation.text.endswith("\n()")
    (warning,) = translation.warnings
    assert warning.message == "no 'tt' below 'r'; did you mean 't'?"
    assert warning.span is not None
    assert warning.span.text == "tt"


def test_loops_share_what_they_do_not_change() -> None:
    query = 'for $i in 1 to 9 return count(stream("d")/r/t[x = 1]/e[v = $i])'
    text = translate(query, {"d": TAGS}, "qac").text
    assert "declare variable $d-t :=" in text
    assert "xcql:get_fillers($d, $d-t/hole/@id)/e[v = $i]" in text


def test_names_do_not_clash() -> None:
    text = translate('for $d in stream("d")/r/t return $d/e', {"d": TAGS}, "qac").text
    assert "declare variable $d2 := xcql:stream($d-fragments)" in text


def test_every_node_has_a_place() -> None:
    for strategy in ("caq", "qac", "qac+"):
        query = 'for $t in stream("d")//t where $t/e?[now]/v = 1 return <a>{ $t }</a>'
        module = translate(query, {"d": TAGS}, strategy).module  # type: ignore[arg-type]
        assert all(isinstance(node.span, Span) for node in walk(module))


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ('stream("e")/r', "XCQL0004"),
        ('stream("d" || "")/r', "XCQL0402"),
        ("for-each(1, stream#1)", "XCQL0402"),
    ],
)
def test_errors(query: str, code: str) -> None:
    with pytest.raises(XcqlError) as problem:
        translate(query, {"d": TAGS})
    assert problem.value.code == code
    assert problem.value.line == 1


LONG = {
    "steps": lambda n: 'stream("d")/r/t' + "/n" * n,
    "clauses": lambda n: (
        " ".join(f'for $x{i} in stream("d")//t[e/v = {i}]' for i in range(n)) + " return 1"
    ),
    "items": lambda n: ", ".join(['stream("d")//t/x'] * n),
}


@pytest.mark.parametrize(("shape", "size"), [("steps", 1000), ("clauses", 200), ("items", 200)])
def test_long_queries(shape: str, size: int) -> None:
    def seconds(n: int) -> float:
        """The shortest of several times: garbage collection may disturb any one of them."""
        times = []
        for _ in range(3):
            start = time.process_time()
            translate(LONG[shape](n), {"d": TAGS})
            times.append(time.process_time() - start)
        return min(times)

    short, long = seconds(size // 10), seconds(size)
    assert long < 4
    # ten times the length may take ten times as long, not a hundred times
    assert long < 30 * max(short, 0.01)
