"""The corners of XQuery's grammar, chapter by chapter."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.parser.canonical import body, canonical, rejected
from xcql import parse
from xcql.parser.lexer import KEYWORDS
from xcql.syntax.construct import DirectElement, Text
from xcql.syntax.functions import FunctionCall
from xcql.syntax.literals import (
    DecimalLiteral,
    DoubleLiteral,
    IntegerLiteral,
    Sequence,
    StringLiteral,
)
from xcql.syntax.operators import Arrow, Binary, Comparison, InstanceOf, Unary
from xcql.syntax.path import AxisStep, Path


def same(*queries: str) -> None:
    """All of these parse to the same tree."""
    readings = {canonical(query) for query in queries}
    assert len(readings) == 1, readings


# ---------------------------------------------------------------- names and keywords

RESERVED_FOR_FUNCTIONS = {
    "array", "attribute", "comment", "document-node", "element", "empty-sequence", "function",
    "if", "item", "map", "namespace-node", "node", "processing-instruction", "schema-attribute",
    "schema-element", "switch", "text", "typeswitch",
}  # fmt: skip


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_a_keyword_is_a_name_everywhere(word: str) -> None:
    for query in (
        word,
        f"/{word}",
        f"a/{word}/{word}",
        f"@{word}",
        f"${word}",
        f"{word}:{word}",
        f"{word}:*",
        f"*:{word}",
        f"Q{{urn:a}}{word}",
        f"self::{word}",
        f"{word} + {word}",
        f"{word} eq {word}",
        f"{word}[{word}]",
        f'<{word} {word}="1"/>',
        f"element {word} {{}}",
        f"attribute {word} {{ 1 }}",
        f"$a?{word}",
        f"?{word}",
        f"map {{ {word} : {word} }}",
        f"if ({word}) then {word} else {word}",
        f"for ${word} in {word} where {word} order by {word} return {word}",
        f"let ${word} := {word} return {word}",
        f"some ${word} in {word} satisfies {word}",
        f"({word}, {word})[1]",
        f"{word} instance of {word}",
        f"element({word})",
        f"declare variable ${word} := {word};\n{word}",
    ):
        assert " ".join(canonical(query).split()) == " ".join(query.split())
    if word in RESERVED_FOR_FUNCTIONS:
        assert canonical(f"p:{word}()") == f"p:{word}()"
    else:
        assert isinstance(body(f"{word}()"), FunctionCall)
        assert canonical(f"declare function {word}() {{ 1 }};\n{word}#0")


@pytest.mark.parametrize("word", sorted(RESERVED_FOR_FUNCTIONS))
def test_reserved_words_are_not_function_names(word: str) -> None:
    rejected(f"declare function {word}() {{ 1 }}; 1")
    rejected(f"{word}(1, 2, 3)")


def test_hyphens_and_dots_belong_to_names() -> None:
    assert isinstance(body("a-b"), AxisStep)
    assert isinstance(body("a -b"), Binary)
    assert isinstance(body("a - b"), Binary)
    assert isinstance(body("a.b"), AxisStep)
    assert isinstance(body("$a-1"), type(body("$a")))
    assert isinstance(body("$a -1"), Binary)


def test_names_with_a_uri() -> None:
    same("Q{urn:a}b", "Q{ urn:a }b", "Q{urn:&#97;}b")
    assert canonical("Q{}b") == "Q{}b"
    assert canonical("Q{a&amp;b}c(1)") == "Q{a&amp;b}c(1)"
    assert canonical("Q{a}*") == "Q{a}*"
    assert canonical("$Q{a}b") == "$Q{a}b"
    same("Q{a  b}c", "Q{a b}c")
    rejected("Q{a&b}c")
    rejected("Q{a{b}c")
    rejected("Q{a} b")


def test_prefixed_names_have_no_space_inside() -> None:
    assert canonical("a:b") == "a:b"
    rejected("a :b")
    rejected("a: b")


# ---------------------------------------------------------------- literals


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("007", 7), ("12345678901234567890", 12345678901234567890)],
)
def test_integers(text: str, value: int) -> None:
    tree = body(text)
    assert isinstance(tree, IntegerLiteral)
    assert tree.value == value


@pytest.mark.parametrize(
    ("text", "value"), [("1.", "1"), (".5", "0.5"), ("1.50", "1.5"), ("00.10", "0.1")]
)
def test_decimals(text: str, value: str) -> None:
    tree = body(text)
    assert isinstance(tree, DecimalLiteral)
    assert tree.value == Decimal(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e0", 1.0), ("1.e3", 1e3), (".5E-2", 5e-3), ("1E+2", 1e2), ("1e999", None)],
)
def test_doubles(text: str, value: float | None) -> None:
    tree = body(text)
    assert isinstance(tree, DoubleLiteral)
    assert tree.value == (float("inf") if value is None else value)


@pytest.mark.parametrize("query", ["10div 3", "1e5e", "1.5a", "0x1", "1eq 1", ".5x", "1e"])
def test_a_number_does_not_run_into_a_name(query: str) -> None:
    rejected(query)


def test_numbers_next_to_operators() -> None:
    same("10 div 3", "10\ndiv\n3", "10(::)div(::)3")
    assert canonical("1-1") == "1 - 1"
    assert canonical("1.-.1") == "1.0 - 0.1"
    same("1 to 3", "(1)to(3)")


def test_a_number_of_ten_thousand_digits() -> None:
    digits = "1" + "0" * 10_000
    assert canonical(digits) == digits


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('""', ""),
        ('"a""b"', 'a"b'),
        ("'it''s'", "it's"),
        ("'\"'", '"'),
        ('"&lt;&gt;&amp;&quot;&apos;"', "<>&\"'"),
        ('"&#65;&#x42;&#x1D11E;"', "AB𝄞"),
        ('"a\r\nb\rc\nd"', "a\nb\nc\nd"),
        ('"&#xD;&#13;"', "\r\r"),
        ('"(: no comment :)"', "(: no comment :)"),
        ('"{1}"', "{1}"),
        ('"\t"', "\t"),
    ],
)
def test_strings(text: str, value: str) -> None:
    tree = body(text)
    assert isinstance(tree, StringLiteral)
    assert tree.value == value


@pytest.mark.parametrize("query", ['"a', "'a", '"a""', '"&"', '"&nosuch;"', '"&#xZ;"', '"&lt"'])
def test_bad_strings(query: str) -> None:
    rejected(query)


def test_references_to_invalid_characters() -> None:
    for reference in ("&#0;", "&#x0;", "&#xD800;", "&#xFFFE;", "&#x110000;", "&#99999999999999;"):
        rejected(f'"{reference}"', "XQST0090")
        rejected(f"<a>{reference}</a>", "XQST0090")


# ---------------------------------------------------------------- comments


@pytest.mark.parametrize(
    "query",
    [
        "1(: c :)+ 2",
        "(: a (: b :) c :)1 + 2",
        "1 +(:):)2",
        "(::)1 + 2(::)",
        "1 (: \" :) + (: ' :) 2",
        "1 (: <a> :) + 2",
        "(:(::)(::):) 1+2",
    ],
)
def test_comments(query: str) -> None:
    assert canonical(query) == "1 + 2"


@pytest.mark.parametrize("query", ["(: 1", "1 (: (: :)", "1 :)", "(:) 1"])
def test_unclosed_comments(query: str) -> None:
    rejected(query)


def test_no_comments_inside_constructors() -> None:
    tree = body("<a>(: x :)</a>")
    assert isinstance(tree, DirectElement)
    assert isinstance(tree.content[0], Text)
    assert tree.content[0].value == "(: x :)"


# ---------------------------------------------------------------- paths


@pytest.mark.parametrize(
    ("query", "reading"),
    [
        ("/", "/"),
        ("/a", "/a"),
        ("//a", "//a"),
        ("a//b", "a//b"),
        ("/descendant-or-self::node()/a", "//a"),
        ("a/..", "a/.."),
        ("a/parent::node()", "a/.."),
        ("a/@b", "a/@b"),
        ("attribute::b", "@b"),
        ("child::a", "a"),
        ("attribute(b)", "attribute(b)"),
        ("@attribute(b)", "attribute(b)"),
        ("a/text()", "a/text()"),
        ("a/(b, c)/d", "a/(b, c)/d"),
        ("a/(b)/c", "a/b/c"),
        ("a[1][2]", "a[1][2]"),
        ("(a)[1]", "(a)[1]"),
        ("(a[1])[2]", "(a[1])[2]"),
        ("a/b()[1]", "a/b()[1]"),
        (".//a", ".//a"),
        ("..", ".."),
        ("../..", "../.."),
        ("*", "*"),
        ("* * *", "* * *"),
        ("a/*", "a/*"),
        ("@*", "@*"),
        ("$a/$b", "$a/$b"),
        ('"a"/b', '"a"/b'),
        ("a/1", "a/1"),
        ("(/)/a", "(/)/a"),
        ("f(/)", "f(/)"),
        ("[/]", "[/]"),
        ("/, a", "/, a"),
        ("self::a/ancestor-or-self::*", "self::a/ancestor-or-self::*"),
        ("processing-instruction('a')", "processing-instruction(a)"),
        ("document-node(element(a, xs:int?))", "document-node(element(a, xs:int?))"),
    ],
)
def test_paths(query: str, reading: str) -> None:
    assert canonical(query) == reading


@pytest.mark.parametrize(
    "query", ["/ * 5", "/ union a", "/ and a", "/ < a", "/ eq 1", "5 * / + 1 div"]
)
def test_a_lone_slash_takes_the_next_token_as_a_step(query: str) -> None:
    rejected(query)


@pytest.mark.parametrize("query", ["/ = 1", "/ + 1", "/ | a", "(/) * 5", "5 * /"])
def test_a_lone_slash_before_an_operator(query: str) -> None:
    assert parse(query)


@pytest.mark.parametrize(
    "query", ["//", "a//", "a/", "/a//", "a[", "a[]", "a]", "nosuch::a", "@@a", "$"]
)
def test_broken_paths(query: str) -> None:
    rejected(query)


# ---------------------------------------------------------------- < and tags


@pytest.mark.parametrize(
    "query",
    [
        "a <b",
        "a<b",
        "$a<$b",
        "$a <b",
        "x < y",
        "a <b and c",
        "1<2",
        "(a)<b",
        "a[1]<b",
        'f("x")<b',
        "a <= b",
        "a << b",
        "item <b",
        "text <b",
        ". <b",
        "a<b[c]",
        "$i <count($x)",
    ],
)
def test_less_than(query: str) -> None:
    tree = body(query)
    while isinstance(tree, Binary):
        tree = tree.left
    assert isinstance(tree, Comparison)


@pytest.mark.parametrize(
    "query",
    [
        "<a/>",
        "(<a/>)",
        "return-it(<a/>)",
        "for $x in a return <a/>",
        "for $x in a return<a/>",
        "if (a) then <b/> else <c/>",
        "1 + <a/>",
        "a = <b/>",
        "a < <b/>",
        "<a/> < <b/>",
        "$x, <a b='1'/>",
        "<a\n  b = '1'\n/>",
        "map {}, <a/>",
    ],
)
def test_tags(query: str) -> None:
    assert "<" in canonical(query)
    assert parse(query)


def test_the_longest_token_wins() -> None:
    rejected("a <<b/>")


def test_conditions_with_less_than() -> None:
    assert canonical("if (a <b) then 1 else 2") == "if (a < b) then 1 else 2"
    assert canonical("for $x in a where $x <b return <c/>") == (
        "for $x in a where $x < b return <c/>"
    )
    assert canonical("a[b <c]/d") == "a[b < c]/d"


# ---------------------------------------------------------------- direct constructors


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("<a> </a>", []),
        ("<a>\n  {1}\n</a>", ["*"]),
        ("<a> x </a>", [" x "]),
        ("<a> {1} x</a>", ["*", " x"]),
        ("<a>&#x20;</a>", [" "]),
        ("<a> &#x20; </a>", ["   "]),
        ("<a><![CDATA[ ]]></a>", [" "]),
        ("<a> <![CDATA[]]> </a>", ["  "]),
        ("<a><![CDATA[<b>&amp;{x}]]></a>", ["<b>&amp;{x}"]),
        ("<a>{{}}</a>", ["{}"]),
        ("<a>{{{1}}}</a>", ["{", "*", "}"]),
        ("<a>&lt;&amp;</a>", ["<&"]),
        ("<a>\r\nx\r</a>", ["\nx\n"]),
        ("<a><b/> <c/></a>", ["*", "*"]),
        ("<a><!--x--> y</a>", ["*", " y"]),
        ("<a><?b c?></a>", ["*"]),
        ("<a>{1}{2}</a>", ["*", "*"]),
        ("<a>'\"</a>", ["'\""]),
        ("<a>]]></a>", ["]]>"]),
        ("<a>x > y</a>", ["x > y"]),
        ("<a></a>", []),
        ("<a>``[x]``</a>", ["``[x]``"]),
    ],
)
def test_content(query: str, parts: list[str]) -> None:
    tree = body(query)
    assert isinstance(tree, DirectElement)
    found = [part.value if isinstance(part, Text) else "*" for part in tree.content]
    assert found == parts


def test_boundary_space_can_be_kept() -> None:
    tree = body("declare boundary-space preserve; <a> <b/> </a>")
    assert isinstance(tree, DirectElement)
    assert len(tree.content) == 3


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("<a b=''/>", ""),
        ("<a b='it''s'/>", "it's"),
        ('<a b="say ""x"""/>', 'say "x"'),
        ("<a b='{{x}}'/>", "{x}"),
        ("<a b='x\n\ty'/>", "x  y"),
        ("<a b='x\r\ny'/>", "x y"),
        ("<a b='&#xA;'/>", "\n"),
        ("<a b='>'/>", ">"),
    ],
)
def test_attribute_values(query: str, value: str) -> None:
    tree = body(query)
    assert isinstance(tree, DirectElement)
    assert "".join(p.value for p in tree.attributes[0].parts if isinstance(p, Text)) == value


