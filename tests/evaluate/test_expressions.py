"""Operators, control, FLWOR, types, functions: query and answer side by side."""

from __future__ import annotations

import pytest

from tests.evaluate.answers import answer

OPERATORS = [
    ("1 + 2 * 3", "7"),
    ("7 div 2, 7 idiv 2, -7 idiv 2, -7 mod 2", "3.5 3 -3 -1"),
    ("1 div 3", "0.333333333333333333"),
    ("1e0 div 0, -1e0 div 0, 0e0 div 0", "INF -INF NaN"),
    ("xs:float(1) div 3", "0.33333334"),
    ("() + 1, 1 + ()", ""),
    ("-(-1), +1, --1", "1 1 1"),
    ("<a>2</a> * 3", "6"),
    ("'a' || 1 || ()", "a1"),
    ("1 to 3, 3 to 1, 2 to 2", "1 2 3 2"),
    ("1 = (2, 1), 1 != (1, 2), () = ()", "true true false"),
    ("<a>10</a> > 9, <a>10</a> > '9'", "true false"),
    ("1 eq 1.0, 'a' lt 'b', () eq 1", "true true"),
    ("3 = (1 to 1000000000), 0 = (1 to 1000000000), 2.5 = (1 to 3)", "true false false"),
    ("(1 to 1000000000) > 999999999, (1 to 3) != 1, (1 to 3) < 1", "true true false"),
    ("true() or error(), false() and error()", "true false"),
    ("(1, 2) ! (. * 2)", "2 4"),
    ("('a', 'b') ! (position() || . || last())", "1a2 2b2"),
    ("'abc' => upper-case() => concat('!')", "ABC!"),
    ("let $f := lower-case#1 return 'ABC' => $f()", "abc"),
    (
        "let $a := <a/>, $b := <b/> return (($b, $a) | $a, ($a, $b) except $a, $b intersect $a)",
        "<a/> <b/> <b/>",
    ),
    ("let $x := <a><b/><c/></a> return ($x/b is $x/b, $x/b << $x/c, $x/b >> $x/c)",
     "true true false"),
    ("xs:date('2020-01-31') + xs:yearMonthDuration('P1M')", "2020-02-29"),
    ("xs:dateTime('2003-10-23T12:00:00') + 90", "2003-10-23T12:01:30"),
    ("xs:dateTime('2003-10-23T12:00:00') - 0.5", "2003-10-23T11:59:59.5"),
    ("xs:dateTime('2020-01-01T00:00:00') - xs:dateTime('2019-12-31T23:00:00+01:00')", "PT2H"),
]  # fmt: skip

CONTROL = [
    ("if (()) then 1 else 2", "2"),
    ("switch ('b') case 'a' case 'b' return 1 default return 2", "1"),
    ("switch (()) case () return 1 default return 2", "1"),
    ("typeswitch (<a/>) case text() return 1 case $e as element() return name($e)"
     " default return 2", "a"),
    ("typeswitch ((1, 2)) case xs:integer | xs:string return 1 case xs:integer+ return 2"
     " default return 3", "2"),
    ("some $x in (1, 2), $y in (2, 3) satisfies $x + $y = 5", "true"),
    ("every $x in () satisfies false()", "true"),
    ("try { 1 div 0 } catch err:FOAR0001 { local-name-from-QName($err:code) }", "FOAR0001"),
    ("try { error(xs:QName('local:x'), 'why', (1, 2)) } catch local:x"
     " { $err:description, $err:value }", "why 1 2"),
    ("try { 1, error() } catch * { $err:line-number, $err:column-number }", "1 10"),
    ("let $x := (1, error()) return try { count($x) } catch * { try { count($x) } catch * { 3 } }",
     "3"),
    ("let $x := (1, error()) return try { count($x) } catch * { head($x) }", "1"),
    ("try { xs:integer('a') } catch err:FOAR0001 { 1 } catch err:* { 2 }", "2"),
    ("unordered { (1, 2) }, ordered { 3 }", "1 2 3"),
    ("declare namespace p = 'u'; (# p:hint anything #) { 1 }", "1"),
]  # fmt: skip

