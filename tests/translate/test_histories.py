"""Every strategy against the reference evaluator, on difficult histories.

Parents with several versions, removed and duplicated holes, fillers without references, text around
empty holes, one name in several places, repeats, replaces, removes, future fragments.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.translate import saxon

NOW = "2004-01-01T00:00:00"

TAGS = """
<structure>
  <tag type="snapshot" id="1" name="shop">
    <tag type="snapshot" id="2" name="info"><tag type="snapshot" id="3" name="name"/></tag>
    <tag type="snapshot" id="4" name="aisles">
      <tag type="temporal" id="5" name="aisle">
        <tag type="snapshot" id="6" name="name"/>
        <tag type="temporal" id="7" name="item">
          <tag type="snapshot" id="8" name="name"/>
          <tag type="temporal" id="9" name="price"/>
          <tag type="event" id="10" name="sale">
            <tag type="snapshot" id="11" name="price"/>
          </tag>
          <tag type="snapshot" id="12" name="note"><tag type="temporal" id="13" name="by"/></tag>
        </tag>
      </tag>
    </tag>
    <tag type="temporal" id="14" name="owner">
      <tag type="snapshot" id="15" name="name"/>
      <tag type="snapshot" id="16" name="price"/>
    </tag>
  </tag>
</structure>
"""

FRAGMENTS = """
<fragments>
  <filler id="0" tsid="1" validTime="2003-01-01">
    <shop town="Ely"><info><name>Corner</name></info>
      <aisles><hole id="a1"/><hole id="a2" tsid="5"/><hole id="a1"/><hole id="gone"/></aisles>
      <hole id="o"/>
    </shop>
  </filler>
  <filler id="a1" tsid="5" validTime="2003-01-01">
    <aisle n="1"><name>fruit</name><hole id="i1"/><hole id="i2"/></aisle>
  </filler>
  <filler id="a1" tsid="5" validTime="2003-6-1">
    <aisle n="1" vtFrom="wrong"><hole id="i2"/><name>fruits</name><hole id="i1"/></aisle>
  </filler>
  <filler id="a2" tsid="5" validTime="2003-02-01">
    <aisle n="2"><name>bread</name><hole id="i3"/><hole id="i1"/></aisle>
  </filler>
  <filler id="i1" tsid="7" validTime="2003-01-01">
    <item id="apple"><name>apple</name><hole id="p1"/><hole id="s1"/>
      <note>from <hole id="b1"/>here<hole id="none"/>, by <hole id="b2"/></note></item>
  </filler>
  <filler id="i2" tsid="7" validTime="2003-01-01T12:00:00+01:00">
    <item id="pear"><hole id="p2"/><name>pear</name>one<hole id="none"/>two<hole id="s2"/></item>
  </filler>
  <filler id="i3" tsid="7" validTime="2003-03-01"><item id="roll"><name>roll</name></item></filler>
  <filler id="lost" tsid="7" validTime="2003-03-01"><item id="l"><name>lost</name></item></filler>
  <filler id="p1" tsid="9" validTime="2003-04-01"><price>3</price></filler>
  <filler id="p1" tsid="9" validTime="2003-01-01"><price>2</price></filler>
  <filler id="p1" tsid="9" validTime="2003-04-01"><price>4</price></filler>
  <filler id="p1" tsid="9" validTime="2005-01-01"><price>99</price></filler>
  <repeat id="p1" tsid="9" validTime="2003-01-01"><price>2</price></repeat>
  <filler id="p2" tsid="9" validTime="2003-01-01"><price>5</price></filler>
  <remove id="p2" validTime="2003-05-01"/>
  <filler id="p2" tsid="9" validTime="2003-07-01"><price>6</price></filler>
  <filler id="s1" tsid="10" validTime="2003-05-05"><sale><price>2.5</price></sale></filler>
  <filler id="s1" tsid="10" validTime="2003-05-04"><sale><price>2.4</price></sale></filler>
  <filler id="s1" tsid="10" validTime="2003-05-04"><sale><price>2.4</price></sale></filler>
  <filler id="s1" tsid="10" validTime="2003-05-04"><sale><price>2.3</price></sale></filler>
  <filler id="s2" tsid="10" validTime="2003-05-01"><sale><price>1</price></sale></filler>
  <remove id="s2" validTime="2003-05-01"/>
  <filler id="s2" tsid="10" validTime="2003-05-01"><sale><price>7</price></sale></filler>
  <filler id="b1" tsid="13"><by>Ann</by></filler>
  <filler id="b2" tsid="13" validTime="2003-01-01"><by>Old</by></filler>
  <replace id="b2" tsid="13" validTime="2003-02-01"><by>Bob</by></replace>
  <filler id="o" tsid="14" validTime="2003-01-01">
    <owner><name>Eve</name><price>1</price></owner>
  </filler>
