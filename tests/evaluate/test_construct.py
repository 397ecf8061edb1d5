"""Node constructors: content, copies, namespaces, errors."""

from __future__ import annotations

import pytest

from tests.evaluate.answers import answer, failure

CASES = [
    ("<a b='{1, 2}x' c=''>x{1, 2}y{'z'}<d/></a>", '<a b="1 2x" c="">x1 2yz<d/></a>'),
    ("<a>{1}{2}</a>", "<a>12</a>"),
    ("<a b='{1}`'>{2}`</a>", '<a b="1`">2`</a>'),
    ("``[`{<a>{1}`</a>}`]``", "1`"),
    ("<a> {1} </a>, <a> x </a>", "<a>1</a> <a> x </a>"),
    ("declare boundary-space preserve; <a> {1} </a>", "<a> 1 </a>"),
    ("<a>&lt;{{}}&#65;<![CDATA[<]]></a>", "<a>&lt;{}A&lt;</a>"),
    ("<a>{attribute b {1}, attribute {'c'} {2}, 'x'}</a>", '<a b="1" c="2">x</a>'),
    ("element {'a'} {<b/>, 'x', text {'y'}}", "<a><b/>xy</a>"),
    ("document {<a/>, 'x'}/node()", "<a/> x"),
    ("<a>{document {<b/>}}</a>", "<a><b/></a>"),
    ("comment {'a', 'b'}, processing-instruction t {' x'}, text {()}, text {''}",
     "<!--a b--> <?t x?> "),
    ("<a>{comment {'c'}, <?p q?>}</a>", "<a><!--c--><?p q?></a>"),
    ("let $b := <b/> return (<a>{$b}</a>/b is $b, count((<a>{$b}</a>, <a>{$b}</a>)/b))",
     "false 2"),
    ("let $x := <a>{<b><c/></b>}</a> return $x//c/../.. is $x", "true"),
    ("<a><b/>{<c/>}</a>/c/preceding-sibling::b", "<b/>"),
    ("<p:a xmlns:p='u'>{<p:b/>}</p:a>", '<p:a xmlns:p="u"><p:b/></p:a>'),
    ("<a xmlns='u'><b xmlns=''/></a>", '<a xmlns="u"><b xmlns=""/></a>'),
    ("<a>{namespace p {'u'}}</a>", '<a xmlns:p="u"/>'),
    ("element {QName('u', 'p:a')} {namespace p {'v'}}/prefix-from-QName(node-name(.)) != 'p'",
     "true"),
    ("let $x := <a xmlns:p='u'><b/></a> return <c>{$x/b}</c>", '<c><b xmlns:p="u"/></c>'),
    ("declare copy-namespaces no-preserve, inherit;"
     " let $x := <a xmlns:p='u'><b/></a> return <c>{$x/b}</c>", "<c><b/></c>"),
    ("in-scope-prefixes(<a xmlns:p='u'>{<b/>}</a>/b)[. = 'p']", "p"),
    # a namespace that only the outer element's own names need is not in scope inside
    ("declare namespace p = 'u'; in-scope-prefixes(<p:a><b/></p:a>/b)", "xml"),
    ("attribute {QName('u', 'x')} {1} ! (prefix-from-QName(node-name(.)) != '')", "true"),
    ("<a xml:id=' x '/>/@xml:id/string()", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "expected"), CASES, ids=lambda part: part[:60])
def test_answers(query: str, expected: str) -> None:
    assert answer(query) == expected


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("<a b='1' b='2'/>", "XQST0040"),
        ("<a b='1'>{attribute b {2}}</a>", "XQDY0025"),
        ("<a>x{attribute b {1}}</a>", "XQTY0024"),
        ("<a>{'x', namespace p {'u'}}</a>", "XQTY0024"),
        ("<a>{concat#2}</a>", "XQTY0105"),
        ("document {attribute a {1}}", "XPTY0004"),
        ("<a xmlns:p='u' xmlns:p='v'/>", "XQST0071"),
        ("<a xmlns:xml='u'/>", "XQST0070"),
        ("<p:a/>", "XPST0081"),
        ("element {'a b'} {}", "XQDY0074"),
        ("element {1} {}", "XPTY0004"),
        ("attribute xmlns {}", "XQDY0044"),
        ("comment {'a--b'}", "XQDY0072"),
        ("processing-instruction xml {}", "XQDY0064"),
        ("processing-instruction p {'?>'}", "XQDY0026"),
        ("namespace xmlns {'u'}", "XQDY0101"),
        ("<p:a xmlns:p='u'>{namespace p {'v'}}</p:a>", "XQDY0102"),
    ],
)
def test_errors(query: str, code: str) -> None:
    assert failure(query).code == code


def test_a_tree_is_numbered_in_document_order() -> None:
    query = """
        let $inner := <i/>
        let $t := <a x="1">{ $inner, <b>{ for $n in 1 to 2 return <c>{ $n }</c> }</b> }<d/></a>
        return ($t/@x << $t/i, $t/i << $t/b, $t/b/c[1] << $t/b/c[2], $t/b/c[2] << $t/d, $t << $t/@x)
    """
    assert answer(query) == "true true true true true"