FLWOR = [
    ("for $x at $i in ('a', 'b') return $i || $x", "1a 2b"),
    ("for $x allowing empty at $i in () return <e>{$x, $i}</e>", "<e>0</e>"),
    ("for $x in 1 to 3, $y in 1 to $x where $x + $y = 4 return $x || $y", "22 31"),
    ("let $x := 1 let $x := $x + 1 return $x", "2"),
    ("for $x in ('b', 'a') count $n order by $x return $n || $x", "2a 1b"),
    ("for $x in (3, 1, 2) order by $x descending return $x", "3 2 1"),
    ("for $x in (2, (), 1) ! (if (. = 2) then <a/> else .) order by number($x) return count($x)",
     "1 1"),
    ("for $x in (<a>1</a>, <a/>, <a>0</a>) order by $x/text() empty greatest return <r>{$x/text()}"
     "</r>", "<r>0</r> <r>1</r> <r/>"),
    ("for $x in (1, 2, 3) stable order by $x mod 2 return $x", "2 1 3"),
    ("for $x in (1e0, xs:double('NaN'), ()) order by $x return $x", "NaN 1"),
    ("for $x in (1, 2, 3, 4) let $k := $x mod 2 group by $k return <g k='{$k}'>{$x}</g>",
     '<g k="1">1 3</g> <g k="0">2 4</g>'),
    ("for $x in (<a>x</a>, <a>y</a>, <a>x</a>) group by $v := string($x) return $v || count($x)",
     "x2 y1"),
    ("for $x in ('a', 'A') group by $x collation"
     " 'http://www.w3.org/2005/xpath-functions/collation/html-ascii-case-insensitive'"
     " return count($x)", "1"),
    ("let $y := 5 for $x in (1, 2) group by $k := 1 return sum($x) + sum($y)", "13"),
    ("for tumbling window $w in (1 to 7) start at $s when $s mod 3 = 1 return sum($w)", "6 15 7"),
    ("for tumbling window $w in (1 to 5) start when true() only end at $e when $e mod 2 = 0"
     " return <w>{$w}</w>", "<w>1 2</w> <w>3 4</w>"),
    ("for sliding window $w in (1 to 4) start at $s when true() only end at $e when $e - $s = 1"
     " return sum($w)", "3 5 7"),
    ("for tumbling window $w in (1, 2, 4, 5) start $f when true() end $l next $n"
     " when $n != $l + 1 return <w>{$f, $l}</w>", "<w>1 2</w> <w>4 5</w>"),
]  # fmt: skip

TYPES = [
    ("5 instance of xs:decimal, 5.0 instance of xs:integer", "true false"),
    ("(1, 2) instance of xs:integer+, () instance of empty-sequence()", "true true"),
    ("<a/> instance of element(a), <a/> instance of element(b)", "true false"),
    ("<a/> instance of element(*, xs:untyped), <a/> instance of element(a, xs:integer)",
     "true false"),
    ("document { <a/> } instance of document-node(element(a))", "true"),
    ("function($x as xs:integer) as xs:string { 'a' } instance of function(xs:int) as item()",
     "true"),
    ("function($x as xs:int) { 1 } instance of function(xs:integer) as item()*", "false"),
    ("map { 'a': 1 } instance of map(xs:string, xs:integer)", "true"),
    ("[1, 'a'] instance of array(xs:integer), [] instance of array(xs:integer)", "false true"),
    ("'1' cast as xs:integer, () cast as xs:integer?", "1"),
    ("'a' castable as xs:integer, (1, 2) castable as xs:integer?, () castable as xs:integer?",
     "false false true"),
    ("'a b' cast as xs:NMTOKENS", "a b"),
    ("(1, 2) treat as xs:integer+", "1 2"),
    ("declare function local:f($x as xs:double) { $x instance of xs:double };"
     " local:f(1), local:f(<a>2</a>)", "true true"),
    ("declare function local:f($x as xs:string) { $x }; local:f(xs:anyURI('u'))", "u"),
    ("declare function local:f($f as function(xs:integer) as xs:string) { $f(1) };"
     " local:f(function($x) { 'got ' || $x })", "got 1"),
]  # fmt: skip

