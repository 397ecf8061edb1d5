"""Nodes that projections and constructors make in loops: each evaluation makes new ones."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random

import pytest

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession
from tests.effort import FULL
from xcql.diagnostics import XcqlError

NOW = "2010-01-01"
FINE = """<structure><tag type="snapshot" id="1" name="r">
  <tag type="temporal" id="2" name="b"><tag ref="2"/><tag type="temporal" id="3" name="c"/></tag>
  <tag type="temporal" id="4" name="item">
    <tag type="snapshot" id="5" name="name"/><tag type="temporal" id="6" name="price"/>
    <tag type="snapshot" id="7" name="tag"/>
  </tag>
</tag></structure>"""
COARSE = FINE.replace('type="temporal" id="3"', 'type="snapshot" id="3"')
# two copies of a filler under one parent, and under two versions of one
FRAGMENTS = """<fragments>
<filler id="0" tsid="1"><r><hole id="1"/><hole id="10"/><hole id="11"/><hole id="11"/></r></filler>
<filler id="1" tsid="2" validTime="2003-01-01"><b n="1">{3}<hole id="2"/>{5}</b></filler>
<filler id="2" tsid="2" validTime="2003-01-01"><b n="2">{4}</b></filler>
<filler id="2" tsid="2" validTime="2005-01-01"><b n="2"><hole id="6"/>{4}</b></filler>
<filler id="6" tsid="2" validTime="2003-01-01"><b n="3">{4}</b></filler>
<filler id="10" tsid="4" validTime="2003-01-01"><item id="x"><name>one</name><hole id="12"/>
<tag>t1</tag><tag>t2</tag></item></filler>
<filler id="11" tsid="4" validTime="2003-01-01"><item id="y"><name>two</name><hole id="13"/>
</item></filler>
<filler id="11" tsid="4" validTime="2005-01-01"><item id="y"><name>two b</name><hole id="13"/>
</item></filler>
<filler id="12" tsid="6" validTime="2003-01-01"><price>5</price></filler>
<filler id="12" tsid="6" validTime="2006-01-01"><price>6</price></filler>
<filler id="13" tsid="6" validTime="2003-02-01"><price>7</price></filler>
{fillers}</fragments>"""
PARTS = {"3": "before", "4": "inside", "5": "after"}


def _fragments(tags: str) -> str:
    holes = {key: f'<hole id="{key}"/>' for key in PARTS}
    fillers = "".join(
        f'<filler id="{key}" tsid="3" validTime="2003-01-01"><c>{text}</c></filler>'
        for key, text in PARTS.items()
    )
    if tags == COARSE:
        holes, fillers = {key: f"<c>{text}</c>" for key, text in PARTS.items()}, ""
    text = FRAGMENTS
    for key, hole in holes.items():
        text = text.replace(f"{{{key}}}", hole)
    return text.replace("{fillers}", fillers)


MADE = [
    'stream("s")?[$t]',
    'stream("s")?[$t]//item',
    'stream("s")//item?[$t]',
    'stream("s")//b?[$t]',
    "$x?[$t]",
    "$x",
    'stream("s")//item#[1, 2]',
    'reverse(stream("s")//b)?[$t]',
    '(stream("s")//item, $x)?[$t]',
    '(stream("s"), stream("s"))?[$t]',
    '<a>{stream("s")//item}{$x/name}</a>',
    '<a>{stream("s")//b?[$t]}<b>{$x}</b></a>',
]
LOOPS = [
    'for $t in ("2007-01-01", "2004-01-01") return MADE',
    'for $t in ("2004-01-01", "2007-01-01") let $made := MADE return $made',
    'for $t in ("2004-01-01", "2007-01-01") let $made := MADE where $made//name return $made',
    'for $t in ("2004-01-01", "2007-01-01") order by $t descending return MADE',
    'for $t in ("2004-01-01", "2007-01-01") let $made := MADE order by $t descending return $made',
    'for-each(("2007-01-01", "2004-01-01"), function($t) { MADE })',
    '("2007-01-01", "2004-01-01") ! (let $t := . return MADE)',
    'for $i in 1 to 2, $t in ("2007-01-01", "2004-01-01")[$i] return local:made($t, $x)',
    'let $made := (let $t := "2007-01-01" return MADE) for $i in 1 to 2 return $made',
    '(let $t := "2007-01-01" return MADE, let $t := "2004-01-01" return MADE)',
    'for $y in $x, $t in ("2007-01-01", "2004-01-01") return if ($t < "2005") then MADE else ()',
]
USES = [
    "count($s)",
    "$s/string()",
    "count($s//name)",
    "$s//price/string()",
    "$s/*/string()",
    "$s//*[1]/string()",
    "($s//name | $s//price)/string()",
    "count($s | $s)",
    "count($s//name intersect $s[1]//name)",
    "count($s//c except $s[last()]//c)",
    "count($s//c/..)",
    "count($s//@id)",
    "$s//item[2]/name/string()",
    "count(for $a in $s, $b in $s where $a is $b return 1)",
    "count(for $a in $s//name, $b in $s[1]//name where $a is $b return 1)",
    "count(for $a in $s//c, $b in $s//c where $a << $b return 1)",
    "for $a at $p in $s group by $k := $p mod 2 return count($a//name)",
    "for $a in $s return count($a//name | $s[1]//name)",
    "every $a in $s satisfies count($a//c) = count($a//c/.)",
    "count(<e>{$s}</e>//c)",
    "<e>{$s}</e>/*/name/string()",
    "for tumbling window $w in $s start at $p when $p mod 2 = 1 return count($w//name)",
    "count($s?[now]//name)",
    "$s//name[. is ($s//name)[2]]/string()",
]
CONTEXTS = [
    'let $x := stream("s")//item[1] let $s := (LOOP) return USE',
    'for $x in stream("s")//item let $s := (LOOP) return USE',
    'for $x in stream("s")//(item | b) return (let $s := (LOOP) return USE)',
    'stream("s")//item ! (let $x := . let $s := (LOOP) return USE)',
    'let $x := stream("s")//b return USE[LOOP]',
]


def queries(number: int) -> list[str]:
    """Some queries: every part is in one of them."""
    random = Random(number)
    every = list(product(MADE, LOOPS, USES, CONTEXTS))
    chosen = random.sample(every, 400 if FULL else 30)
    return [_query(*parts) for parts in chosen]


def _query(made: str, loop: str, use: str, context: str) -> str:
    function = f"declare function local:made($t, $x) {{ {made} }};\n"
    prolog = function if "local:made" in loop else ""
    text = context.replace("USE[LOOP]", use.replace("$s", "(LOOP)"))
    return prolog + text.replace("USE", use).replace("LOOP", loop).replace("MADE", made)


@pytest.mark.parametrize("tags", [FINE, COARSE], ids=["fine", "coarse"])
def test_nodes_made_in_loops(tags: str, open_session: OpenSession, tmp_path: Path) -> None:
    fragments = _fragments(tags)
    session = open_session(world_store(tmp_path, {"s": fragments}, {"s": tags}))
    for index, query in enumerate(queries(len(tags))):
        expected = _outcome(
            lambda query=query: [
                item.xml for item in xcql.evaluate(query, streams={"s": (fragments, tags)}, now=NOW)
            ]
        )
        for strategy in ("qac+", "qac") if index % 4 == 0 else ("qac+",):
            answer = session.query(query, strategy=strategy, now=NOW)
            assert _outcome(answer.to_xml) == expected, query


def _outcome(answer) -> list[str] | str:  # type: ignore[no-untyped-def]
    try:
        return answer()  # type: ignore[no-any-return]
    except XcqlError as problem:
        return problem.diagnostic.code
