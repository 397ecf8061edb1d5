"""Parts of queries that the evaluator answers, against the evaluator's answer to the whole."""

from __future__ import annotations

import pytest

import xcql
from tests.compile.against_reference import NOW, check_credit, check_credit_error

ADD = "function($a, $b) { $a + $b }"


@pytest.mark.parametrize(
    "query",
    [
        'for $l in stream("credit")//creditLimit return apply(reverse#1, [$l])',
        'stream("credit")//account ! <x>{ apply(reverse#1, [creditLimit]) }</x>',
        'analyze-string("a", "a"), <a vtFrom="2003-01-01" vtTo="now">{ parse-xml("<b/>") }</a>',
        'for $a in stream("credit")//account return element { "x" || $a/@id } { $a/creditLimit }',
    ],
)
def test_lifespans_of_evaluated_items(query: str, corpus_session: xcql.Session) -> None:
    native = corpus_session.query(query, strategy="qac+", now=NOW)
    assert native.strategy == "qac+"
    assert native.arrow() == corpus_session.query(query, strategy="caq", now=NOW).arrow()


@pytest.mark.parametrize(
    "query",
    [
        'for $a in stream("credit")//account return apply(reverse#1, [$a/@id])',
        'for $c in stream("credit")//customer return apply(reverse#1, [$c/text()])',
        'for $i in stream("credit")//account/@id return apply(reverse#1, [$i])',
    ],
)
def test_lifespans_of_attributes_and_texts(query: str, corpus_session: xcql.Session) -> None:
    """They are those of ancestors, which the evaluator may not have: then it gets everything."""
    native = corpus_session.query(query, strategy="qac+", now=NOW)
    assert native.arrow() == corpus_session.query(query, strategy="caq", now=NOW).arrow()


# parts that read streams are native, and the evaluator gets their values
LIFTED = [
    f'fold-right(stream("credit")//amount, 0, {ADD})',
    'fold-right(reverse(stream("credit")//account), "", function($b, $a) { $a || ($b/@id)[1] })',
    'stream("credit")//customer/analyze-string(., "[aeiou]")//*:match/string()',
    'stream("credit")//account/fold-left(1 to last(), "", function($a, $b) { $a || $b })',
    # the same variable names inside and outside
    """let $x := 5 return fold-right(1 to 3, 0,
         function($x, $a) { $a + $x * count(stream("credit")//account) })""",
    # one sequence for all rows is passed once
    """for $a in stream("credit")//account return fold-right($a/transaction, 0,
         function($t, $n) { $n + count(stream("credit")//transaction[vendor = $t/vendor]) })""",
    # a part of a function's body
    """declare function local:f($n) { if ($n > 3) then count(stream("credit")//account)
         else local:f($n + 1) };
       for $a in stream("credit")//account return local:f(count($a/transaction))""",
    """declare variable $all := stream("credit")//account;
       declare function local:f($n) { if ($n > 2) then $all[$n]/@id/string() else local:f($n + 1) };
       for $a in $all return local:f(count($a/transaction))""",
    # functions see the variables of the prolog
    """declare variable $g := 1;
       declare function local:f($n) { if ($n = 0) then $g else local:f($n - 1) };
       for $a in stream("credit")//account let $g := 2 return local:f(count($a/customer))""",
    # a typed result can be compared and computed with
    """declare function local:up($n as xs:integer) as xs:integer {
         if ($n > 3) then $n else local:up($n + 1) };
       for $a in stream("credit")//account where local:up(count($a/transaction)) > 3
       order by local:up(count($a/transaction)) descending
       return local:up(count($a/transaction)) + 1""",
    """for $a in stream("credit")//account, $b in stream("credit")//account
       where $a << $b and deep-equal($a, $b,
         "http://www.w3.org/2005/xpath-functions/collation/codepoint")
       return $a/@id || $b/@id""",
    # nodes of two variables, each sorted by itself
    """for-each-pair(stream("credit")//account, stream("credit")//transaction,
         function($a, $t) { apply(concat#2, [$a/customer, $t/vendor]) })""",
    # a condition of a window
    """for tumbling window $w in stream("credit")//transaction
         start $s when true() end $e next $n when not(deep-equal($e, $n,
           "http://www.w3.org/2005/xpath-functions/collation/codepoint"))
       return <w>{ for $t in $w return string($t/amount) }</w>""",
    # the truth of an evaluated item
    """for $a in stream("credit")//account where apply(data#1, [$a/customer])
       return $a/@id/string()""",
]


@pytest.mark.parametrize("query", LIFTED)
def test_the_evaluator_gets_native_parts(query: str, corpus_session: xcql.Session) -> None:
    check_credit(corpus_session, query, is_native=False)


# what copies of nodes would change, and what a lifted part must not change
NOT_LIFTED = [
    # one node in two variables
    """let $f := function($x, $y) { fold-left(($x, $y), (), function($a, $b) { $a | $b }) }
       return count($f(stream("credit")//account, stream("credit")//account[1]))""",
    # each projection has new nodes
    """count(fold-left(1 to 2, (), function($a, $b) { $a, stream("credit")?[now]//account })
       /customer)""",
    # the parent of a copy
    """declare function local:up($n) { if (empty($n/..)) then 0 else 1 + local:up($n/..) };
       local:up((stream("credit")//transaction)[1])""",
    # the lifespan of an attribute is its element's
    'fold-left(stream("credit")//account/@id, (), function($a, $b) { ($a, vtFrom($b)) })',
    # a part that fails, but is not reached; one that is reached; one whose error is caught
    """fold-left(1 to 3, 0, function($a, $b) {
         if ($b > 5) then xs:integer((stream("credit")//customer)[1]) else $a + $b })""",
    """fold-left(1 to 3, 0, function($a, $b) {
         $a + xs:integer((stream("credit")//customer)[1]) })""",
    """try { fold-left(1 to 3, 0, function($a, $b) {
         $a + xs:integer((stream("credit")//customer)[1]) }) } catch * { "caught" }""",
    # a map is no answer
    """let $m := if (count(stream("credit")//account) > 2) then map { "a": 1 } else map { "a": 2 }
       return ($m?a, fold-left(1 to 2, $m, function($a, $b) { map:put($a, "b", $b) })?b)""",
    'if (count(stream("credit")//account) > 200) then map { } else 3',
]


@pytest.mark.parametrize("query", NOT_LIFTED)
def test_parts_that_cannot_be_lifted(query: str, corpus_session: xcql.Session) -> None:
    check_credit_error(corpus_session, query)
