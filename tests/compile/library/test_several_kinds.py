"""Sequences of several kinds of items, against the reference evaluator."""

from __future__ import annotations

import pytest

import xcql
from tests.compile.against_reference import check_credit, check_credit_error

MIXED = '(stream("credit")//customer, 1, "b", 2.5, stream("credit")//account/@id)'

NATIVE = [
    f"subsequence({MIXED}, 3, 5)",
    f"reverse({MIXED})",
    f"head({MIXED}), tail({MIXED}), remove({MIXED}, 2), insert-before({MIXED}, 3, 'x')",
    f"filter({MIXED}, function($x) {{ $x instance of node() }})",
    f"for $x at $i in {MIXED} return <x n='{{$i}}'>{{string($x)}}</x>",
    f"{MIXED} ! concat(position(), '/', last(), ' ', .)",
    f"if ({MIXED}) then 'true' else 'false'",
    'if ((1, stream("credit")//none)) then "true" else "false"',
    """<a>{ for $x in (stream("credit")//customer, 1, "b", 2.5) order by string($x) descending
         return ($x, <b/>) }</a>""",
    """<a>{ for $a in stream("credit")//account return (1, 2, $a/customer, "x", 3) }</a>""",
    """<a>{ for $a in stream("credit")//account order by $a/@id descending
         return (1, if ($a/transaction) then $a/customer else "x", 3), 4, "<" }</a>""",
    """string-join(for $x in (stream("credit")//customer, stream("credit")//vendor)
         order by $x descending return $x, "|")""",
    """sort(stream("credit")//account, (),
         function($a) { count($a/transaction), string($a/@branch), $a/@id }) ! string(@id)""",
    """for $a in stream("credit")//account
       order by $a/@id collation "http://www.w3.org/2005/xpath-functions/collation/codepoint"
       return $a/@id/string()""",
    # names from data
    'for $a in stream("credit")//account return element { "a" || $a/@id } { $a/customer, 1, 2 }',
    '<a>{ stream("credit")//account ! element { "a" || @id } { @id, customer }, 5 }</a>',
]


@pytest.mark.parametrize("query", NATIVE)
def test_items_of_several_kinds(query: str, corpus_session: xcql.Session) -> None:
    check_credit(corpus_session, query, is_native=True)


@pytest.mark.parametrize(
    "query",
    [
        'if ((1, stream("credit")//customer)) then 1 else 2',
        'for $c in stream("credit")//customer return element { $c } { 1 }',
        'for $a in stream("credit")//account return element { "xs:a" || $a/@id } { 1 }',
        'for $a in stream("credit")//account return element { $a/@none } { 1 }',
        f"sort({MIXED})",
    ],
)
def test_errors(query: str, corpus_session: xcql.Session) -> None:
    check_credit_error(corpus_session, query)
