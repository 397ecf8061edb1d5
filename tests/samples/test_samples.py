"""Every query of every sample gives the answer stored beside it; larger samples are read, too."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import xcql
from tests.conftest import OpenSession
from tests.samples.all_samples import NOW, SAMPLES, expected, queries, streams

QUERIES = [(sample, query) for sample in NOW for query in queries(sample)]
# these run on an engine at each commit: one per sample
NATIVE = {"maxed-out", "answer-times", "heard-once", "last-reports", "reserves", "price-history"}


def named(cases: list[tuple[str, Path]]) -> list[object]:
    return [pytest.param(*case, id=f"{case[0]}-{case[1].stem}") for case in cases]


@pytest.mark.parametrize(("sample", "query"), named(QUERIES))
def test_answers(sample: str, query: Path) -> None:
    answer = xcql.evaluate(
        query.read_text(encoding="utf-8"), streams=streams(sample), now=NOW[sample]
    )
    assert answer.warnings == ()
    assert [item.xml for item in answer] == expected(query).splitlines()


@pytest.fixture(scope="module")
def sessions(
    new_session: OpenSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, xcql.Session]]:
    with ExitStack() as stack:
        opened = {}
        for sample in NOW:
            store = tmp_path_factory.mktemp(sample) / "store"
            opened[sample] = stack.enter_context(new_session(store))
            for name, (fragments, tags) in streams(sample).items():
                opened[sample].ingest(fragments, stream=name, tags=tags, strict=True)
        yield opened


@pytest.mark.parametrize(
    ("sample", "query"), named([case for case in QUERIES if case[1].stem in NATIVE])
)
def test_answers_in_sql(sample: str, query: Path, sessions: dict[str, xcql.Session]) -> None:
    answer = sessions[sample].query(query.read_text(encoding="utf-8"), now=NOW[sample])
    assert answer.to_xml() == expected(query).splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["auto", "qac", "caq"])
@pytest.mark.parametrize(("sample", "query"), named(QUERIES))
def test_every_answer_by_every_strategy(
    sample: str, query: Path, strategy: str, sessions: dict[str, xcql.Session]
) -> None:
    text = query.read_text(encoding="utf-8")
    answer = sessions[sample].query(text, strategy, now=NOW[sample])  # type: ignore[arg-type]
    assert answer.to_xml() == expected(query).splitlines()


def test_no_sample_is_forgotten() -> None:
    with_queries = {path.parent.name for path in SAMPLES.glob("*/queries")}
    assert with_queries == {*NOW, "live"}  # see test_live
    for sample in NOW:
        assert (SAMPLES / sample / "README.md").exists()
        assert queries(sample)
        answers = {path.stem for path in (SAMPLES / sample / "expected").iterdir()}
        assert answers == {query.stem for query in queries(sample)}


@pytest.mark.parametrize("sample", NOW)
def test_larger_ones(sample: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The generated data is read completely, answers the sample's queries, and is deterministic."""
    monkeypatch.syspath_prepend(str(SAMPLES))
    monkeypatch.delitem(sys.modules, "generate", raising=False)
    from generate import generate  # type: ignore[import-not-found]

    folders = generate(sample, 40, 7, tmp_path / "one")
    for folder, other in zip(folders, generate(sample, 40, 7, tmp_path / "two"), strict=True):
        for name in ("fragments.xml", "tags.xml"):
            assert (folder / name).read_bytes() == (other / name).read_bytes()
    made = {one.name: (one / "fragments.xml", one / "tags.xml") for one in folders}
    assert set(made) == set(streams(sample))
    for query in queries(sample):
        answer = xcql.evaluate(query.read_text(encoding="utf-8"), streams=made, now="2004-12-01")
        assert answer.warnings == ()


def test_what_make_demo_shows(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(SAMPLES / "demo.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "The answer on 2003-10-31:\n  <purchase" in out
    assert "suspended" in out.partition("The answer on 2003-11-10:")[2]