@pytest.mark.parametrize(
    "query",
    [
        "<a>", "<a", "<a b/>", "<a b=/>", "<a b=1/>", "<a b='<'/>", "<a b='}'/>",
        "<a>}</a>", "<a>{</a>", "<a>&</a>", "<a>&x;</a>", "< a/>", "<a / >", "<a></ a>",
        "<a b='1'c='2'/>", "<!-- -- -->", "<!---->-", "<?xml a?>", "<? a?>", "<?a:b c?>", "<?a$b?>",
        "<a><!-- x </a>", "<a><![CDATA[x</a>", "<a>{1", "<a b='{1'/>", "<a b=\"{1\"/>", "<1/>",
        "<![CDATA[x]]>",
    ],
)  # fmt: skip
def test_broken_constructors(query: str) -> None:
    rejected(query)


def test_end_tags_match() -> None:
    assert canonical("<a  ></a\n>") == "<a/>"
    problem = rejected("<a><b></a></b>", "XQST0118")
    assert problem.column == 9
    assert "b" in problem.message


def test_namespace_declarations() -> None:
    assert canonical('<a xmlns="urn:a" xmlns:p="urn:p" p:b="1"/>') == (
        '<a xmlns="urn:a" xmlns:p="urn:p" p:b="1"/>'
    )
    rejected('<a xmlns="{1}"/>', "XQST0022")


