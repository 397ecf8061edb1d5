"""A query may call its variables whatever it likes: SQL's words, and names that our SQL uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

import pytest

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession
from tests.effort import FULL
from xcql.shred.tables import COMMON

NOW = "2010-01-01"
TAGS = """<structure><tag type="snapshot" id="1" name="r"><tag type="temporal" id="2" name="i">
  <tag type="snapshot" id="3" name="v"/></tag></tag></structure>"""
FRAGMENTS = f"""<f><filler id="0" tsid="1"><r>{"".join(f'<hole id="{n}"/>' for n in range(1, 6))}
</r></filler>{
    "".join(
        f'<filler id="{n}" tsid="2" validTime="200{n}-01-01"><i n="{n}" k="{"xyx"[n % 3]}">'
        f"<v>{7 * n % 5}</v></i></filler>"
        for n in range(1, 6)
    )
}</f>"""
STREAMS = {"s": (FRAGMENTS, TAGS)}
ITEMS = 'stream("s")//i'

SQL = """
select from where join group order by table lambda end case when then else null true false and or
not in is as on with union all distinct limit offset having window over partition rows row_number
unnest values cast try_cast interval date timestamp list struct array map exists left right lateral
using any some between like create drop default current_date excluded rowid"""
# columns, common table expressions, and names inside of templates and lambdas
OURS = """
now item key_0 key1 xs e0 e1 e2 i2 col1 col2 has_col1 answer merged nested_i first last text tuple
months t1 s_i s_r r_d bucket kind value rank one number.1 order_2 place_key at place_since position
start index i_2 element.v"""
OTHERS = ["a.b", "a-b", "_", "A", "Select", "É", "é", "变量", "xs-1", "xcql_fail", "fn"]
NAMES = [*ascii_lowercase, *SQL.split(), *OURS.split(), *COMMON.names, *OTHERS]

# $A to $D are variables
QUERIES = [
    "for $A in ITEMS return $A/v/string()",
    "for $A at $B in ITEMS order by $A/v descending, $B return concat($B, $A/@n)",
    "for $A in ITEMS group by $A := $A/@k/string() return <g k='{ $A }'/>",
    "for $A in ITEMS let $B := $A/@k/string() group by $B return <g k='{ $B }'>{ sum($A/v) }</g>",
    "for $A in ITEMS group by $B := $A/@k, $C := $A/v > 2 return <g>{ $B, $C, $A/@n/string() }</g>",
    "for $A in ITEMS let $B := $A/v where $B > 1 order by $B return $B/string()",
    "for $A in ITEMS, $B in ITEMS where $A/v = $B/@n return concat($A/@n, '-', $B/@n)",
    "some $A in ITEMS satisfies every $B in ITEMS satisfies $A/v >= $B/v",
    "for $A in ITEMS where some $B in ITEMS satisfies $A/v < $B/v return <x>{ $A/@n }</x>",
    """for tumbling window $A in ITEMS/v start $B at $C when true() end at $D when $D - $C = 1
      return <w b="{ $B }">{ $A/string() }</w>""",
    """for sliding window $A in (1 to 4) start $B at $C when $B ge 2 only end $D when $D ge 3
      return <w c="{ $C }">{ $A }</w>""",
    "let $A := ITEMS for $B in distinct-values($A/@k) return <g k='{ $B }'>{ $A[@k = $B]/v }</g>",
    "for $A in ITEMS order by $A/@n descending count $B where $B > 2 return <x>{ $B, $A/v }</x>",
    "for $A in ITEMS return <x>{ for $B in $A/v return xs:double($B) + 1, $A/@k/string() }</x>",
    "for $A in ITEMS let $B := ($A/v, $A/@n) return (for $C in $B order by $C return string($C))",
    "for $A in ITEMS let $B := trace($A)/v return <x>{ trace($A/@n), $B, vtFrom($A) }</x>",
    "declare function local:f($A, $B) { $A + $B }; for $C in ITEMS return local:f($C/v, $C/@n)",
    "for $A in ITEMS return max((for $B in ITEMS where $B/v < $A/v return number($B/v), -1))",
    "for $A in ITEMS?[2003-06-01] let $B := vtFrom($A) return <x>{ $B }</x>",
    "ITEMS/(for $A in v let $B := $A * 2 return if ($B > 4) then $B else $A/string())",
]


def _written(template: str, first: int) -> str:
    query = template.replace("ITEMS", ITEMS)
    for index, letter in enumerate("ABCD"):
        query = query.replace(f"${letter}", f"$\0{NAMES[(first + index) % len(NAMES)]}")
    return query.replace("\0", "")


@pytest.fixture(scope="module")
def session(
    new_session: OpenSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[xcql.Session]:
    folder = tmp_path_factory.mktemp("names")
    with new_session(world_store(folder, {"s": FRAGMENTS}, {"s": TAGS})) as session:
        yield session


def _check(query: str, session: xcql.Session) -> None:
    expected = xcql.evaluate(query, streams=STREAMS, now=NOW)
    found = session.query(query, now=NOW)
    assert found.to_xml() == [one.xml for one in expected], query


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_any_name(number: int, session: xcql.Session) -> None:
    """At each commit, every name in some query; in the full test, every name in every query."""
    for first in range(number if not FULL else 0, len(NAMES), 1 if FULL else len(QUERIES)):
        _check(_written(QUERIES[number], first), session)


@pytest.mark.parametrize(
    "query",
    [
        "for $a in (1, 2), $A in (3, 4) return $a * 10 + $A",
        f"for $i in {ITEMS}, $I in {ITEMS} where $i/v = $I/@n return concat($i/@n, $I/@n)",
        f"for $i in {ITEMS} let $k := $i/@k, $K := $i/v group by $k, $K return <g>{{ $k, $K }}</g>",
        f"for $i in {ITEMS} let $Straße := $i/v let $STRASSE := $i/@n return $Straße * $STRASSE",
        f"for $é in {ITEMS}, $É in $é/v return concat($é/@n, $É)",
        f"for $i in {ITEMS} group by $I := $i/@k return <g i='{{ count($i) }}' k='{{ $I }}'/>",
        f"for $all in {ITEMS}, $All in 1 to 2 order by $All return concat($All, $all/v)",
        """for tumbling window $w in (1 to 4) start $s at $S when true() end $e at $E when $E > $S
        return <w>{ $w, $s, $e, $E }</w>""",
    ],
)
def test_names_that_differ_in_case(query: str, session: xcql.Session) -> None:
    _check(query, session)


def test_external_variables(session: xcql.Session, tmp_path: Path) -> None:
    for name in NAMES if FULL else NAMES[::7]:
        query = f"declare variable ${name} external; {ITEMS}[v > ${name}]/@n/string()"
        expected = xcql.evaluate(query, streams=STREAMS, now=NOW, variables={name: 2})
        found = session.query(query, now=NOW, variables={name: 2})
        assert found.to_xml() == [one.xml for one in expected], name
