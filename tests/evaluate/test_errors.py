"""Errors of queries: their codes, positions and hints."""

from __future__ import annotations

import pytest

from tests.evaluate.answers import failure

STATIC = [
    ("let $abc := 1 return $abd", "XPST0008"),
    ("foo()", "XPST0017"),
    ("p:foo()", "XPST0081"),
    ("1 cast as xs:foo", "XQST0052"),
    ("1 instance of xs:foo", "XPST0051"),
    ("1 cast as xs:anyAtomicType", "XPST0080"),
    ("declare variable $x := 1; declare variable $x := 2; 1", "XQST0049"),
    ("declare function local:f() {1}; declare function local:f() {2}; 1", "XQST0034"),
    ("declare function local:f($a, $a) {1}; 1", "XQST0039"),
    ("declare function fn:f() {1}; 1", "XQST0045"),
    ("declare function f() {1}; 1", "XQST0045"),
    ("declare default function namespace ''; declare function f() {1}; 1", "XQST0060"),
    ("declare namespace p = 'u'; declare namespace p = 'v'; 1", "XQST0033"),
    ("declare namespace xml = 'u'; 1", "XQST0070"),
    ("declare base-uri 'a'; declare base-uri 'b'; 1", "XQST0032"),
    ("declare default collation 'nowhere'; 1", "XQST0038"),
    ("declare context item := 1; declare context item := 2; 1", "XQST0099"),
    ("declare default decimal-format zero-digit = 'x'; 1", "XQST0097"),
    ("declare default decimal-format percent = '.'; 1", "XQST0098"),
    ("declare %private %public function local:f() {1}; 1", "XQST0106"),
    ("for $x at $x in 1 return 1", "XQST0089"),
    ("for $x in 1 group by $y return 1", "XPST0008"),
    ("let $y := 1 return for $x in 1 group by $y return 1", "XQST0094"),
    ("for $x in 1 order by $x collation 'nowhere' return 1", "XQST0076"),
    ("(# xs:x #) {}", "XQST0079"),
    ("validate { <a/> }", "XQST0075"),
    ("import schema 'u'; 1", "XQST0009"),
    ("import module 'u'; 1", "XQST0016"),
    ("xquery version '9.0'; 1", "XQST0031"),
    ("declare function local:f() external; 1", "XPST0017"),
]

DYNAMIC = [
    ("1 + 'a'", "XPTY0004"),
    ("(1, 2) + 1", "XPTY0004"),
    ("1 eq 'a'", "XPTY0004"),
    ("1 idiv 0", "FOAR0001"),
    ("<a>x</a> = 1", "FORG0001"),
    ("if ((1, 2)) then 1 else 2", "FORG0006"),
    ("'x' treat as xs:integer", "XPDY0050"),
    ("'a' cast as xs:integer", "FORG0001"),
    ("() cast as xs:integer", "XPTY0004"),
    ("let $x as xs:integer := 'a' return $x", "XPTY0004"),
    ("for $x in (1, 'a') order by $x return $x", "XPTY0004"),
    ("declare function local:f($x as xs:string) {$x}; local:f(1)", "XPTY0004"),
    ("declare function local:f() as xs:string {1}; local:f()", "XPTY0004"),
    ("declare variable $x external; $x", "XPDY0002"),
    ("declare variable $x := local:f(); declare function local:f() {$x}; $x", "XQDY0054"),
    ("declare variable $x := (1, $x); $x", "XQDY0054"),
    ("declare variable $x := for $i in 1 to 2 return count($x); $x", "XQDY0054"),
    ("declare variable $x := for $i in 1 to 2 return $x[last()]; $x", "XQDY0054"),
    ("map { 'a': 1, 'a': 2 }", "XQDY0137"),
    ("[1, 2]?3", "FOAY0001"),
    ("(1)(2)", "XPTY0004"),
    ("let $f := concat#2 return $f(1)", "XPTY0004"),
    ("1?a", "XPTY0004"),
    ("<a/> is 1", "XPTY0004"),
    ("1 union 2", "XPTY0004"),
    (".", "XPDY0002"),
    ("let $f := function() { . } return <a/>/$f()", "XPDY0002"),
    (
        "error(xs:QName('local:oops'), 'why')",
        "Q{http://www.w3.org/2005/xquery-local-functions}oops",
    ),
]


@pytest.mark.parametrize(("query", "code"), STATIC + DYNAMIC, ids=lambda part: part[:60])
def test_code_and_position(query: str, code: str) -> None:
    problem = failure(query)
    assert problem.code == code
    assert problem.line is not None, "every error says where"


def test_static_errors_are_found_without_running() -> None:
    assert failure("if (true()) then 1 else $nowhere").code == "XPST0008"
    assert failure("declare function local:f() { nowhere() }; 1").code == "XPST0017"


def test_a_misspelt_variable_gets_a_suggestion() -> None:
    text = str(failure("let $account := 1\nreturn $acount + 1"))
    assert text == (
        "error[XPST0008]: unknown variable $acount\n"
        " --> <query>:2:8\n"
        "  |\n"
        "2 | return $acount + 1\n"
        "  |        ^^^^^^^\n"
        "help: did you mean $account?"
    )


def test_a_wrong_number_of_arguments_is_not_an_unknown_function() -> None:
    assert failure("substring('a')").message == ("substring() takes 2 or 3 arguments; 1 is given")
    own = "declare function local:f($a) {1}; local:f(1, 2)"
    assert failure(own).message == "local:f() takes 1 argument; 2 are given"


def test_a_misspelt_function_gets_a_suggestion() -> None:
    assert failure("sub-string('a', 1)").diagnostic.hints == (
        "did you mean substring() or string()?",
    )
    own = "declare function local:total() {1}; local:totl()"
    assert failure(own).diagnostic.hints == ("did you mean local:total()?",)


def test_an_argument_of_the_wrong_type_says_which() -> None:
    assert failure("substring('abc', 'x')").message == (
        "argument 2 of substring() must be xs:double; it is xs:string"
    )


def test_the_position_is_right_after_multiline_text() -> None:
    problem = failure('let $x := "a\nb"\n(: c\n :)\nreturn 1 + $x')
    assert (problem.line, problem.column) == (5, 8)
