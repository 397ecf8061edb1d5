"""One of the nodes beside another: random steps over random histories, and what is compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import xcql
from tests.compile.conftest import catalog_of_store, world_store
from tests.conftest import OpenSession
from tests.effort import FULL, worlds
from tests.queries import corpus
from tests.queries.random_queries import case
from xcql.check import check
from xcql.compile import Externals, compile_query
from xcql.dialects.duckdb import DUCKDB
from xcql.model.tags import parse_tags

# on Spark, one in forty: it needs minutes to plan the steps of one world
WORLDS = range(40) if FULL else (3, 12, 14)
QUERIES = 40 if FULL else 12

AXES = ["following-sibling", "preceding-sibling", "following", "preceding"]
POSITIONS = ["[1]", "[1]", "[1]", "[2]", "[3]", "[last()]", "[position() = 1]"]
CONDITIONS = ["", "", "", "[@*]", "[*]", "[not(*)]", "[. = 'a']", "[name() = name($x)]", "[..]"]


def random_steps(random: Random, stream: str, names: list[str]) -> Iterator[str]:
    everything = f'stream("{stream}")'
    while True:
        axis, tests = random.choice(AXES), ["*", "node()", *names, *names]
        step = f"{axis}::{random.choice(tests)}{random.choice(CONDITIONS)}"
        step += random.choice(POSITIONS) + random.choice(CONDITIONS)
        first = random.choice([f"//{random.choice(names)}", "//*", f"/{names[0]}/*", "//node()"])
        start = f"{everything}{first}"
        yield random.choice(
            [
                f"for $x in {start} return <x>{{ name($x), $x/{step}/name() }}</x>",
                f"for $x in {start} let $y := $x/{step} return ($y/@*, string($y), vtFrom($y))",
                f"for $x in {start} where $x/{step}/* return name($x)",
                f"for $x in {start} return count(($x/{step}, $x/{step}/..))",
                f"for $x in {start} return deep-equal($x, $x/{step})",
                f"for $x in {start} return empty($x/{step}) or $x is $x/{step}",
                f"let $x := {start} return $x/{step}/name()",
                f"for $x in {start}[{step.replace('name($x)', 'name()')}] return string($x)",
            ]
        )


@worlds(WORLDS, on_spark=40)
def test_random_steps(number: int, open_session: OpenSession, tmp_path: Path) -> None:
    world = case(number, 0).world
    session = open_session(world_store(tmp_path, world.fragments, world.tags))
    streams = {name: (text, world.tags[name]) for name, text in world.fragments.items()}
    random = Random(f"nearest {number}")
    for _ in range(QUERIES):
        stream = random.choice(sorted(world.tags))
        names = re.findall(r'name="([^"]+)"', world.tags[stream])
        query = next(random_steps(random, stream, names))
        now = case(number, 0).now
        expected: list[str] | str
        try:
            expected = [one.xml for one in xcql.evaluate(query, streams=streams, now=now)]
        except xcql.XcqlError as problem:
            expected = problem.code
        for strategy in ("qac+", "qac"):
            found: list[str] | str
            try:
                found = session.query(query, strategy=strategy, now=now).to_xml()
            except xcql.XcqlError as problem:
                found = problem.code
            assert found == expected, (query, strategy)


# with whether the nearest nodes are found without the others
STEPS = [
    ("//item/following-sibling::item[1]", True),
    ("//item/preceding-sibling::*[2]", True),
    ("//person/preceding::item[1]", True),
    ("//person/preceding::*[1]", True),
    ("//person/following::item[name][2]", True),
    ("//item/preceding-sibling::item[position() = 1]/name", True),
    # the last of all is the last for each
    ("//person/following::item[last()]", False),
    # nodes that contain each other end in another order
    ("//person/preceding::*[2]", False),
    # a condition on the other node
    ("//item/following::item[name() = name(preceding::*[1])][1]", True),
]


@pytest.mark.parametrize(("path", "is_near"), STEPS)
def test_nearest(path: str, is_near: bool, corpus_session: xcql.Session) -> None:
    streams = {one.name: (one.fragments, one.tags) for one in corpus.datasets()["auctions"]}
    now = "2005-01-01T00:00:00"
    query = f'for $x in stream("auction"){path} return name($x)'
    answer = corpus_session.query(query, now=now)
    assert ("nearest" in answer.explain("algebra")) == is_near
    try:
        expected = [one.xml for one in xcql.evaluate(query, streams=streams, now=now)]
    except xcql.XcqlError as problem:
        with pytest.raises(xcql.XcqlError, match=problem.code):
            answer.to_xml()
    else:
        assert answer.to_xml() == expected


@pytest.mark.parametrize("joins_nearest", [True, False])
def test_an_engine_without_such_joins_counts(joins_nearest: bool, corpus_store: Path) -> None:
    catalog = catalog_of_store(corpus_store)
    tags = {
        one.name: parse_tags(one.tags.read_text("utf-8")) for one in corpus.datasets()["auctions"]
    }
    query = check('for $x in stream("auction")//item return $x/preceding::item[2]/name', tags)
    dialect = replace(DUCKDB, joins_nearest=joins_nearest)
    compiled = compile_query(query, catalog, "qac+", Externals(), dialect=dialect)
    assert ("ASOF JOIN" in str(compiled.sql)) == joins_nearest
    assert ("count_if" in str(compiled.sql)) != joins_nearest


TAGS = """<structure><tag type="snapshot" id="1" name="r"><tag type="temporal" id="2" name="a">
  <tag type="snapshot" id="3" name="b"/></tag></tag></structure>"""
FRAGMENTS = """<f><filler id="0" tsid="1" validTime="2003-01-01">
    <r><hole id="1"/><hole id="2"/></r></filler>
  <filler id="1" tsid="2" validTime="2003-01-01"><a/></filler>
  <filler id="2" tsid="2" validTime="2003-01-01"><a><b>1</b><b>2</b></a></filler></f>"""


def test_the_one_that_is_found_has_several_children(
    open_session: OpenSession, tmp_path: Path
) -> None:
    """It is looked up, and its children are unnested."""
    session = open_session(world_store(tmp_path, {"s": FRAGMENTS}, {"s": TAGS}))
    query = 'for $x in stream("s")/r/a return count($x/following-sibling::a[last()]/b)'
    assert session.query(query, now="2004-01-01").to_xml() == ["2", "0"]
