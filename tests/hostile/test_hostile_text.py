"""No text of a user, in data or in a file name, is interpreted as anything but text.

The evaluator and the engines answer queries full of such text with identical bytes, and a secret in
the environment of all processes never appears. A failure names its case:
`query(world(WORLD), NUMBER)` of `texts` reproduces it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import xcql
from tests.conftest import OpenSession
from tests.effort import FULL
from tests.hostile.texts import SECRET, TEXTS, Query, World, literal, query, world

# a thousand queries, or a few of each shape
WORLDS, QUERIES = (20, 50) if FULL else (2, 16)
NOW = "2004-01-01"
FOLDERS = [one for one in TEXTS if one.strip() and "/" not in one]


@pytest.mark.parametrize("seed", range(WORLDS))
def test_same_bytes_and_no_secret(
    seed: int, open_session: OpenSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    here = world(seed)
    store = tmp_path / FOLDERS[seed % len(FOLDERS)] / FOLDERS[-1 - seed]
    session = open_session(store)
    file = tmp_path / f"{FOLDERS[2 * seed]}.xml"
    file.write_text(here.fragments, encoding="utf-8")
    tags = tmp_path / "tags"
    tags.write_text(here.tags, encoding="utf-8")
    summary = session.ingest(file, stream=here.stream, tags=tags, strict=True)
    assert summary.accepted
    differences = []
    for number in range(QUERIES):
        one = query(here, number)
        ways = ("auto", "qac", "caq") if number % 10 == 0 else ("auto",)
        wanted = by_evaluator(one, here)
        for way in ways:
            found = by_engine(one, session, way)
            if found != wanted:
                differences.append(f"world {seed}, query {number}, {way}: {one}\n{found}\n{wanted}")
            assert SECRET not in repr(found)
    assert not differences, "\n\n".join(differences)
    printed = capfd.readouterr()
    assert SECRET not in printed.out + printed.err


def by_evaluator(query: Query, world: World) -> list[str] | str:
    streams = {world.stream: (world.fragments, world.tags)}
    try:
        found = xcql.evaluate(query.text, streams=streams, now=NOW, variables=query.variables)
        return [item.xml for item in found]
    except xcql.XcqlError as problem:
        return problem.code


def by_engine(query: Query, session: xcql.Session, way: str) -> list[str] | str:
    try:
        answer = session.query(query.text, strategy=way, now=NOW, variables=query.variables)
        return answer.to_xml()
    except xcql.XcqlError as problem:
        return problem.code


def test_documents_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name in `doc()` is a path, or a URI as in XQuery; nothing is fetched."""
    monkeypatch.chdir(tmp_path)
    for name in ("${env:XCQL_TEST_CANARY}", "{x}", "a b", "*", "[a]", "'", "é"):
        (tmp_path / name).write_text("<a>here</a>")
        assert xcql.evaluate(f"string(doc({literal(name)}))").serialize() == "here"
    for address in ("http://localhost:1/x", "ftp://localhost/x", "//localhost/x"):
        with pytest.raises(xcql.XcqlError) as problem:
            xcql.evaluate(f"doc({literal(address)})")
        assert problem.value.code == "FODC0002"
