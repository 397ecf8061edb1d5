"""The corpus on a standard XQuery processor: every strategy of the translation gives the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.queries.corpus import Query, queries
from tests.translate import saxon

# the xml output method of the W3C has no form for an attribute by itself; ours has
WITHOUT_FORM = {"paths/005-attribute-nodes"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [query for query in queries() if not query.error and query.name not in WITHOUT_FORM],
    ids=lambda query: query.name,
)
def test_same_answer(query: Query, tmp_path: Path) -> None:
    saxon.agree(query.text, query.streams(), query.now, tmp_path)
