"""Numbers as in XQuery: integers and decimals of any size, and doubles with NaN and -0.

SQL has integers of 64 bits and decimals of 37 digits. Numbers beyond that do not fail, and are not
rounded: the evaluator answers the query then.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import xcql
from tests.compile.both_ways import Answer, told
from tests.compile.conftest import world_store
from tests.conftest import OpenSession
from tests.effort import FULL

NOW = "2010-01-01"
TAGS = """<structure><tag type="snapshot" id="1" name="r"><tag type="temporal" id="2" name="i">
  <tag type="snapshot" id="3" name="v"/></tag></tag></structure>"""
# by kind; SQL can represent the numbers of the first three
VALUES = {
    "integer": ["3", "-7", "0", "10", "3"],
    "decimal": ["1.5", "-0.25", "1.50", "100", "0.1"],
    "double": ["-0", "NaN", "0", "1", "NaN", "-INF", "-1.5", "INF", "1.0", "0.1"],
    "edge": ["9223372036854775807", "9223372036854775807", "-9223372036854775808", "1"],
    "long": ["99999999999999999", "0.00000000000000000001", "99999999999999999", "2"],
    "large": ["99999999999999999999", "1", "99999999999999999998", "99999999999999999999"],
    "precise": ["0.123456789012345678901", "1", "0.123456789012345678902", "123456789012345678.5"],
}
INTEGERS = ["integer", "edge", "large"] if FULL else ["edge", "large"]
DECIMALS = [kind for kind in VALUES if kind != "double"] if FULL else ["decimal", "edge", "precise"]
# of the values of one kind, as integers or decimals: TYPED is that of $i
OF_NUMBERS = [
    "for $i in ITEMS return TYPED",
    "for $i in ITEMS return -TYPED",
    "for $i in ITEMS return abs(TYPED)",
    "for $i in ITEMS return TYPED + 1",
    "for $i in ITEMS return TYPED - 0.5",
    "for $i in ITEMS return TYPED * TYPED",
    "for $i in ITEMS return TYPED * 3",
    "for $i in ITEMS return TYPED * 0.001",
    "for $i in ITEMS return 10 div (TYPED + 100)",
    "for $i in ITEMS return TYPED div 7",
    "for $i in ITEMS return (TYPED div 7) div (TYPED + 0.3)",
    "for $i in ITEMS return ((TYPED div 7) mod 0.7, (TYPED div 7) idiv 0.07)",
    "for $i in ITEMS return TYPED idiv 7",
    "for $i in ITEMS return TYPED mod 7",
    "for $i in ITEMS return TYPED idiv -1",
    "for $i in ITEMS return (TYPED + 0.5) mod 1.7",
    "for $i in ITEMS return (TYPED + 0.5) idiv 1.7",
    "for $i in ITEMS return round(TYPED)",
    "for $i in ITEMS return round(TYPED, -2)",
    "for $i in ITEMS return round-half-to-even(TYPED, 1)",
    "for $i in ITEMS return floor(TYPED)",
    "for $i in ITEMS return ceiling(TYPED)",
    "for $i in ITEMS return string(TYPED)",
    "for $i in ITEMS return xs:double(TYPED)",
    "for $i in ITEMS return xs:integer(TYPED)",
    "for $i in ITEMS return xs:integer(TYPED * 1e0)",
    "for $i in ITEMS return xs:decimal(TYPED)",
    "for $i in ITEMS return TYPED castable as xs:integer",
    "for $i in ITEMS return TYPED * 2e0",
    "for $i in ITEMS return <n a='{ TYPED }'>{ TYPED, TYPED + 1 }</n>",
    "for $i in ITEMS return string-length(TYPED)",
    "for $i in ITEMS return if (TYPED) then 1 else 0",
    "for $i in ITEMS return TYPED instance of xs:integer",
    "for $i in ITEMS where TYPED > 1 return $i/@n/string()",
    "for $i in ITEMS where TYPED = TYPED + 0 return $i/@n/string()",
    "for $i in ITEMS where TYPED ge 9223372036854775806.5 return $i/@n/string()",
    "for $i in ITEMS, $j in ITEMS where TYPED = OTHER return concat($i/@n, '-', $j/@n)",
    "for $i in ITEMS, $j in ITEMS where TYPED < OTHER return concat($i/@n, '-', $j/@n)",
    "ITEMS[TYPED_HERE = 99999999999999999999]/@n/string()",
    "ITEMS[TYPED_HERE > 3.5]/@n/string()",
    "ITEMS[TYPED_HERE lt 0.1234567890123456789015]/@n/string()",
    "for $i in ITEMS order by TYPED return $i/@n/string()",
    "for $i in ITEMS order by TYPED descending return $i/@n/string()",
    "for $i in ITEMS order by TYPED * 2, $i/@n return $i/@n/string()",
    "for $i in ITEMS let $k := TYPED group by $k return <g k='{ $k }'>{ count($i) }</g>",
    "for $i in ITEMS group by $k := TYPED * 10 return <g k='{ $k }'>{ count($i) }</g>",
    "for $i in ITEMS group by $k := TYPED mod 2 return sum($i ! TYPED_HERE)",
    "for $i in ITEMS group by $k := TYPED mod 2 return avg($i ! TYPED_HERE)",
    "for $i in ITEMS group by $k := TYPED mod 2 return max($i ! TYPED_HERE)",
    "distinct-values(for $i in ITEMS return TYPED)",
    "distinct-values(for $i in ITEMS order by $i/@n descending return TYPED)",
    "count(distinct-values(for $i in ITEMS return TYPED * TYPED))",
    "sum(for $i in ITEMS return TYPED)",
    "sum(for $i in ITEMS, $j in 1 to 50 return TYPED * $j)",
    "sum(for $i in ITEMS return TYPED * TYPED)",
    "avg(for $i in ITEMS return TYPED)",
    "avg(for $i in ITEMS return TYPED * 1000)",
    "min(for $i in ITEMS return TYPED)",
    "max(for $i in ITEMS return TYPED)",
    "max(for $i in ITEMS return TYPED * 2)",
    "for $x in ITEMS ! TYPED_HERE return $x",
    "(ITEMS ! TYPED_HERE)[. > 2]",
    "some $i in ITEMS satisfies TYPED = 99999999999999999999",
    "every $i in ITEMS satisfies TYPED < 99999999999999999999.5",
    "index-of(ITEMS ! TYPED_HERE, 99999999999999999999)",
    "ITEMS ! TYPED_HERE = (1, 99999999999999999998)",
    "string-join(for $i in ITEMS return string(TYPED), ' ')",
    "deep-equal(ITEMS ! TYPED_HERE, reverse(ITEMS ! TYPED_HERE))",
    "for $i in ITEMS return format-number(TYPED, '#,##0.00')",
    "for $i in ITEMS return count(1 to xs:integer(TYPED mod 5))",
    "for $i in ITEMS return xs:dayTimeDuration('PT1S') * TYPED",
    "for $i in ITEMS return xs:yearMonthDuration('P1M') * TYPED",
]
# without data
PLAIN = [
    "99999999999999999999",
    "-9223372036854775808",
    "9223372036854775807 + 1",
    "-9223372036854775808 - 1",
    "0.1234567890123456789012345",
    "123456789012345678901234567890.5",
    "99999999999999999999 = 99999999999999999999.0",
    "99999999999999999999 idiv 3, 99999999999999999999 mod 10, 99999999999999999999 div 3",
    "for $x in (1, 9223372036854775807) return $x + 1",
    "for $x in (1, 9223372036854775807) return $x * 2",
    "for $x in (1, 99999999999999999999) return $x",
    "for $x in (1, 9223372036854775807) order by $x * 2 descending return $x",
    "sum(for $x in (1, 9223372036854775807) return $x)",
    "sum((9223372036854775807, 9223372036854775807))",
    "avg((9223372036854775807, 9223372036854775807))",
    "avg((99999999999999999.5, 99999999999999999.5))",
    "sum((99999999999999999.5, 0.00000000000000000001))",
    "for $x in (1e0, 1e30) return xs:integer($x)",
    "for $x in (1e0, 1e30, 1.5e300) return xs:decimal($x)",
    'for $x in ("1", "99999999999999999999") return xs:integer($x)',
    'for $x in ("1", "-9223372036854775808", "-9223372036854775809") return xs:integer($x)',
    'for $x in ("1", "0.123456789012345678901") return xs:decimal($x)',
    'for $x in ("1", "99999999999999999999") return xs:integer($x) idiv 7',
    'for $x in ("1", "99999999999999999999") return xs:integer($x) mod 7',
    'for $x in ("-9223372036854775808", "4") return -xs:integer($x)',
    'for $x in ("-9223372036854775808", "4") return abs(xs:integer($x))',
    'for $x in ("-9223372036854775808", "4") return xs:integer($x) idiv -1',
    'for $x in ("-9223372036854775808", "4") return xs:integer($x) mod -1',
    'for $x in ("-9223372036854775808", "4") return xs:integer($x) div 2',
    'for $x in ("-9223372036854775808", "4") return round(xs:integer($x), -3)',
    "for $x in (0.1234567, 1.5) return $x * $x",
    "for $x in (99999999999999999.9, 0.1) return $x + $x",
    "for $x in (99999999999999999.9, 0.1) return $x + 99999999999999999999",
    "for $x in (99999999999999999.9, 0.1) return round($x)",
    "for $x in (99999999999999999.9, 0.1) return ceiling($x)",
    "for $x in (9223372036854775807, 5) return $x div 0.0000001",
    "for $x in (0.00000000000000000001, 5) return 1 div $x",
    "for $x in (0.00000000000000000001, 5) return $x div 2",
    "for $x in (2, 3) return $x + 99999999999999999999",
    "for $x in (2, 3) return $x < 99999999999999999999",
    "for $x in (2, 3) return ($x, 99999999999999999999)[2]",
    "for $x in (2, 3) return if ($x = 2) then 99999999999999999999 else $x",
    "for $x in (2, 3) let $y := 0.1234567890123456789012345 * $x return <a b='{ $y }'/>",
    "for $x in (2, 3) return xs:integer('99999999999999999999') + $x",
    'for $d in ("P300000000Y", "P1Y") return xs:yearMonthDuration($d)',
    'for $d in ("P300000000Y", "P1Y", "x") return $d castable as xs:yearMonthDuration',
    'for $d in ("P150000000Y", "P1Y") return xs:yearMonthDuration($d) + xs:yearMonthDuration($d)',
    'for $d in ("P1Y", "P1M") return xs:yearMonthDuration($d) div 0.00000000000001',
    'sum(for $d in ("P100000000Y", "P100000000Y") return xs:yearMonthDuration($d))',
    'for $d in ("P300000000000000000D", "P1D") return xs:dayTimeDuration($d)',
    'for $d in ("P200000000D", "P1D") return xs:dayTimeDuration($d) * 1000',
    'sum(for $d in ("P100000000D", "P100000000D") return xs:dayTimeDuration($d))',
    'for $d in (9999999999, 2) return xs:date("2000-01-01") + xs:yearMonthDuration("P1Y") * $d',
    'for $d in (99999999, 2) return xs:date("2000-01-01") + xs:dayTimeDuration("P1D") * $d',
    'for $d in (99999, 2) return xs:date("2000-01-01") - xs:yearMonthDuration("P1Y") * $d',
    "1 to 3, 99999999999999999998 to 99999999999999999999",
    "for $x in (1, 2) return 1 div 3 + $x",
    "for $x in (1, 2) return (1 div 3) * (1 div 7) * $x",
    "upper-case('ß'), upper-case('ﬁ'), lower-case('İ'), lower-case('ΑΣ')",
    "for $s in ('ß', 'straße', 'ŉ', 'Σ') return upper-case($s)",
    "for $s in ('İ', 'ΑΣ', 'ΣΑ') return lower-case($s)",
    "for $x in (-0e0, 0e0) return string($x)",
    "for $x in (-0e0, 0e0) return 1 div $x",
    "distinct-values((-0e0, 0e0, xs:double('NaN'), xs:double('NaN'), 1, 1.0, 1e0))",
    "distinct-values(for $x in (0e0, -0e0) return $x), distinct-values((-0e0, 0e0))",
    "min((-0e0, 0e0)), max((-0e0, 0e0)), min((0e0, -0e0)), max((0e0, -0e0))",
    "for $x in (2e0, 0e0) return (-$x * 0, min((0e0, -$x * 0)), sum((-0e0, -$x * 0)))",
    "for $x in (1e308, 1) return $x * 10",
    "for $x in (5, 1.5e0, xs:double('NaN')) order by $x return $x",
]
# of doubles: NaN is the least, and equal to itself, when values are sorted or grouped
OF_DOUBLES = [
    "for $i in ITEMS return TYPED",
    "for $i in ITEMS order by TYPED, $i/@n return $i/@n/string()",
    "for $i in ITEMS order by TYPED descending, $i/@n return $i/@n/string()",
    "for $i in ITEMS order by TYPED empty greatest return TYPED",
    "for $i in ITEMS let $k := TYPED group by $k return <g k='{ $k }' n='{ $i/@n }'/>",
    "for $i in ITEMS order by $i/@n descending group by $k := TYPED return <g k='{ $k }'/>",
    "for $i in ITEMS group by $k := TYPED order by $k return <g k='{ $k }'>{ count($i) }</g>",
    "for $i in ITEMS group by $k := TYPED, $l := TYPED = 0 return <g k='{ $k }' l='{ $l }'/>",
    "distinct-values(for $i in ITEMS return TYPED)",
    "distinct-values(for $i in ITEMS order by $i/@n descending return TYPED)",
    "for $d in distinct-values(ITEMS ! TYPED_HERE) return 1 div $d",
    "sum(for $i in ITEMS return TYPED)",
    "avg(for $i in ITEMS return TYPED)",
    "min(for $i in ITEMS return TYPED), max(for $i in ITEMS return TYPED)",
    "min(for $i in ITEMS where TYPED = 0 return TYPED)",
    "max(for $i in ITEMS where TYPED = 0 return TYPED)",
    "min(for $i in ITEMS where TYPED = 0 order by $i/@n descending return TYPED)",
    "max(for $i in ITEMS where TYPED = 0 order by $i/@n descending return TYPED)",
    "for $i in ITEMS group by $k := TYPED = 0 return min($i[v != 'NaN'] ! TYPED_HERE)",
    "sum(for $i in ITEMS where TYPED = 0 and $i/v = '-0' return TYPED)",
    "for $i in ITEMS, $j in ITEMS where TYPED = OTHER return concat($i/@n, '-', $j/@n)",
    "for $i in ITEMS, $j in ITEMS where TYPED >= OTHER return concat($i/@n, '-', $j/@n)",
    "for $i in ITEMS return (round(TYPED), round-half-to-even(TYPED, 1), floor(TYPED), abs(TYPED))",
    "for $i in ITEMS return (TYPED div 0, -TYPED, TYPED mod 2, TYPED * TYPED)",
    "for $i in ITEMS where $i/v != 'NaN' and not(contains($i/v, 'INF')) return xs:integer(TYPED)",
    "for $i in ITEMS return if (TYPED) then 1 else 0",
    "count(ITEMS[TYPED_HERE != TYPED_HERE]), count(ITEMS[TYPED_HERE < 1])",
]


class Asked:
    """A session, and its stream for the evaluator."""

    def __init__(self, session: xcql.Session) -> None:
        self._session = session
        self._streams = {"s": (session.store.parent / "s.xml", session.tags("s"))}

    def check(self, query: str) -> None:
        """Check that the answer, or the error and its place, is the evaluator's."""
        assert self._found(query) == self._expected(query), query

    def _found(self, query: str) -> Answer:
        try:
            return self._session.query(query, now=NOW).to_xml()
        except xcql.XcqlError as problem:
            return told(problem)

    def _expected(self, query: str) -> Answer:
        try:
            return [one.xml for one in xcql.evaluate(query, streams=self._streams, now=NOW)]
        except xcql.XcqlError as problem:
            return told(problem)


