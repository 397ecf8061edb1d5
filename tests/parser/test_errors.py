"""The complete error messages for wrong queries, in errors/NAME.txt.

`XCQL_WRITE_GOLDEN=1 pytest tests/parser/test_errors.py` rewrites them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from xcql import XcqlError, parse
from xcql.parser._generated.XcqlLexer import XcqlLexer

ERRORS = Path(__file__).with_name("errors")
QUERIES = sorted(ERRORS.glob("*.xcql"))
TOKEN_NAMES = {name for name in XcqlLexer.symbolicNames if len(name) > 4 or "_" in name}


def rendered(query: Path) -> str:
    with pytest.raises(XcqlError) as caught:
        parse(query.read_bytes().decode("utf-8"), source=query.name)
    return f"{caught.value}\n"


@pytest.mark.parametrize("query", QUERIES, ids=lambda path: path.stem)
def test_message(query: Path) -> None:
    text = rendered(query)
    golden = query.with_suffix(".txt")
    if os.environ.get("XCQL_WRITE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("query", QUERIES, ids=lambda path: path.stem)
def test_no_message_names_a_token(query: Path) -> None:
    words = set(re.findall(r"\b[A-Z][A-Z_]+\b", rendered(query)))
    written = set(re.findall(r"\b[A-Z][A-Z_]+\b", query.read_bytes().decode("utf-8")))
    assert not words & (TOKEN_NAMES - written)


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in ERRORS.glob("*.txt")} == {path.stem for path in QUERIES}