# ---------------------------------------------------------------- other constructors


@pytest.mark.parametrize(
    "query",
    [
        "element a { 1 }",
        'element { "a" } {}',
        "element p:a {}",
        "element Q{urn:a}b {}",
        "attribute a { 1 }",
        "attribute { a } { 1 }",
        "document { <a/> }",
        'text { "x" }',
        "comment { 1 }",
        "processing-instruction a { 1 }",
        "namespace p { 1 }",
        'namespace { "" } { 1 }',
        "map {}",
        'map { "a" : 1, "b" : map { 1 : 2 } }',
        "map { a : b }",
        "map { p:a : b:c }",
        "map { * : 1 }",
        "[]",
        "[1, [2], (3, 4)]",
        "array {}",
        "array { 1, 2 }",
        "``[]``",
        "``[a]b`c{d}]`]``",
        "``[`{ 1 }``{ 2 }`]``",
        "``[`{}`]``",
        '``["quoted" &amp; <b>]``',
    ],
)
def test_other_constructors(query: str) -> None:
    assert canonical(query) == query


def test_map_keys_and_colons() -> None:
    same("map{a :b}", "map { a : b }")
    same('map{"a":1}', 'map { "a" : 1 }')
    same("map{1:2}", "map { 1 : 2 }")
    same("map{$a :$b}", "map { $a : $b }")


