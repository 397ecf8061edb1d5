"""Steps to nodes of any kind and name: random paths over random histories, all axes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random

import pytest

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession
from tests.effort import FULL, worlds
from tests.queries import corpus
from tests.queries.random_histories import random_time
from tests.queries.random_queries import case

WORLDS = range(20) if FULL else (3, 12, 14)
QUERIES = 40 if FULL else 12

AXES = [
    "child",
    "descendant",
    "descendant-or-self",
    "self",
    "parent",
    "ancestor",
    "ancestor-or-self",
    "following-sibling",
    "preceding-sibling",
    "following",
    "preceding",
    "attribute",
]
Paths = Callable[[Random, str, list[str]], Iterator[str]]
# the share of random paths that have to be native; most of the others have text around holes
NATIVE = 0.4
# in one world, half of the projections are of elements whose lifespans came with the data
NATIVE_PROJECTIONS = 0.3


def steps(random: Random, names: list[str]) -> str:
    axis = random.choice(AXES)
    tests = ["*", "*", "node()", random.choice(names), random.choice(names)]
    if axis == "attribute":
        tests = ["*", "vtFrom", "k"]
    elif random.random() < 0.2:
        tests.append("text()")
    predicate = random.choice(["", "", "", "[1]", "[last()]", "[2]", "[@*]", "[*]"])
    return f"{axis}::{random.choice(tests)}{predicate}"


def random_paths(random: Random, stream: str, names: list[str]) -> Iterator[str]:
    start = f'stream("{stream}")'
    while True:
        first = random.choice([f"//{random.choice(names)}", "//*", f"/{names[0]}/*", "//node()"])
        one, other = steps(random, names), steps(random, names)
        yield random.choice(
            [
                f"{start}//{random.choice(['*', 'node()', *names])}[{random.randint(1, 3)}]",
                f"{start}{first}/{one}",
                f"{start}{first}/{one}/{other}",
                f"count({start}{first}/{one}/{other})",
                f"{start}{first}[{one}]/{other}",
                f"for $x in {start}{first} return <x>{{ name($x), count($x/{one}) }}</x>",
                f"for $x in {start}{first} return <x>{{ $x/{one}/string() }}</x>",
                f"{start}{first}/{one}/name()",
                f"for $x in {start}{first}/{one} return <x>{{ vtFrom($x), vtTo($x) }}</x>",
                f"let $x := <x>{{ {start}{first}/{one} }}</x> return string(vtTo($x))",
                f"({start}{first}/{one} | {start}//{random.choice(names)})/name()",
                f"{start}{first}/{one} except {start}//{random.choice(names)}/{other}",
                f"for $x in {start}//{random.choice(names)} where $x/{one} is ({start}{first})[1]"
                " return name($x)",
            ]
        )


def projection(random: Random) -> str:
    times = [
        random.choice(["now", "start", *(random_time(random) for _ in range(4))]) for _ in "12"
    ]
    intervals = [f"?[{times[0]}]", f"?[{times[0]}, {times[1]}]", f"?[{times[0]}, now]"]
    return random.choice([*intervals, "#[1]", "#[last]", "#[1, 2]"])


def projected_paths(random: Random, stream: str, names: list[str]) -> Iterator[str]:
    """Paths to projected nodes, and in their trees."""
    whole = f'stream("{stream}")'
    while True:
        times = [random_time(random) for _ in "12"]
        start = random.choice([whole, f"{whole}?[{times[0]}]", f"{whole}?[{times[0]}, now]"])
        first = random.choice([f"//{random.choice(names)}", "//*", f"/{names[0]}/*", "//node()"])
        one, other = steps(random, names), steps(random, names)
        nodes = random.choice([f"{start}{first}", f"{start}{first}/{random.choice(names)}"])
        cut = projection(random)
        made = random.choice([f"({nodes}){cut}", f"(({nodes}){cut}/*){projection(random)}"])
        yield random.choice(
            [
                made,
                f"{made}/{one}",
                f"count({made}/{one}/{other})",
                f"{made}[{one}]/{other}/name()",
                f"{start}{first}/{one}/{other}/name()",
                f"for $x in {made} return <x>{{ name($x), count($x/{one}) }}</x>",
                f"for $x in {made}/{one} return <x>{{ vtFrom($x), vtTo($x) }}</x>",
                f"let $x := <x>{{ {made}/{one} }}</x> return string(vtTo($x))",
                f"for $x in {nodes} return <x>{{ $x{cut}/{one}/string() }}</x>",
                f"for $x in {nodes} return $x?[vtFrom($x), vtTo($x)]/{one}/name()",
                f"let $x := {made} return ($x/{one} | $x/{other})/name()",
                f"let $x := {made} return count($x/{one} intersect $x/{other})",
                f'for $t in ("{times[0]}", "{times[1]}") return count({nodes}?[$t]/{one})',
                f'for $t in ("{times[0]}", "{times[1]}") return {whole}?[$t]{first}/{one}/name()',
                f"for $x in {start}//{random.choice(names)}, $y in {made} where $x/@k = $y/@k"
                f" return <z>{{ $y/{one} }}</z>",
            ]
        )


@worlds(WORLDS)
def test_random_paths(number: int, open_session: OpenSession, tmp_path: Path) -> None:
    _check(number, random_paths, open_session, tmp_path, NATIVE)


@worlds(WORLDS)
def test_random_projections(number: int, open_session: OpenSession, tmp_path: Path) -> None:
    _check(number, projected_paths, open_session, tmp_path, NATIVE_PROJECTIONS)


def _check(
    number: int, paths: Paths, open_session: OpenSession, folder: Path, least: float
) -> None:
    """Check that the answers to random paths are the evaluator's, and a share of them native."""
    world = case(number, 0).world
    session = open_session(world_store(folder, world.fragments, world.tags))
    streams = {name: (text, world.tags[name]) for name, text in world.fragments.items()}
    random = Random(f"paths {number}")
    native = 0
    # Spark needs long to plan them
    count = QUERIES if session.engine == "embedded" else QUERIES // 4
    for _ in range(count):
        stream = random.choice(sorted(world.tags))
        names = re.findall(r'name="([^"]+)"', world.tags[stream])
        query = next(paths(random, stream, names))
        now = case(number, 0).now
        answer = session.query(query, now=now)
        native += answer.strategy != "caq"
        expected = _outcome(_by_evaluator(query, streams, now))
        assert _outcome(answer.to_xml) == expected, query
    assert native >= least * count


