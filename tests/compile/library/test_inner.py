"""Elements, texts and attributes inside mixed content, against the evaluator."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession
from tests.queries import corpus
from xcql.algebra.scalars import Constant, call
from xcql.dialects.duckdb_functions import FUNCTIONS
from xcql.dialects.forms.inner import tags_in_order
from xcql.dialects.spark import SPARK, spark_text
from xcql.model.tags import parse_tags

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = "2010-01-01"
FULL = bool(os.environ.get("XCQL_TEST_FULL"))
# all of them are native
CORPUS = {
    "auctions": [
        'count(stream("auction")//emph)',
        'for $t in stream("auction")//text, $k in $t//keyword return $k',
    ],
    "odd": [
        'stream("odd")//p/b[1]',
        'stream("odd")//section[title]/@n/string()',
        'stream("odd")//title/ancestor::section[1]/@n/string()',
        'stream("odd")//doc//*/string-join(ancestor-or-self::*/name(), "/")',
    ],
}

TAGS = """<structure xmlns:g="urn:geo"><tag type="snapshot" id="1" name="doc">
  <tag type="snapshot" id="2" name="p">
    <tag type="snapshot" id="3" name="b">
      <tag ref="3"/><tag type="snapshot" id="4" name="i"/><tag type="temporal" id="5" name="note"/>
    </tag>
    <tag type="snapshot" id="6" name="i"/>
    <tag type="temporal" id="7" name="mark"/>
  </tag>
  <tag type="snapshot" id="8" name="q">
    <tag type="snapshot" id="9" name="b"><tag ref="9"/><tag type="snapshot" id="10" name="c"/></tag>
    <tag type="snapshot" id="11" name="c"/>
    <tag type="snapshot" id="12" name="g:c"/>
    <tag type="snapshot" id="13" name="g:d"><tag type="snapshot" id="14" name="e"/></tag>
  </tag>
</tag></structure>"""
FRAGMENTS = """<fragments xmlns:stream="urn:xcql:stream">
<filler id="0" tsid="1" validTime="2005-01-01"><doc><p n="1">é <b k='a>"b'>two<i/> three<b
>deep</b></b><!-- <b>no</b> --> four <hole id="m"/><i>five</i><b>six <hole id="n"/></b></p
><q n="1">x<![CDATA[<b>]]>y&amp;z <b>B1<b>B2</b><c at="1" g:at="7"
 xmlns:g="urn:geo">C<![CDATA[<D>]]>E</c></b><?b x > y?>tail<c at="2"/>&#65;</q