</fragments>
"""

QUERIES = [
    # Figure 3
    'stream("s")',
    'stream("s")/shop',
    'stream("s")/shop/aisles/aisle/item/name',
    'stream("s")//item',
    'stream("s")//price',
    'stream("s")//name/text()',
    'stream("s")//@*/string()',
    'stream("s")/shop/*',
    'stream("s")/shop/*/*',
    'stream("s")/shop//*/name()',
    'stream("s")/*/*/aisle/*/name(.)',
    'count(stream("s")//node())',
    'stream("s")//item[price > 3]/name/string()',
    'stream("s")//item[@id = "pear"]/sale',
    'stream("s")//aisle[item/price = 2]/@n/string()',
    'stream("s")/shop/@town/string()',
    'stream("s")/shop/nothing',
    'count(stream("s")/shop/aisles/aisle//price)',
    # predicates by position
    'stream("s")//aisle/item[1]/name/string()',
    'stream("s")//aisle/item[last()]/@id/string()',
    'stream("s")//aisle[2]/item[2]/price[1]',
    '(stream("s")//item)[2]/name',
    'for $a in stream("s")//aisle return <a>{ $a/item[1]/price[last()] }</a>',
    'stream("s")//price[1]',
    'stream("s")//item[position() < 2]/@id/string()',
    'stream("s")//item/sale[price][2]/price/text()',
    # text and whole values
    'stream("s")//note/text()',
    'stream("s")//item/text()',
    'stream("s")//note/string()',
    'stream("s")//note/node()',
    'for $n in stream("s")//note return string-length($n)',
    'stream("s")//item[contains(., "Bob")]/@id/string()',
    'stream("s")//item[string() = ""]',
    'data(stream("s")//by)',
    'stream("s")//aisle ! string()',
    'stream("s")//item/name ! string(..)',
    'deep-equal(stream("s")//aisle[1], stream("s")//aisle[2])',
    # the other axes
    'stream("s")//price/..',
    'stream("s")//name/../name()',
    'stream("s")//sale/price/ancestor::aisle/@n/string()',
    'stream("s")//name/following-sibling::*',
    'stream("s")//item/preceding-sibling::node()/name()',
    'stream("s")//by/preceding::price',
    'stream("s")//item/self::item/name',
    'stream("s")//item/descendant::price',
    'stream("s")//item/descendant-or-self::*/name()',
    'stream("s")//price/root()/shop/@town/string()',
    'stream("s")//aisle/name[/shop/@town = "Ely"]',
    'count(stream("s")//price/ancestor-or-self::*)',
    # identity and order
    'count(stream("s")//item | stream("s")//item[1])',
    'let $i := stream("s")//item return count($i | $i[1])',
    'stream("s") is stream("s")',
    'for $a in stream("s")//aisle where $a/name << $a/item[1]/name return $a/@n/string()',
    'count(stream("s")//item except stream("s")//aisle[1]/item)',
    '(stream("s")//owner, stream("s")//item)/name/string()',
    'let $x := for $a in stream("s")//aisle return $a/item return $x/name/string()',
    'let $x := (stream("s")//item)[@id = "apple"] return ($x/price, $x/name)',
    'for $i in reverse(stream("s")//item) return $i/name/string()',
    # variables, functions, types
    'for $a in stream("s")//aisle, $i in $a/item, $p in $i/price order by number($p), $a/@n'
    " return <p a='{ $a/@n }' i='{ $i/@id }'>{ $p/text() }</p>",
    'some $p in stream("s")//price satisfies $p = 6',
    'for $i in stream("s")//item group by $n := $i/name order by $n return <g>{ count($i) }</g>',
    'for $i in stream("s")//item group by $n := $i/@id order by $n return <g>{ $i/price }</g>',
    'declare function local:f($x) { $x/price }; for $i in stream("s")//item return local:f($i)',
    'declare function local:up($x) { $x/.. }; local:up((stream("s")//price)[1])/name()',
    "declare function local:d($x as element()*) as xs:integer"
    " { if (empty($x)) then 0 else 1 + max((0, $x/* ! local:d(.))) };"
    ' local:d(stream("s")/shop)',
    'declare variable $all := stream("s")//item; count($all), $all[1]/price',
    'stream("s")//item ! (if (price) then price else name)',
    'for $x in stream("s")//* return typeswitch ($x) case element(item) return $x/name'
    " case $y as element(price) return string($y) default return ()",
    'for-each(stream("s")//item, function($i) { $i/price })',
    'let $m := map { "a" : stream("s")//item } return $m?a/price',
    'array { stream("s")//price }?*',
    'stream("s")//item => count()',
    'for tumbling window $w in stream("s")//item start at $p when $p mod 2 = 1'
    " return <w>{ $w/name }</w>",
    '<all>{ stream("s")//item, <x>{ stream("s")//owner }</x> }</all>//price',
    '<all>{ stream("s")//item }</all>/item/note',
    'stream("s") instance of document-node()',
    'string-join(stream("s")//*/name(), " ")',
    'switch (stream("s")//owner/name) case "Eve" return stream("s")//owner default return 0',
    'try { stream("s")//item/name } catch * { 1 }',
    # time
    'stream("s")?[now]//item/name/string()',
    'stream("s")?[2003-02-01, 2003-05-04]',
    'stream("s")//item?[2003-05-04]/price',
    'stream("s")//item?[2003-05-04][sale]/@id/string()',
    'stream("s")//item/price?[2003-04-01, now]',
    'stream("s")//aisle#[last]/item',
    'stream("s")//aisle#[1, 2]/item/price/@vtFrom/string()',
    'stream("s")//price#[2]',
    'stream("s")/shop#[1]//price',
    'stream("s")//item ! vtFrom(.)',
    'stream("s")//item/note ! vtTo(.)',
    'vtFrom(stream("s")/shop/info), vtTo(stream("s")), vtFrom(stream("s")//owner/name)',
    'for $p in stream("s")//price where vtFrom($p) + 60 > now() - xs:dayTimeDuration("P300D")'
    " return $p",
    'for $p in stream("s")//price, $q in stream("s")//sale where $q during $p return'
    " <d>{ $p/text(), $q/price/text() }</d>",
    'for $p in stream("s")//price where $p overlaps [2003-03-01, 2003-06-01] return string($p)',
    'stream("s")//price[. meets [2003-04-01, now]]',
    'stream("s")//aisle[vtTo(.) = now()]/@n/string()',
    'stream("s")//@vtFrom/string()',
    'stream("s")//item?[2003-03-01]/..',
    'stream("s")//item?[2003-03-01]/price/../@id/string()',
    "current-dateTime(), current-date(), start(), implicit-timezone()",
]


MORE = (Path(__file__).parent / "one_a_line.xcql").read_text().splitlines()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    file = tmp_path_factory.mktemp("shop") / "fragments.xml"
    file.write_text(FRAGMENTS)
    return {"s": (file, TAGS)}


@pytest.mark.parametrize("query", [*QUERIES, *MORE])
def test_same_answer(query: str, shop: dict[str, tuple[Path, str]], tmp_path: Path) -> None:
    saxon.agree(query, shop, NOW, tmp_path)


@pytest.mark.parametrize("now", ["2002-01-01", "2003-01-01", "2003-05-04", "2006-01-01"])
def test_other_times(now: str, shop: dict[str, tuple[Path, str]], tmp_path: Path) -> None:
    for query in ('stream("s")', 'stream("s")//item[price]', 'stream("s")?[now]//price'):
        saxon.agree(query, shop, now, tmp_path)


def test_elements_inside_each_other(tmp_path: Path) -> None:
    """Filled one by one, they would be separate trees, and their children in another order."""
    tags = """<structure><tag type="snapshot" id="1" name="r">
      <tag type="temporal" id="2" name="a"><tag type="snapshot" id="3" name="n"/>
        <tag type="temporal" id="4" name="a"><tag type="snapshot" id="5" name="n"/></tag>
      </tag></tag></structure>"""
    file = tmp_path / "nested.xml"
    file.write_text("""<fragments>
      <filler id="0" tsid="1"><r><hole id="1"/></r></filler>
      <filler id="1" tsid="2" validTime="2003-01-01"><a><n>1</n><hole id="2"/><n>3</n></a></filler>
      <filler id="2" tsid="4" validTime="2003-01-01"><a><n>2</n></a></filler>
    </fragments>""")
    answer = saxon.agree('stream("s")//a/* ! string()', {"s": (file, tags)}, NOW, tmp_path)
    assert answer == ["1", "2", "2", "3"]