# ---------------------------------------------------------------- operators


@pytest.mark.parametrize(
    ("query", "reading"),
    [
        ("1+2*3", "1 + 2 * 3"),
        ("(1+2)*3", "(1 + 2) * 3"),
        ("1-2-3", "1 - 2 - 3"),
        ("1-(2-3)", "1 - (2 - 3)"),
        ("a or b and c", "a or b and c"),
        ("(a or b) and c", "(a or b) and c"),
        ("a | b intersect c", "a union b intersect c"),
        ("(a | b) intersect c", "(a union b) intersect c"),
        ("- - 1", "--1"),
        ("-a => f()", "-a => f()"),
        ("-(a => f())", "-(a => f())"),
        ("-a ! b", "-a ! b"),
        ("(-a) ! b", "(-a) ! b"),
        ("a ! (b, c)", "a ! (b, c)"),
        ("1 to 3 + 1", "1 to 3 + 1"),
        ("a || b || c", "a || b || c"),
        ("a cast as xs:int? + 1", "a cast as xs:int? + 1"),
        ("a instance of xs:int* * 2", "a instance of xs:int* * 2"),
        ("(a instance of xs:int) * 2", "(a instance of xs:int) * 2"),
        ("a treat as item()+ + 1", "a treat as item()+ + 1"),
        ("4 treat as item() + - 5", "4 treat as item()+ - 5"),
        ("a instance of empty-sequence() * 2", "a instance of empty-sequence() * 2"),
        ("a => f() => g(1, ?)", "a => f() => g(1, ?)"),
        ("a => $f() => (g#1)()", "a => $f() => (g#1)()"),
        ("a is b, a << b, a >> b", "a is b, a << b, a >> b"),
        ("a div b idiv c mod d", "a div b idiv c mod d"),
        ("1 castable as xs:int cast as xs:string", None),
        ("1 cast as xs:int castable as xs:string", "1 cast as xs:int castable as xs:string"),
        ("a eq b eq c", None),
        ("1 < 2 < 3", None),
        ("1 to 2 to 3", None),
        ("a ! -b", None),
        ("a instance of xs:int instance of xs:int", None),
        ("a instance of xs:int * 2", None),
        ("1 + a treat as xs:int + 2", None),
        ("a cast as xs:int*", None),
        ("1 +", None),
        ("* 1", None),
        ("a == b", None),
        ("a <> b", None),
        ("a && b", None),
        ("!a", None),
    ],
)
def test_operators(query: str, reading: str | None) -> None:
    if reading is None:
        rejected(query)
    else:
        assert canonical(query) == reading


