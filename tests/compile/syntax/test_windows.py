"""Window clauses in SQL, against the reference evaluator."""

from __future__ import annotations

import pytest

import xcql
from tests.queries import corpus

NOW = "2010-01-01"
# queries over the data set `sensors`, or without data
QUERIES = {
    "fixed length": """for tumbling window $w in (1 to 10)
        start at $s when true() end at $e when $e - $s = 2 return <w>{$w}</w>""",
    "fixed length, whole ones only": """for tumbling window $w in (1 to 10)
        start $a at $s when $a mod 2 = 0 only end at $e when $e = $s + 2 return <w>{$w}</w>""",
    "no end": """for tumbling window $w in (1 to 10) start $a when $a mod 3 = 0
        return <w n="{count($w)}">{sum($w)}</w>""",
    "ends by themselves": """for tumbling window $w in (3, 1, 2, 5, 4, 9)
        start $s when true() end $e next $n when $n < $e return <w>{$w}</w>""",
    "never ends": """for tumbling window $w in ("a", "b", "c")
        start $s when $s = "b" end $e when false() return <w>{$w}</w>""",
    "all variables": """for sliding window $w in (2, 4, 6, 8, 10)
        start $s previous $p next $n when true()
        end $e at $i previous $q next $m when $m - $s > 4
        return <w s="{$s}" p="{$p}" n="{$n}" e="{$e}" i="{$i}" q="{$q}" m="{$m}">{$w}</w>""",
    "sliding to an end of its own": """for sliding window $w in (1 to 4)
        start $s when $s ge 2 only end $e when $e ge 3 return string-join($w ! string(), "-")""",
    "for each tuple": """for $k in (2, 3) for tumbling window $w in (1 to 7)
        start at $s when true() end at $e when $e - $s = $k - 1 return <w k="{$k}">{$w}</w>""",
    "then other clauses": """for tumbling window $w in (1 to 3)
        start $s at $p when $s = $p end $e at $q when $q ge $p + 1
        group by $k := count($w) return <g k="{$k}">{count($w)}</g>""",
    "of several types": """for tumbling window $w in ("x", 1, 2)
        start when true() end at $i when $i = 2 return <w>{count($w)}</w>""",
    "of nodes, for each node": """for $s in stream("station")//station
        for tumbling window $w in $s/reading
        start $r when true() end next $n when $n/temperature > $r/temperature
        return <w s="{$s/@id}" n="{count($w)}">{$w/temperature/text()}</w>""",
    "inside of a constructor": """for $s in stream("station")//station return <s>{
        for sliding window $w in $s/reading/temperature
        start at $s when true() only end at $e when $e - $s = 1 return <m>{count($w)}</m> }</s>""",
}


@pytest.mark.parametrize("name", QUERIES)
def test_windows(name: str, corpus_session: xcql.Session) -> None:
    text = QUERIES[name]
    streams = {one.name: (one.fragments, one.tags) for one in corpus.datasets()["sensors"]}
    expected = xcql.evaluate(text, streams=streams, now=NOW)
    answer = corpus_session.query(text, strategy="qac+", now=NOW)
    assert answer.strategy == "qac+", answer.explain()
    assert answer.to_xml() == [item.xml for item in expected]
    assert "evaluated" not in answer.explain()