FUNCTIONS = [
    ("let $f := function($x) { $x + 1 } return $f(1)", "2"),
    ("let $n := 10 let $f := function($x) { $x + $n } return (let $n := 20 return $f(1))", "11"),
    ("let $f := concat(?, '-', ?) return $f('a', 'b')", "a-b"),
    ("let $f := substring('abcdef', ?, 2) return ($f(1), $f(3))", "ab cd"),
    ("for-each((1, 2), function($x) { $x * 2 })", "2 4"),
    ("fold-left(1 to 4, 0, function($a, $b) { $a + $b })", "10"),
    ("sort((3, 1, 2), (), function($x) { -$x })", "3 2 1"),
    ("(1, 2, 3)[function($x) { $x > 1 }(.)]", "2 3"),
    ("(5, 6) ! (let $p := position#0 return $p())", "1 2"),
    ("function-arity(concat#4), function-name(upper-case#1)", "4 fn:upper-case"),
    ("declare function local:even($n) { if ($n = 0) then true() else local:odd($n - 1) };"
     " declare function local:odd($n) { if ($n = 0) then false() else local:even($n - 1) };"
     " local:even(10)", "true"),
    ("declare variable $b := $a + 1; declare variable $a := 1; $b", "2"),
    ("declare %local:note('x') function local:f() { 1 }; local:f()", "1"),
    ("declare context item := <a><b>1</b></a>; b + 1", "2"),
    ("declare default order empty greatest; for $x in (<a/>, <a>1</a>) order by $x/text()"
     " return count($x/text())", "1 0"),
    ("declare decimal-format local:de decimal-separator = ',' grouping-separator = '.';"
     " format-number(1234.5, '#.##0,00', 'local:de')", "1.234,50"),
    ("declare base-uri 'http://x/y/'; resolve-uri('z'), base-uri(<a/>)",
     "http://x/y/z http://x/y/"),
    ("define function twice($x) { $x * 2 } twice(3)", "6"),
]  # fmt: skip

MAPS_AND_ARRAYS = [
    ("map { 'a': 1, 'b': (2, 3) }?b", "2 3"),
    ("map { 1: 'x' }(1.0), map { 'a': 1 }?('a', 'z')", "x 1"),
    ("[1, (2, 3), [4]]?2, [1, 2]?*, array { 1, (2, 3) }?3", "2 3 1 2 3"),
    ("(map { 'a': 1 }, map { 'a': 2 })?a", "1 2"),
    ("let $m := map { 'f': function($x) { $x + 1 } } return $m?f(2)", "3"),
    ("[[1, 2], [3, 4]]?2?1, (1, 2) ! [., . * 2]?2", "3 2 4"),
    ("map { 'a': 1 } ! ?a", "1"),
    ("data([1, [2, 3]]), sum([1, 2]), [1, 2] = 2", "1 2 3 3 true"),
    ("map:merge((map { 1: 'a' }, map { 2: 'b' })) ! map:size(.)", "2"),
    ("array:sort([3, 1, 2])?*", "1 2 3"),
    ("<a>{ [1, 2], 'x' }</a>", "<a>1 2 x</a>"),
    ("``[sum of `{1}` and `{(2, 3)}`: `{ 6 }`]``", "sum of 1 and 2 3: 6"),
    ("map { xs:double('NaN'): 1 }(xs:float('NaN'))", "1"),
]


@pytest.mark.parametrize(
    ("query", "expected"),
    OPERATORS + CONTROL + FLWOR + TYPES + FUNCTIONS + MAPS_AND_ARRAYS,
    ids=lambda part: part[:60],
)
def test_answers(query: str, expected: str) -> None:
    assert answer(query) == expected
