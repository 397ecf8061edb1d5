"""Maps and arrays that are built from data, against the reference evaluator."""

from __future__ import annotations

import pytest

import xcql
from tests.compile.against_reference import check_credit, check_credit_error

NAMES = 'map:merge(stream("credit")//account ! map { string(@id): string(customer) })'
BY_VENDOR = """map:merge(for $t in stream("credit")//transaction
    return map:entry(string($t/vendor), $t/amount), map { "duplicates": "%s" })"""

NATIVE = [
    f'let $m := {NAMES} for $a in stream("credit")//account return $m($a/@id)',
    f'let $m := {NAMES} return ($m("1234"), $m("none"), $m?("1234", "5678"), map:size($m))',
    f'let $m := {NAMES} return (map:keys($m), $m?*, ("1234", "") ! map:contains($m, .))',
    f'let $m := {NAMES} return map:keys(map:remove($m, ("1234", "none")))',
    f"map:for-each({NAMES}, function($k, $v) {{ <e k='{{$k}}'>{{$v}}</e> }})",
    *(
        f"""let $m := {BY_VENDOR % rule} return (map:size($m), map:keys($m), $m?* ! string(),
              for $k in map:keys($m) order by $k return $k || sum($m($k)))"""
        for rule in ("use-first", "use-last", "use-any", "combine")
    ),
    # nodes as values, and maps
    """let $m := map:merge(stream("credit")//account ! map { string(@id): . })
       for $t in $m("1234")/transaction return $t/vendor""",
    """let $m := map:merge(stream("credit")//account
         ! map { string(@id): map { "n": string(customer), "c": count(transaction) } })
       for $k in map:keys($m) where $m($k)?c > 0 return $m($k)?n""",
    # one map for each group
    """for $t in stream("credit")//transaction group by $v := string($t/vendor) order by $v
       let $m := map:merge($t ! map { string(@id): string(amount) })
       return <v name="{$v}">{ for $k in map:keys($m) return ($k, $m($k)) }</v>""",
    # numbers as keys
    """let $m := map:merge(stream("credit")//account ! map { count(transaction): string(@id) })
       return ($m(1), $m?1, $m(1.0), $m(1e0), $m("1"))""",
    # many maps
    """let $rows := for $a in stream("credit")//account
         return map { "id": string($a/@id), "n": count($a/transaction) }
       return ($rows?id, sum($rows?n), $rows[?n > 1]?id, $rows ! ?n)""",
    'map:put(map { "a": 1, "b": 2 }, "a", count(stream("credit")//account))?*',
    'map:remove(map { "a": 1, "b": count(stream("credit")//account) }, "a")?*',
    # arrays
    """let $a := array { for $c in stream("credit")//customer order by $c return string($c) }
       return (array:size($a), $a(1), $a?2, $a?*, array:reverse($a)?*, array:head($a))""",
    """let $a := array { stream("credit")//account }
       for $i in 1 to array:size($a) return $i || $a($i)/customer""",
    """array:filter(array { stream("credit")//account }, function($a) { exists($a/transaction) })?*
       ! string(@id)""",
    'array:sort(array { stream("credit")//customer/string() })?*',
    """array:sort(array { stream("credit")//account }, (), function($a) { $a/customer, $a/@id })?3
       /@id/string()""",
    'array:for-each(array { stream("credit")//customer }, function($c) { upper-case($c) })?*',
    'array:fold-left([1, 2, count(stream("credit")//account)], 0, function($a, $b) { $a + $b })',
    """array:flatten([[stream("credit")//customer/string(), ["x"]], array { stream("credit")//@id }]
         ) ! string()""",
    'array:append(array { stream("credit")//customer/string() }, "x")?*',
    """for $a in stream("credit")//account
       return ["none", "one", "more"](min((count($a/transaction) + 1, 3)))""",
]


@pytest.mark.parametrize("query", NATIVE)
def test_maps_and_arrays_of_data(query: str, corpus_session: xcql.Session) -> None:
    check_credit(corpus_session, query, is_native=True)


@pytest.mark.parametrize(
    "query",
    [
        'let $a := array { stream("credit")//account } return $a(700)',
        'let $a := array { stream("credit")//account } return $a?700',
        'let $a := array { stream("credit")//account } return $a?x',
        'for $a in stream("credit")//account return [1, 2](count($a/transaction) + 3)',
        "array:head([])",
        'array:filter(array { stream("credit")//account }, function($a) { $a/transaction })?*',
        'filter(stream("credit")//account, function($a) { $a/transaction })',
        '[(), 1](count(stream("credit")//account))',
        'map:merge(stream("credit")//account ! map { none: 1 })',
        'map:size(map:merge(stream("credit")//account ! map { @none: 1 }))',
        'map:size(map:merge(stream("credit")//account ! map:entry(transaction/vendor, 1)))',
        f"map:size({BY_VENDOR % 'reject'})",
        f"map:size({BY_VENDOR % 'wrong'})",
    ],
)
def test_errors(query: str, corpus_session: xcql.Session) -> None:
    check_credit_error(corpus_session, query)
