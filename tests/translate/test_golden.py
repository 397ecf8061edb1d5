"""The translations printed in paper 1, compared with ours, with every difference explained."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from xcql.translate import translate

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
HEAD = re.compile(r"\A\(:\n(.*?)\n:\)\n", re.DOTALL)
FILES = sorted(GOLDEN.glob("*.xq"))


def _entry(head: str, name: str) -> str:
    found = re.search(rf"^{name}: (.*)$", head, re.MULTILINE)
    assert found, f"no '{name}:' in the head"
    return found[1]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_translation(file: Path) -> None:
    text = file.read_text()
    match = HEAD.match(text)
    assert match, "a golden file begins with a comment"
    head = match[1]
    query = _entry(head, "query")
    source = (ROOT / query).read_text() if query.endswith(".xcql") else query
    tags = ROOT / _entry(head, "tags")
    translation = translate(source, tags, _entry(head, "strategy"))  # type: ignore[arg-type]
    if os.environ.get("XCQL_WRITE_GOLDEN"):
        file.write_text(f"(:\n{head}\n:)\n{translation.text}\n")
    assert text[match.end() :] == translation.text + "\n"


def test_all_of_the_paper_is_here() -> None:
    names = {file.stem for file in FILES}
    wanted = {"6.1-charged-qac", "6.1-charged-now-qac", "3.1-maxed-out-qac", "3.1-fraud-qac"}
    assert (
        wanted | {"5.1-temporalize-caq", "7-q5-caq", "7-q5-qac", "7-q5-qac+", "6-first-ten-qac"}
        <= names
    )
