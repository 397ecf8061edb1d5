"""Binaries inside binaries with a long history: correct answers, or a clear error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import OpenSession
from tests.runtime.binaries import NOW, TAGS, Shape, fragments
from xcql import Session, XcqlError, evaluate
from xcql.model.tags import parse_tags
from xcql.xdm.parse import parse_xml
from xcql.xdm.serialize import canonical

QUERIES = (
    'count(stream("s")//planet)',
    'stream("s")//binary//star[number(mass) > 1]?[2015-01-01]/name',
    'count(stream("s")//planet/ancestor::binary)',
    'for $p in stream("s")//planet[number(mass) > 1]'
    " return <p>{$p/ancestor::binary/name, $p/name, $p/note}</p>",
    'stream("s")/systems/system[2]',
)


def stored(shape: Shape, folder: Path, open_session: OpenSession = Session) -> Session:
    (folder / "fragments.xml").write_text("".join(fragments(shape)), encoding="utf-8")
    session = open_session(folder / "store")
    session.ingest(folder / "fragments.xml", stream="s", tags=parse_tags(TAGS), strict=True)
    return session


def in_canonical_form(items: list[str]) -> list[str]:
    return [canonical(parse_xml(f"<item>{item}</item>")) for item in items]


@pytest.mark.parametrize("strategy", [pytest.param("auto", marks=pytest.mark.slow), "caq"])
def test_answers(strategy: str, open_session: OpenSession, tmp_path: Path) -> None:
    shape = Shape(2, 2, 1, 2, 2, 3)
    session = stored(shape, tmp_path, open_session)
    streams = {"s": ("".join(fragments(shape)), parse_tags(TAGS))}
    for query in QUERIES:
        answer = session.query(query, strategy, NOW)  # type: ignore[arg-type]
        expected = [item.xml for item in evaluate(query, streams=streams, now=NOW)]
        assert in_canonical_form(answer.to_xml()) == in_canonical_form(expected)
    assert session.query(QUERIES[0], now=NOW).to_xml() == [str(shape.planet_copies)]


def test_a_view_that_is_too_large(open_session: OpenSession, tmp_path: Path) -> None:
    # 50 versions of everything: a thousand fragments, and 25 million copies of planets
    shape = Shape(2, 2, 1, 50, 50, 50)
    assert shape.planet_copies == 25_500_000
    session = stored(shape, tmp_path, open_session)
    with pytest.raises(XcqlError, match="XCQL0318"):
        session.query(QUERIES[0], now=NOW).to_xml()
    assert session.query("1 + 1").to_xml() == ["2"]


_PROGRAM = """
import json, sys
from xcql import Session, XcqlError
session = Session(sys.argv[1], engine=sys.argv[3])
for query in json.loads(sys.argv[2]):
    try:
        answer = session.query(query, now="2026-01-01")
        items = sum(1 for _ in answer.items())
        print(json.dumps([answer.strategy, items]), flush=True)
    except XcqlError as problem:
        print(json.dumps([answer.strategy, problem.code]), flush=True)
    assert session.query("1 + 1").to_xml() == ["2"]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "too_little"), [("embedded", "XCQL0507"), ("spark", "XCQL0505")]
)
@pytest.mark.parametrize(
    "shape",
    [Shape(60, 3, 1, 1, 10, 50), Shape(3, 3, 1, 5, 10, 50)],
    ids=["places in the store", "more places than the store keeps"],
)
def test_little_memory(shape: Shape, engine: str, too_little: str, tmp_path: Path) -> None:
    stored(shape, tmp_path)
    queries = ('for $p in stream("s")//planet return 1', *QUERIES[1:], 'stream("s")/systems')
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path / "store"), json.dumps(queries), engine],
        env={**os.environ, "XCQL_MEMORY": "512m"},
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert (done.returncode, done.stderr) == (0, "")
    outcomes = [json.loads(line)[1] for line in done.stdout.splitlines()]
    assert len(outcomes) == len(queries)
    assert outcomes[0] in (shape.planet_copies, too_little)
    assert all(isinstance(one, int) or one == too_little for one in outcomes)
