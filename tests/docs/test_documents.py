"""Every command and snippet of the README, of docs/ and of the samples' pages runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.snippets import blocks, commands, matches, run_document

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path
    for pattern in ("README.md", "CONTRIBUTING.md", "docs/*.md", "samples/*/README.md")
    for path in ROOT.glob(pattern)
)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_document(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run it in an empty folder with the samples; `XCQL_WRITE_GOLDEN=1` rewrites the output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    run_document(path, rewrite=bool(os.environ.get("XCQL_WRITE_GOLDEN")))


def test_links_lead_somewhere() -> None:
    import re

    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_blocks_and_commands() -> None:
    (block,) = blocks("a\n```console\n$ one \\\n  more\nout\nput\n$ two\n```\n")
    assert (block.kind, block.line) == ("console", 2)
    assert commands(block) == [("one \\\n  more", "out\nput"), ("two", "")]
    assert matches("took ... s\nend", "took 1.5 s\nend\n")
    assert not matches("a", "b")