def test_trees_of_operators() -> None:
    assert isinstance(body("-1"), Unary)
    assert isinstance(body("-a => f()"), Arrow)
    assert isinstance(body("a instance of xs:int*"), InstanceOf)
    assert isinstance(body("a instance of xs:int* * 2"), Binary)
    assert isinstance(body("()"), Sequence)
    assert body("((1))") == body("1")
    assert body("(1, (2, 3))") != body("1, 2, 3")
    assert isinstance(body("/"), Path)


# ---------------------------------------------------------------- functions, look-ups


@pytest.mark.parametrize(
    "query",
    [
        "f()",
        "f(1, (2, 3), ?)",
        "p:f()",
        "Q{urn:a}f()",
        "f#2",
        "$f(1)(2)",
        "f(1)[2]?a(3)",
        "function($a, $b as xs:int) as xs:int* { $a }",
        "function() {}",
        '%p:a(1, "x") function() { 1 }',
        "$m?a",
        "$m?1",
        "$m?*",
        "$m?(1, 2)",
        "$m?()",
        "a => ()()",
        '$m?("a b")',
        "$m?a?b?c",
        "?a",
        "?*",
        "?1",
        "a[?b = 1]",
        "(a)?b",
        "f#1(2)",
        "[1](1)",
        "map {}?a",
        "$f instance of function(xs:int, item()*) as xs:int",
        "$f instance of (function(xs:int) as xs:int)*",
        "$f instance of map(xs:string, array(xs:int)*)",
        "$f instance of map(*)",
        "$f instance of %p:a function(*)",
    ],
)
def test_functions_and_lookups(query: str) -> None:
    assert canonical(query) == query


# ---------------------------------------------------------------- FLWOR and control


