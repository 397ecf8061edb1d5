"""Paths, axes and predicates over one small document."""

from __future__ import annotations

import pytest

from tests.evaluate.answers import answer, failure

DOCUMENT = """<r><a n="1"><b>x</b><c/></a><a n="2"><b>y</b><!--note--><b>z</b></a><?pi data?></r>"""

CASES = [
    ("/r/a/@n/string()", "1 2"),
    ("//b", "<b>x</b> <b>y</b> <b>z</b>"),
    ("//b[1]", "<b>x</b> <b>y</b>"),
    ("(//b)[1], (//b)[last()]", "<b>x</b> <b>z</b>"),
    ("//b[2]", "<b>z</b>"),
    ("/descendant::b[2]", "<b>y</b>"),
    ("//b[. = 'y']/../@n", 'n="2"'),
    ("//a[b = 'z'][1]/@n", 'n="2"'),
    ("//b/ancestor::*[1]/@n/string()", "1 2"),
    ("(//b)[3]/ancestor-or-self::*/name()", "r a b"),
    ("(//b)[3]/preceding-sibling::node()[1]", "<!--note-->"),
    ("(//b)[3]/preceding::b", "<b>x</b> <b>y</b>"),
    ("(//b)[3]/preceding::b[1]", "<b>y</b>"),
    ("(//b)[1]/following::b", "<b>y</b> <b>z</b>"),
    ("//c/following-sibling::node(), //c/following::b[1]", "<b>y</b>"),
    ("(//@n)[1]/following::b[1]", "<b>x</b>"),
    ("//b/parent::a/self::a/@n/string()", "1 2"),
    ("/r/node()[last()]", "<?pi data?>"),
    ("/r/processing-instruction(pi)/string(), //comment()/string()", "data note"),
    ("//text()", "x y z"),
    ("/*/*/*[position() > 1]/name()", "c b"),
    ("//a/(c | b)/name()", "b c b b"),
    ("//a/(c, b)/name()", "b c b b"),
    ("//a/count(*)", "2 2"),
    ("for $b in //b return $b/position()", "1 1 1"),
    ("//a/b[position() = last()]", "<b>x</b> <b>z</b>"),
    ("let $n := 2 return //a[$n]/@n", 'n="2"'),
    ("//a[@n = 2]//b[1]", "<b>y</b>"),
    ("//*:b[1], /Q{}r/name()", "<b>x</b> <b>y</b> r"),
    ("count(//node()), count(/descendant-or-self::node()), count(//@*)", "12 13 2"),
    ("root(//c) is /, (//c/root())/r/a[1]/c is //c", "true true"),
    ("(//b, //b)/string(), (//b, //b)/.", "x y z x y z <b>x</b> <b>y</b> <b>z</b>"),
    ("//b[position() <= 1], //b[2 > position()][1]", "<b>x</b> <b>y</b> <b>x</b> <b>y</b>"),
    ("(1 to 5)[. > 3][9223372036854775808]", ""),
    ("(1 to 5)[. > 3]#[2, 9223372036854775808]", "5"),
    ("(1 to 5)[. mod 2 = 1][2], (1, 2, 3)[position() = (1, 3)]", "3 1 3"),
    ("('a', 'b')[1.5], ('a', 'b')[xs:double('NaN')], ('a', 'b')[2.0]", "b"),
]


@pytest.mark.parametrize(("query", "expected"), CASES, ids=lambda part: part[:60])
def test_answers(query: str, expected: str) -> None:
    assert answer(query, DOCUMENT) == expected


def test_names_match_by_namespace_not_by_prefix() -> None:
    document = '<p:a xmlns:p="u" xmlns="v"><b p:x="1"/><p:b/></p:a>'
    prolog = 'declare namespace q = "u"; declare default element namespace "v"; '
    assert answer(prolog + "/q:a/b/@q:x/string()", document) == "1"
    assert answer(prolog + "count(/q:a/q:*), count(//*:b)", document) == "1 2"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("/a", "XPDY0002"),
        ("(1)/a", "XPTY0019"),
        ("<a/>/(1, <b/>)", "XPTY0018"),
        ("1 ! a", "XPTY0020"),
        ("<a/>/(/)", "XPDY0050"),
        ("<a/>/namespace-node()", "XQST0134"),
    ],
)
def test_errors(query: str, code: str) -> None:
    assert failure(query).code == code


def test_lazy_paths_stop_at_the_first_node() -> None:
    # evaluating the predicate of the second b would raise an error
    query = "exists(//b[if (. = 'x') then true() else error()])"
    assert answer(query, DOCUMENT) == "true"
    assert answer(query.replace("exists", "head"), DOCUMENT) == "<b>x</b>"
