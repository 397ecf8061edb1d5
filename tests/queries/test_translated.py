"""The corpus on a standard XQuery processor: every strategy of the translation agrees."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.queries.corpus import Query, queries
from tests.translate import saxon

# the W3C's xml output method cannot serialize a standalone attribute; ours can
WITHOUT_FORM = {"paths/005-attribute-nodes"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [query for query in queries() if not query.error and query.name not in WITHOUT_FORM],
    ids=lambda query: query.name,
)
def test_same_answer(query: Query, tmp_path: Path) -> None:
    saxon.agree(query.text, query.streams(), query.now, tmp_path)