><q n="2" xmlns:g="urn:geo">t<g:d>u<e at="3">v</e></g:d>w<c>last</c></q></doc></filler>
<filler id="m" tsid="7" validTime="2005-01-01"><mark>M1</mark></filler>
<filler id="m" tsid="7" validTime="2005-02-01"><mark>M2</mark></filler>
<filler id="n" tsid="5" validTime="2005-01-01"><note>N</note></filler>
</fragments>"""
# over a stream that uses namespaces, and holes in mixed content; with whether the query is native
OWN = [
    ('stream("s")//b/name()', True),
    ('stream("s")//p/*/name()', True),
    ('stream("s")/doc/p/mark/preceding-sibling::*/name()', True),
    ('stream("s")//q/b//text()', True),
    ('stream("s")//q/text()', True),
    ('stream("s")//q//b[1]/string()', True),
    ('stream("s")//q/b/(c/text() | b/text())', True),
    ('stream("s")//q/b/c', True),
    ('stream("s")//q/b[b]/b/@k', True),
    ('stream("s")//i/parent::b/@k/string()', True),
    ('stream("s")//e', False),
    ('stream("s")/doc/q/*:d/e', True),
    ('stream("s")//e/ancestor::q/@n/string()', True),
    ('stream("s")//mark/following::b/name()', True),
    ('stream("s")?[2005-01-15]//p/*[2]/name()', True),
    ('count(stream("s")//b except stream("s")//p/b)', True),
    ('stream("s")//note/ancestor::p/@n/string()', True),
    ('stream("s")//c/@at/string()', True),
    ('stream("s")//p/text()', True),
    ('stream("s")//p/b/string()', False),
    ('stream("s")//p//note', True),
    ('for $x in stream("s")//q/b/b return <x>{$x}</x>/b/string()', True),
    ('stream("s")//b[. >> stream("s")//mark[1]]/string-length(name())', True),
]


@pytest.mark.parametrize("strategy", ["qac+", "qac"] if FULL else ["qac+"])
@pytest.mark.parametrize("data", CORPUS)
def test_mixed_content(data: str, strategy: str, corpus_session: xcql.Session) -> None:
    streams = {one.name: (one.fragments, one.tags) for one in corpus.datasets()[data]}
    for text in CORPUS[data][:: 1 if strategy == "qac+" else 2]:
        answer = corpus_session.query(text, strategy=strategy, now=NOW)
        assert answer.strategy == strategy, text
        expected = xcql.evaluate(text, streams=streams, now=NOW)
        assert answer.to_xml() == [item.xml for item in expected], text


def test_what_stands_in_mixed_content(open_session: OpenSession, tmp_path: Path) -> None:
    session = open_session(world_store(tmp_path, {"s": FRAGMENTS}, {"s": TAGS}))
    streams = {"s": (tmp_path / "s.xml", parse_tags(TAGS))}
    for text, is_native in OWN[:: 1 if FULL else 2]:
        answer = session.query(text, now=NOW)
        expected = [item.xml for item in xcql.evaluate(text, streams=streams, now=NOW)]
        assert answer.to_xml() == expected, text
        is_native = is_native or answer.engine == "embedded"
        assert (answer.strategy != "caq") == is_native, text


XML = """<a q="x>y">é<b k='a>"b'>u<b/>v<!-- <b> --></b><![CDATA[<b>]]>w&amp;<?b >?>z<p:b\t>\
<c
/></p:b>\r\n<![CDATA[]]></a>"""


@pytest.mark.parametrize(
    ("form", "names", "expected"),
    [
        (
            "inner_children",
            ["b"],
            [
                (13, 0, "b", "<b k='a>\"b'>u<b/>v<!-- <b> --></b>"),
                (76, 0, "p:b", "<p:b\t><c\n/></p:b>"),
            ],
        ),
        (
            "inner_descendants",
            ["b", "c"],
            [
                (13, 0, "b", "<b k='a>\"b'>u<b/>v<!-- <b> --></b>"),
                (26, 13, "b", "<b/>"),
                (76, 0, "p:b", "<p:b\t><c\n/></p:b>"),
                (82, 76, "c", "<c\n/>"),
            ],
        ),
        ("inner_texts", [], [(11, "é"), (47, "<b>w&"), (75, "z"), (93, "\n")]),
    ],
)
def test_forms_on_spark(
    form: str, names: list[str], expected: list[object], spark: SparkSession
) -> None:
    scalar = call(form, Constant(XML), *map(Constant, names))
    text = spark_text(SPARK.sql(scalar, {}))
    (row,) = spark.sql(f"SELECT {text} AS found").collect()
    assert [tuple(one) for one in row.found] == expected


STRING_VALUES = [
    ("<a>one<b c='>' d=\"/>\"> two</b>\n<c/>three</a>", "one two\nthree"),
    ("<a/>", ""),
    ("<a>x &amp; y&#65;</a>", "x & yA"),
    ("<a>x<![CDATA[<b>]]><!-- no --><?no no?></a>", "x<b>"),
    ("<a>x\r\ny</a>", "x\ny"),
]


@pytest.mark.parametrize(("xml", "expected"), STRING_VALUES)
def test_string_values_on_spark(xml: str, expected: str, spark: SparkSession) -> None:
    text = spark_text(SPARK.sql(call("string_of_xml", Constant(xml)), {}))
    (row,) = spark.sql(f"SELECT {text} AS found").collect()
    assert row.found == expected


@pytest.mark.parametrize(("xml", "expected"), STRING_VALUES)
def test_string_values_on_duckdb(xml: str, expected: str) -> None:
    assert FUNCTIONS["string_of_xml"].body(xml) == expected


@pytest.mark.parametrize(
    ("xml", "is_possible"),
    [
        ("<a><b><x.y>z</x.y></b></a>", True),
        ("<a>t<b/>u<b k='1'>v<x.y/></b></a>", True),
        ("<a><c/><x.y/><b/></a>", False),
        ("<a><b/><xzy/></a>", False),
        ("<a>b x.y</a>", False),
        # a false positive is allowed: the parser decides
        ("<a><bold/><x.y/></a>", True),
    ],
)
def test_xml_is_parsed_only_if_its_tags_are_there(xml: str, is_possible: bool) -> None:
    assert bool(re.search(tags_in_order(["b", "x.y"]), xml)) == is_possible