@pytest.mark.parametrize(
    ("query", "reading"),
    [
        ("for $a in x, $b in y return 1", "for $a in x for $b in y return 1"),
        ("let $a := 1, $b := 2 return 1", "let $a := 1 let $b := 2 return 1"),
        ("for $a as xs:int allowing empty at $i in x return 1", None),
        ("for $a in x order by $a ascending return 1", "for $a in x order by $a return 1"),
        ('for $a in x stable order by $a descending empty least collation "c", b return 1', None),
        ("for $a in x count $c where $c return 1", None),
        ('for $a in x group by $a, $b := 1, $c as xs:int := 2 collation "c" return 1', None),
        ("for tumbling window $w in x start when 1 return $w", None),
        (
            "for sliding window $w as item()* in x start $s at $p previous $q next $n when 1"
            " only end $e when 2 return $w",
            None,
        ),
        ("for $a in for $b in x return y return z", None),
        ("some $a in x, $b as xs:int in y satisfies a", None),
        ("every $a in x satisfies a", None),
        ("if (a) then b else if (c) then d else e", None),
        ("if (a, b) then c else d", None),
        ("try { 1 } catch * { 2 }", None),
        ("try {} catch err:XPST0003 | p:* | *:a { $err:code }", None),
        ("ordered { 1 }", None),
        ("unordered {}", None),
        ("validate lax { a }", None),
        ("validate type xs:int { a }", None),
        ("(# p:a some text #) { 1 }", None),
        ("(#p:a#){}", "(# p:a #) {}"),
    ],
)
def test_flwor_and_control(query: str, reading: str | None) -> None:
    found = " ".join(canonical(query).split())
    assert found == (reading or query)


def test_switches() -> None:
    query = "switch (a)\n  case 1 case 2 return b\n  default return c"
    assert canonical(query) == query
    query = "typeswitch (a)\n  case $x as xs:int | node()* return b\n  default $y return c"
    assert canonical(query) == query


@pytest.mark.parametrize(
    "query",
    [
        "for $a in x", "for a in x return 1", "for $a x return 1", "let $a = 1 return 1",
        "let $a := 1", "if (a) then b", "if a then b else c", "some $a in x",
        "switch (a) default return 1",
        "typeswitch (a) default return 1", "try { 1 }",
        "for sliding window $w in x start when 1 return 1",
        "for $a in x order $a return 1", "for $a in x group $a return 1", "where a return 1",
        "for $a in x return", "if () then 1 else", "try 1 catch * { 2 }", "function { 1 }",
        "for $a allowing empty in x at $i return 1",
    ],
)  # fmt: skip
def test_broken_control(query: str) -> None:
    rejected(query)


# ---------------------------------------------------------------- prolog


def test_a_whole_prolog() -> None:
    query = "\n".join(
        [
            'xquery version "3.1" encoding "utf-8";',
            'declare namespace p = "urn:p";',
            'declare default element namespace "urn:e";',
            'declare default function namespace "urn:f";',
            "declare boundary-space preserve;",
            'declare default collation "urn:c";',
            'declare base-uri "http://example.org/";',
            "declare construction strip;",
            "declare ordering unordered;",
            "declare default order empty greatest;",
            "declare copy-namespaces no-preserve, inherit;",
            'declare decimal-format p:d digit = "#" NaN = "n";',
            'declare default decimal-format percent = "%";',
            'import schema default element namespace "urn:s" at "a.xsd", "b.xsd";',
            'import module namespace m = "urn:m";',
            "declare context item as document-node() external;",
            "declare variable $a as xs:int external := 1;",
            "declare %p:b(1) variable $b := 2;",
            "declare function p:f($x as item()*) as item()* { $x };",
            "declare function p:g() external;",
            'declare option p:o "v";',
            "p:f($a)",
        ]
    )
    assert canonical(query) == query


@pytest.mark.parametrize(
    "query",
    [
        'declare variable $a := 1; declare namespace p = "urn:p"; 1',  # settings come first
        "declare variable $a := 1 1",
        "declare variable $a; 1",
        "declare function f() { 1 } 1",
        "declare nosuch $a; 1",
        'xquery version "3.1" 1',
        "declare boundary-space sometimes; 1",
        'declare decimal-format nosuch = "x" y = "z"; 1',
        "declare variable $a := 1;",
        "import module 1; 1",
    ],
)
def test_broken_prologs(query: str) -> None:
    rejected(query)


def test_versions_and_encodings() -> None:
    rejected('xquery version "9.9"; 1', "XQST0031")
    rejected('xquery encoding "?"; 1', "XQST0087")


def test_library_modules() -> None:
    query = 'module namespace p = "urn:p";\ndeclare function p:f() { 1 };\n'
    assert canonical(query) == query
    rejected('module namespace p = "urn:p"; 1')


@pytest.mark.parametrize("query", ["", " ", "(: c :)", "declare namespace a = 'b';"])
def test_an_empty_text_is_not_a_query(query: str) -> None:
    rejected(query)


def test_source_name_and_lines() -> None:
    with pytest.raises(Exception, match=r"q\.xcql:2:1") as caught:
        parse("1 +\n]", source="q.xcql")
    assert "q.xcql:2:1" in str(caught.value)
