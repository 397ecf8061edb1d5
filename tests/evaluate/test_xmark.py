"""The twenty XMark queries over the plain document at factor 0.01, in place of the stream."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import pytest

import xcql
from xcql.xdm.nodes import DocumentNode
from xcql.xdm.parse import parse_xml

XMARK = Path(__file__).parents[2].parent / "shared/xmark"

pytestmark = pytest.mark.skipif(
    not XMARK.exists(), reason="there is no ../shared/xmark beside the repository"
)


@cache
def document() -> DocumentNode:
    return parse_xml(gzip.decompress((XMARK / "auction-0.01.xml.gz").read_bytes()))


@pytest.mark.parametrize("number", range(1, 21))
def test_query(number: int) -> None:
    query = (XMARK / f"queries/q{number:02}.xcql").read_text(encoding="utf-8")
    expected = (XMARK / f"expected/0.01/q{number:02}.xml").read_text(encoding="utf-8")
    answer = xcql.evaluate(query, streams={"auction": document()})
    assert answer.serialize().strip() == expected.strip()
