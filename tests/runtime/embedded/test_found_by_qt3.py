"""Queries like those of QT3 that once had another answer than the evaluator's, one per cause."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import xcql
from xcql.diagnostics import XcqlError
from xcql.model.documents import Document, read_document
from xcql.model.fragmenter import fragment
from xcql.model.infer import infer_from_document, tag_structure

QUERIES = [
    # casts
    'xs:dayTimeDuration("P1DT")',
    'for $x in ("PT1H", "P1D") return xs:dayTimeDuration($x)',
    '"P11768614336404564651D" cast as xs:dayTimeDuration',
    '"P11768614336404564651D" castable as xs:dayTimeDuration',
    'for $x in ("-0012-12-03", "12") return $x castable as xs:date',
    '"-25252734927766555-06-06" cast as xs:date',
    'xs:dateTime("1999-12-01T23:59:12-10:60")',
    'xs:anyURI("a") cast as xs:time',
    '"a" castable as xs:anyURI',
    "0 castable as xs:negativeInteger",
    # numbers
    "for $x in (1.7, -1.7) return $x cast as xs:integer",
    "avg((-999999999999999999, -999999999999999999))",
    'round-half-to-even(xs:double("NaN")), round(xs:double("NaN"), 2)',
    "count(subsequence(1 to 3000000000, 2, 3))",
    # errors that must not be lost
    "empty(error())",
    "error() instance of xs:integer",
    "declare function local:f($x) { 1 }; local:f(error())",
    "for $x at $p in error() return 1",
    "declare function local:f() as item() { () }; local:f()",
    "declare variable $i as xs:double := 1; $i",
    "one-or-more((1, 2)[. = 3])",
    "for $x in (1, 2)[. = 3] return one-or-more((1, 2)[. = 4])",
    'index-of((1, 2), "1")',
    'string-join(("a", "b"), ())',
    "empty(() is 1)",
    # constructors
    "<a>{attribute xml:id {'b'}}</a>",
    "exists((element x {attribute {' Q{}y '} {}})/@*)",
    "<e>{namespace {'z'} {'u'}}</e>",
    "attribute {'xmlns'} {'a'}",
    "<e>{<e foo='1'/>/attribute(foo, xs:integer)}</e>",
    "declare copy-namespaces no-preserve, no-inherit; <e>{<b><c xmlns:u='u'/></b>}</e>",
    "let $e := <e> <a/> <b/> </e> return ($e/b, $e/a, $e/b)/.",
    "let $e := <e xml:lang='en'><a/></e> return $e/a/lang('en')",
    # parts that the evaluator answers
    "declare variable $x := $y + 3; declare variable $y := 17; $x",
    "declare variable $local:v := <a/>; <b>{$local:v}{attribute name {'c'}}</b>",
    "for $Q{}t in 1 to 3 return $Q{ }t + $t",
    "node-name(<a xmlns='u'/>)",
    "let $f := function($x, $f) {if ($x = 0) then 0 else $f($x - 1, $f)} return $f(9, $f)",
    "count(<a/>[5 * /])",
    # positions and types
    '<out>{for $x at $p in 1 to 3, $y at $q in $x to 3 return <a p="{$p}" q="{$q}"/>}</out>',
    "for $x in (1, 1.5) return $x instance of xs:integer",
    "max((xs:anyURI('a'), xs:anyURI('b'))) instance of xs:anyURI",
]
DOCUMENT = '<r xmlns:p="u"><a xmlns:q="v" xml:lang="en"><b>é</b></a><a/></r>'
OF_DOCUMENT = ["<new>{//*:b}</new>", "name((//@xml:*)[1])", "for $x in //b return $x/lang('en')"]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[xcql.Session]:
    folder: Path = tmp_path_factory.mktemp("qt3")
    fragments = folder / "fragments.xml"
    tags = tag_structure(infer_from_document(_document()), [], [])
    with fragments.open("wb") as output:
        fragment(_document(), tags, "start", output)
    with xcql.Session(folder / "store", engine="embedded") as session:
        session.ingest(fragments, stream="document", tags=tags, strict=True)
        yield session


def _document() -> Document:
    return read_document(io.BytesIO(DOCUMENT.encode()), "document.xml")


@pytest.mark.parametrize("query", QUERIES)
def test_the_evaluator_is_right(session: xcql.Session, query: str) -> None:
    now = "2004-01-01T00:00:00"
    expected = _outcome(lambda: [item.xml for item in xcql.evaluate(query, now=now)])
    assert _outcome(lambda: session.query(query, now=now).to_xml()) == expected


def _outcome(answer: Callable[[], list[str]]) -> list[str] | str:
    """The items, or the code of an error."""
    try:
        return answer()
    except XcqlError as problem:
        return problem.code


@pytest.mark.parametrize("query", OF_DOCUMENT)
def test_a_document(session: xcql.Session, query: str) -> None:
    expected = [item.xml for item in xcql.evaluate(query, context=DOCUMENT)]
    assert session.query(query, context="document").to_xml() == expected
