"""Values that cannot be read: an error only where the query looks at them."""

from __future__ import annotations

from pathlib import Path

import pytest

import xcql
from tests.compile.both_ways import Answer, told
from tests.compile.conftest import world_store
from tests.conftest import OpenSession
from xcql.diagnostics import XcqlError

NOW = "2010-01-01"
TAGS = """<structure><tag type="snapshot" id="1" name="r"><tag type="temporal" id="2" name="i">
  <tag type="snapshot" id="3" name="v"/><tag type="event" id="4" name="e"/>
</tag></tag></structure>"""
ITEM = '<filler id="{0}" tsid="2" validTime="2001-01-01"><i id="{0}" ref="{1}">{2}</i></filler>'
EVENT = '<filler id="e{0}" tsid="4" validTime="2001-01-0{0}"><e>{1}</e></filler>'
FRAGMENTS = "".join(
    [
        '<f><filler id="0" tsid="1"><r><hole id="1"/><hole id="2"/><hole id="3"/></r></filler>',
        ITEM.format(1, 2, '<v>1</v><v>n/a</v><hole id="e1"/><hole id="e2"/>'),
        ITEM.format(2, 1, '<v>2.5</v><hole id="e3"/>'),
        ITEM.format(3, 9, "<v>no</v>"),
        *(EVENT.format(*one) for one in ((1, "4"), (2, "?"), (3, "8"))),
        "</f>",
    ]
)
ITEMS = 'stream("s")//i'
QUERIES = [
    # the parts of a condition
    f"for $i in {ITEMS} return count($i/v[. castable as xs:decimal][xs:decimal(.) > 1])",
    'for $v in stream("s")//v return not($v castable as xs:decimal) or xs:decimal($v) > 2',
    'stream("s")//v[. castable as xs:decimal and xs:decimal(.) > 1]/string()',
    'for $v in stream("s")//v return exists(if ($v castable as xs:decimal) then'
    " xs:decimal($v)[. > 2] else ())",
    'for $v in stream("s")//v let $n := if ($v castable as xs:decimal) then xs:decimal($v) else -1'
    " group by $b := $n > 2 order by $b return avg($n)",
    'for $v in stream("s")//v return typeswitch (if ($v castable as xs:decimal) then xs:decimal($v)'
    " else string($v)) case xs:decimal return 1 default return 2",
    # nested queries
    f"for $i in {ITEMS} return if (every $e in $i/e satisfies $e castable as xs:decimal) then"
    " sum($i/e/xs:decimal(.)) else '?'",
    f'for $i in {ITEMS}, $v in {ITEMS}[@ref = $i/@id]/v where $i/@id = "1" and xs:decimal($v) > 2'
    " return string($v)",
    'some $e in stream("s")//e satisfies xs:decimal($e) > 3',
    # parts that the evaluator computes
    'for $e in stream("s")//e where $e castable as xs:decimal and format-time(xs:time("10:00:00") +'
    ' xs:dayTimeDuration("PT1M") * xs:decimal($e), "[m]") > "05" return string($e)',
    # errors
    'stream("s")//e/xs:decimal(.)',
    f"for $i in {ITEMS} return sum($i/e/xs:decimal(.))",
    f"for $i in {ITEMS} return exactly-one($i/v)",
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return world_store(tmp_path_factory.mktemp("dirty"), {"s": FRAGMENTS}, {"s": TAGS})


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("strategy", ["qac+", "qac"])
def test_errors_only_where_values_are_needed(
    query: str, strategy: str, store: Path, open_session: OpenSession
) -> None:
    session = open_session(store)
    stream = {"s": (store.parent / "s.xml", TAGS)}

    def expected() -> list[str]:
        return [one.xml for one in xcql.evaluate(query, streams=stream, now=NOW)]

    assert _outcome(lambda: session.query(query, strategy, NOW).to_xml()) == _outcome(expected)


def _outcome(answer) -> Answer:  # type: ignore[no-untyped-def]
    try:
        return answer()  # type: ignore[no-any-return]
    except XcqlError as problem:
        return told(problem)