@pytest.fixture(scope="module")
def asked(new_session: OpenSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A stream with an item for each value: `<i t="large" n="17"><v>1</v></i>`."""
    items = [
        f'<i t="{kind}" n="{number:02}"><v>{value}</v></i>'
        for kind, values in VALUES.items()
        for number, value in enumerate(values)
    ]
    holes = "".join(f'<hole id="{number}"/>' for number, _ in enumerate(items, 1))
    fillers = "".join(
        f'<filler id="{number}" tsid="2" validTime="2001-01-01">{item}</filler>'
        for number, item in enumerate(items, 1)
    )
    text = f'<f><filler id="0" tsid="1"><r>{holes}</r></filler>{fillers}</f>'
    store = world_store(tmp_path_factory.mktemp("numbers"), {"s": text}, {"s": TAGS})
    with new_session(store) as session:
        yield Asked(session)


def _filled(template: str, kind: str, type_: str) -> str:
    return (
        template.replace("ITEMS", f'stream("s")//i[@t = "{kind}"]')
        .replace("TYPED_HERE", f"{type_}(v)")
        .replace("TYPED", f"{type_}($i/v)")
        .replace("OTHER", f"{type_}($j/v)")
    )


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers(kind: str, asked: Asked) -> None:
    for template in OF_NUMBERS:
        asked.check(_filled(template, kind, "xs:integer"))


@pytest.mark.parametrize("kind", DECIMALS)
def test_decimals(kind: str, asked: Asked) -> None:
    for template in OF_NUMBERS:
        asked.check(_filled(template, kind, "xs:decimal"))


def test_doubles(asked: Asked) -> None:
    for template in OF_DOUBLES:
        asked.check(_filled(template, "double", "xs:double"))


def test_untyped_values(asked: Asked) -> None:
    for kind in VALUES if FULL else ("double", "precise"):
        for template in OF_DOUBLES:
            asked.check(_filled(template, kind, "data"))


def test_without_data(asked: Asked) -> None:
    for query in PLAIN:
        asked.check(query)


def test_the_evaluator_gets_parts_of_the_stream(tmp_path: Path, open_session: OpenSession) -> None:
    """Squares of quotients have too many digits for SQL, but SQL finds the quotients' operands."""
    items = "".join(
        f'<filler id="{1 + at}" tsid="2" validTime="2003-01-01"><i><v>{value}</v></i></filler>'
        for at, value in enumerate(("1.5", "2", "4"))
    )
    root = '<filler id="0" tsid="1"><r><hole id="1"/><hole id="2"/><hole id="3"/></r></filler>'
    fragments = f"<f>{root}{items}</f>"
    session = open_session(world_store(tmp_path, {"s": fragments}, {"s": TAGS}))
    query = """let $all := stream("s")//v/xs:decimal(.) let $mean := avg($all)
      return (avg($all ! ((. - $mean) * (. - $mean))), $all)"""
    answer = session.query(query, now=NOW)
    expected = [one.xml for one in xcql.evaluate(query, streams={"s": (fragments, TAGS)}, now=NOW)]
    assert answer.to_xml() == list(answer) == expected
    assert answer.strategy == "qac+"
    assert answer.count() == 4