def _by_evaluator(
    query: str, streams: Mapping[str, tuple[str, str]], now: str
) -> Callable[[], list[str]]:
    return lambda: [one.xml for one in xcql.evaluate(query, streams=streams, now=now)]


def _outcome(answer: Callable[[], list[str]]) -> list[str] | str:
    """The items of an answer, or the code of its error."""
    try:
        return list(answer())
    except xcql.XcqlError as problem:
        return problem.code


# nodes of overlapping tables, of several kinds, across fillers; with whether the query is native
OWN = [
    ('count(stream("auction")/site/regions/asia/item | stream("auction")//item)', True),
    ('count(stream("auction")//item except stream("auction")/site/regions/asia/item)', True),
    ('count(stream("auction")//item intersect stream("auction")/site/regions/asia/item)', True),
    ('count((stream("auction")/site/regions/asia/item, stream("auction")//item)/name)', True),
    ('stream("auction")//item[1]/name', True),
    ('stream("auction")//*[2]/name()', True),
    ('distinct-values(stream("auction")//*/local-name())', True),
    ('stream("auction")//item/../name()', True),
    ('stream("auction")//name/ancestor::*/name()', True),
    ('for $a in stream("auction")//@* return name($a)', True),
    ('stream("auction")//item/*[2]', True),
    ('stream("auction")//*[@id]/*[last()]/name()', True),
    ('stream("auction")//person/following::*/name()', True),
]


@pytest.mark.parametrize(("query", "is_native"), OWN)
def test_nodes_of_several_kinds(query: str, is_native: bool, corpus_session: xcql.Session) -> None:
    streams = {one.name: (one.fragments, one.tags) for one in corpus.datasets()["auctions"]}
    now = "2005-01-01T00:00:00"
    answer = corpus_session.query(query, now=now)
    expected = [one.xml for one in xcql.evaluate(query, streams=streams, now=now)]
    assert answer.to_xml() == expected
    assert (answer.strategy != "caq") == is_native
