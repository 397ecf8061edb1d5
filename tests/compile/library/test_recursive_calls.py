"""Functions that call themselves over fillers inside of fillers, against the evaluator."""

from __future__ import annotations

from pathlib import Path

import pytest

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession

NOW = "2003-01-20T00:00:00"
TAGS = """<structure><tag type="snapshot" id="1" name="r">
  <tag type="temporal" id="2" name="part"><tag type="snapshot" id="3" name="note">
    <tag ref="3"/></tag><tag ref="2"/></tag></tag></structure>"""
# parts in parts, some in two versions; notes in notes, inside of one filler
DEPTH = 4


def _fragments() -> str:
    lines = ['<filler id="0" tsid="1" validTime="2003-01-01"><r><hole id="1"/></r></filler>']
    for number in range(1, 2**DEPTH):
        holes = [2 * number, 2 * number + 1] if 2 * number < 2**DEPTH else []
        text = "".join(f'<hole id="{one}"/>' for one in holes if one % 5)
        note = "<note>a<note k='1'/></note>" * (number % 3)
        for day in (2, 9)[: 1 + number % 2]:
            body = f'<part k="{number + day}">{note}{text}</part>'
            lines.append(
                f'<filler id="{number}" tsid="2" validTime="2003-01-0{day}">{body}</filler>'
            )
    return f"<fragments>{''.join(lines)}</fragments>"


# the types of the parameter and the result, the body of `f`, and whether it is native; None if
# that depends on the argument
FUNCTIONS = {
    "sum": ("element()", "xs:double", "sum($n/@k) + sum($n/part ! local:f(.))", True),
    "depth": ("element()", "xs:integer", "1 + max((0, $n/part ! local:f(.)))", True),
    "copy": ("element()", "element()", "<p>{ $n/@k, $n/part ! local:f(.) }</p>", True),
    "text": (
        "element()",
        "xs:string",
        'concat("(", $n/@k, string-join($n/part ! local:f(.), ","), ")")',
        True,
    ),
    "if": (
        "element()*",
        "item()*",
        "if (empty($n)) then 'end' else ($n/@k/string(), local:f($n/part))",
        True,
    ),
    "constructed": (
        "element()",
        "element()*",
        "for $c at $i in $n/part return (<e n='{ $i }'>{ count($c/note) }</e>, local:f($c))",
        True,
    ),
    # it ends inside of a filler, where the data do not say how deep
    "notes": ("element()", "xs:integer", "1 + sum($n/note ! local:f(.))", False),
    # calls that are not below each other, and calls that grow like a tree
    "upwards": ("element()", "xs:integer", "if ($n/..[@k]) then 1 + local:f($n/..) else 0", None),
    "twice": ("element()", "xs:integer", "1 + sum($n/part ! (local:f(.), local:f(.)))", False),
    "same": ("element()*", "xs:integer", "if (empty($n)) then 0 else 1 + local:f(tail($n))", None),
}
CALLS = [
    'stream("s")/r/part ! local:f(.)',
    'for $p in stream("s")//part let $v := local:f($p) order by string($v[1]) return <v>{ $v }</v>',
    'for $p in stream("s")?[2003-01-05]//part return <v>{ local:f($p) }</v>',
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_the_evaluator(name: str, open_session: OpenSession, tmp_path: Path) -> None:
    fragments = _fragments()
    session = open_session(world_store(tmp_path, {"s": fragments}, {"s": TAGS}))
    parameter, result, body, is_native = FUNCTIONS[name]
    function = f"declare function local:f($n as {parameter}) as {result} {{ {body} }};"
    for call in CALLS if session.engine == "embedded" else CALLS[:1]:
        query = f"{function} {call}"
        answer = session.query(query, now=NOW)
        expected = xcql.evaluate(query, streams={"s": (fragments, TAGS)}, now=NOW)
        assert answer.to_xml() == [one.xml for one in expected], query
        if is_native is not None and call != CALLS[1]:
            assert ("evaluated row by row" not in answer.explain()) is is_native, query


def test_mutual_recursion(open_session: OpenSession, tmp_path: Path) -> None:
    fragments = _fragments()
    session = open_session(world_store(tmp_path, {"s": fragments}, {"s": TAGS}))
    query = """
        declare function local:even($n as element()) as xs:boolean {
          every $p in $n/part satisfies local:odd($p) };
        declare function local:odd($n as element()) as xs:boolean {
          some $p in $n/part satisfies local:even($p) };
        for $p in stream("s")//part return local:even($p)"""
    answer = session.query(query, now=NOW)
    expected = xcql.evaluate(query, streams={"s": (fragments, TAGS)}, now=NOW)
    assert answer.to_xml() == [one.xml for one in expected]
    assert "evaluated row by row" not in answer.explain()
