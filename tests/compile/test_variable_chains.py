"""Variables that use each other more than once, and values that a query uses many times.

Written out, their SQL and the time to compile and plan it would grow exponentially.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession

NOW = "2010-01-01"
TAGS = """<structure><tag type="snapshot" id="1" name="r"><tag type="temporal" id="2" name="i">
  <tag type="snapshot" id="3" name="v"/></tag></tag></structure>"""
FRAGMENTS = """<fragments><filler id="0" tsid="1"><r><hole id="1"/><hole id="2"/></r></filler>
<filler id="1" tsid="2" validTime="2003-01-01"><i><v>0.25</v></i></filler>
<filler id="2" tsid="2" validTime="2003-01-01"><i><v>1</v></i></filler></fragments>"""
LENGTHS = (6, 14)
STEPS = {
    "xs:decimal": "($x + 1 - $x) * 0.5",
    "xs:double": "$x * (1 + $x) div (2 + $x)",
    "xs:integer": "if ($x > 3) then $x idiv 2 else $x + $x",
    "xs:string": "substring(concat($x, $x), 2, 5)",
}


def _chain(kind: str, length: int) -> str:
    values = "$i/v" if kind != "xs:integer" else "$i/v * 4"
    lets = f"let $x0 := {kind}({values})"
    for number in range(1, length):
        lets += f" let $x{number} := {STEPS[kind].replace('$x', f'$x{number - 1}')}"
    every = ", ".join(f"$x{number}" for number in range(length))
    return f'for $i in stream("s")//i {lets} return <r>{{ {every} }}</r>'


@pytest.mark.parametrize("kind", STEPS)
def test_variables_that_use_each_other(
    kind: str, open_session: OpenSession, tmp_path: Path
) -> None:
    session = open_session(world_store(tmp_path, {"s": FRAGMENTS}, {"s": TAGS}))
    sizes: list[int] = []
    for length in LENGTHS:
        query = _chain(kind, length)
        answer = session.query(query, now=NOW)
        assert answer.strategy == "qac+"
        expected = xcql.evaluate(query, streams={"s": (FRAGMENTS, TAGS)}, now=NOW)
        sizes.append(len(answer.explain("sql")))
        assert list(answer.to_xml()) == [one.xml for one in expected]
    assert sizes[1] < 6 * sizes[0]


def test_a_value_in_many_places(open_session: OpenSession, tmp_path: Path) -> None:
    session = open_session(world_store(tmp_path, {"s": FRAGMENTS}, {"s": TAGS}))
    uses = ("$x", "string($x)", "-$x", "if ($x > 0.5) then $x + 1 else $x", "round($x)", "$x = 1")
    content = "".join(f"<e n='{number}'>{{ {use} }}</e>" for number in range(6) for use in uses)
    query = f'for $i in stream("s")//i let $x := xs:decimal($i/v) return <r>{content}</r>'
    expected = xcql.evaluate(query, streams={"s": (FRAGMENTS, TAGS)}, now=NOW)
    assert list(session.query(query, now=NOW).to_xml()) == [one.xml for one in expected]


NESTED_STEPS = {
    "conditions": "if ($x > 1) then $x - 1 else if ($x < -3) then $x + 2 else $x * $x mod 7",
    "failures in functions": (
        "if (some $v in $i/v satisfies $v > $x) then $x + 1 else $x * 2 mod 9"
    ),
    "casts": "if ($x > 1) then $x + xs:double($i/v[1]) else $x + 1",
}


@pytest.mark.parametrize("kind", NESTED_STEPS)
def test_chains_that_begin_with_a_nested_plan(
    kind: str, open_session: OpenSession, tmp_path: Path
) -> None:
    session = open_session(world_store(tmp_path, {"s": FRAGMENTS}, {"s": TAGS}))
    lets = "let $x0 := count($i/v)"
    for number in range(1, 24):
        lets += f" let $x{number} := {NESTED_STEPS[kind].replace('$x', f'$x{number - 1}')}"
    query = f'for $i in stream("s")//i {lets} return <r>{{ $x23 }}</r>'
    expected = xcql.evaluate(query, streams={"s": (FRAGMENTS, TAGS)}, now=NOW)
    assert list(session.query(query, now=NOW).to_xml()) == [one.xml for one in expected]
