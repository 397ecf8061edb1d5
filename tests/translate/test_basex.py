"""Standalone modules run on BaseX as on SaxonC. Needs `basex` (Debian's, for example)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.translate import basex, saxon
from tests.translate.test_histories import FRAGMENTS, MORE, NOW, QUERIES, TAGS
from tests.translate.test_papers import CREDIT, PAPERS

# all of them would take minutes
SOME = 1 if os.environ.get("XCQL_TEST_FULL") else 15

pytestmark = pytest.mark.skipif(shutil.which("basex") is None, reason="basex is not installed")


def _agree(
    queries: list[str], streams: dict[str, tuple[Path, object]], now: str, folder: Path
) -> list[str]:
    """The queries and strategies for which BaseX does not give the evaluator's answer."""
    modules: dict[str, tuple[str, str]] = {}
    expected = {query: saxon.reference(query, streams, now) for query in queries}
    for query in queries:
        for strategy in saxon.STRATEGIES:
            text = saxon.translated(query, streams, now, strategy, folder)
            modules.setdefault(text, (query, strategy))
    answers = basex.run_all(list(modules), folder)
    different = []
    for answer, (query, strategy) in zip(answers, modules.values(), strict=True):
        if saxon.same_form(answer) != saxon.same_form(expected[query]):
            different.append(f"{strategy}: {query}\n{answer}\n{expected[query]}")
    return different


def test_histories(tmp_path: Path) -> None:
    file = tmp_path / "fragments.xml"
    file.write_text(FRAGMENTS)
    assert _agree([*QUERIES, *MORE][::SOME], {"s": (file, TAGS)}, NOW, tmp_path) == []


def test_papers(tmp_path: Path) -> None:
    names = ["1-3.1-maxed-out", "1-6.1-charged", "1-6.1-charged-now"]
    queries = [
        (PAPERS / f"{name}.xcql").read_text().replace('"creditSystem"', '"credit"')
        for name in names
    ]
    assert _agree(queries, {"credit": CREDIT}, "2003-12-15T00:00:00", tmp_path) == []
